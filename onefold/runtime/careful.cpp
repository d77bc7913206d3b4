#include "onefold/runtime/careful.h"

#include <exception>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/formats/text.h"
#include "onefold/records.h"
#include "onefold/runtime/retry_source.h"

// How an event is found that kills the process.
//
// Each worker has a row in the database from its start to its end. Whoever starts finds the rows of
// those that did not come to their end, and *buries* them: the first to remove one counts it.
//
// * A crash file names the event: it is a suspect at once.
// * Otherwise the run has died of its source if the source's position has not moved since it began,
//   or if it had events in hand in careful mode. Then transactions become smaller: 64, 8, 1 event.
//   An event that was in hand alone is a suspect.
// * A suspect that has killed often enough is not run any more. One that is settled is none.
//
// A process that is killed in the middle of its work leaves a position that has moved: nothing is
// learnt from that. In careful mode what is in hand is committed before each transaction begins,
// and taken back when it has ended.

namespace onefold {
namespace {

constexpr std::chrono::seconds beat_interval{10};
/// Of a run on another host, of which nobody knows whether its process lives.
constexpr std::chrono::microseconds silence_of_the_dead = std::chrono::seconds{30};

/// The next smaller transaction.
int below(int size) {
  constexpr int some = 64;
  constexpr int few = 8;
  if (size > some) return some;
  return size > few ? few : 1;
}

std::string number_of_times(int count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

/// The last key before it, in the order of keys.
Key before(Key key) {
  for (auto byte = key.bytes.rbegin(); byte != key.bytes.rend(); ++byte) {
    if ((*byte)-- != 0) return key;
  }
  --key.scope;
  return key;
}

/// Whether the event has come to an end, or waits for a person: it is not handed to a handler.
bool is_settled(Records& records, const Key& key) {
  const InboxPage page = records.inbox({.after = before(key), .limit = 1, .rows_read_max = 1});
  if (page.records.empty() || page.records.front().key != key) return false;
  const InboxRecord& row = page.records.front();
  return !row.waiting || row.outcome == Outcome::dead;
}

std::uint64_t digest_of(std::vector<Position> positions) {
  std::ranges::sort(positions, {}, [](const Position& one) { return *one.partition; });
  std::vector<std::string> texts;
  for (const Position& position : positions) {
    texts.push_back(position.partition->incarnation);
    texts.push_back(position.partition->name);
    texts.push_back(std::to_string(position.next.high));
    texts.push_back(std::to_string(position.next.low));
  }
  const std::vector<std::string_view> parts{texts.begin(), texts.end()};
  const auto digest = sha256_128_of_parts(parts);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i) number = number << 8U | digest.at(i);
  return number;
}

}  // namespace

/// The connection for one call, or for as long as careful mode lasts.
class Careful::Loan {
 public:
  explicit Loan(Careful& careful) : careful_{careful} {
    if (careful_.runs_) return;
    if (is_lent()) careful_.around_.connection.drop();
    careful_.runs_ = careful_.around_.store.runs();
  }
  ~Loan() {
    const bool failed = std::uncaught_exceptions() > exceptions_;
    const bool is_needed = careful_.run_ == 0 || careful_.size_ > 0;
    if (failed || is_lent() || !is_needed) careful_.runs_.reset();
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  Runs* operator->() const noexcept { return careful_.runs_.get(); }
  Runs& operator*() const noexcept { return *careful_.runs_; }

 private:
  bool is_lent() const { return careful_.around_.store.traits().one_connection; }

  Careful& careful_;
  int exceptions_ = std::uncaught_exceptions();
};

Careful::Careful(const Subscription& subscription, Surroundings surroundings)
    : subscription_{subscription}, around_{std::move(surroundings)} {}

Careful::~Careful() = default;

void Careful::be_known() {
  if (run_ == 0) {
    begin();
    return;
  }
  if (unsaid_) tell_settled();
  if (around_.clock.ticks() >= beat_at_) beat();
}

/// Nothing is received before this has worked.
void Careful::begin() {
  const std::uint64_t now = positions();
  Caution caution;
  {
    const Loan runs{*this};
    bury_the_dead(*runs, now);
    caution = runs->caution(subscription_.id, subscription_.log_name());
  }
  learn(caution.suspects);
  clear_settled();
  start_ = {.consumer = subscription_.id,
            .source = subscription_.log_name(),
            .host = around_.process.host,
            .process = around_.process.number,
            .process_started = around_.process.started,
            .positions = now};
  const Loan runs{*this};
  if (caution.size == 0 && !cleared_.empty()) relax(*runs);
  run_ = runs->begin(start_);
  size_ = caution.size;
  to_settle_ = usual_size();
  held_size_ = 0;
  held_.reset();
  unsaid_ = false;
  beat_at_ = around_.clock.ticks() + beat_interval;
}

std::uint64_t Careful::positions() const {
  if (subscription_.of_waiting) return 0;  // Its rows are its truth.
  try {
    return digest_of(
        around_.connection.session().positions(subscription_.id, subscription_.log_name()));
  } catch (const Error& error) {
    if (error.needs_reconnect()) around_.connection.drop();
    throw;
  }
}

void Careful::bury_the_dead(Runs& runs, std::uint64_t positions) {
  int size = runs.caution(subscription_.id, subscription_.log_name()).size;
  for (const RunRecord& run : runs.open(subscription_.id, subscription_.log_name())) {
    if (!is_dead(run)) continue;
    const Burial burial = judge(run, size, positions);
    if (!runs.bury(run.id, burial)) continue;
    if (burial.careful_size > 0) size = burial.careful_size;
    const std::int64_t process = run.start.process;
    const CrashReport* const report = around_.reports.of(process, run.start.process_started);
    if (report != nullptr && (report->run == 0 || is_of(run, *report))) {
      around_.reports.forget(process, run.start.process_started);
    }
    if (burial.how.empty()) continue;
    std::string text = "process " + std::to_string(process) + " has died: " + burial.how;
    if (burial.suspect) text += "; the event that it had in hand is known, and is watched";
    if (burial.careful_size > 0) {
      text += "; from now on at most " + std::to_string(burial.careful_size) +
              " events are in a transaction, until all is well again";
    }
    say(Severity::warning, text);
  }
}

bool Careful::is_dead(const RunRecord& run) const {
  const Process& self = around_.process;
  const Process other{run.start.host, run.start.process, run.start.process_started};
  if (other == self) return false;
  if (around_.reports.is_dead(other.number, other.started)) return true;
  if (other.host == self.host) return !around_.lives(other.number, other.started);
  return std::chrono::microseconds{run.seen_us_ago} > silence_of_the_dead;
}

/// What a death teaches; nothing at all if `how` is empty.
Burial Careful::judge(const RunRecord& run, int size_in_force, std::uint64_t positions) const {
  const CrashReport* const report =
      around_.reports.of(run.start.process, run.start.process_started);
  const bool is_named = report != nullptr && report->sender == 0 && report->run != 0;
  if (is_named && !is_of(run, *report)) return {};  // It has died of another source.
  const bool died_of_it = is_named || run.size > 0 || run.start.positions == positions;
  if (!died_of_it) return {};
  const auto seen = std::chrono::floor<std::chrono::seconds>(
      around_.clock.now() - std::chrono::microseconds{run.seen_us_ago});
  Burial burial;
  burial.how = report != nullptr ? words_of(*report) : "killed, last at " + format_rfc3339(seen);
  if (is_named && report->key) {
    burial.suspect = report->key;
    return burial;
  }
  burial.suspect = run.in_hand;
  burial.careful_size = below(run.size > 0 ? run.size : static_cast<int>(usual_size()));
  if (size_in_force > 0) burial.careful_size = std::min(burial.careful_size, size_in_force);
  return burial;
}

/// Runs of two databases may have the same number, and be of one process.
bool Careful::is_of(const RunRecord& run, const CrashReport& report) const {
  return report.run == run.id && report.consumer == as_reported(subscription_.consumer.name);
}

std::size_t Careful::usual_size() const noexcept {
  const std::size_t most = subscription_.consumer.batch_max;
  return subscription_.of_waiting ? std::min(most, waiting_events_max) : most;
}

void Careful::learn(const std::vector<Suspect>& suspects) {
  suspects_.clear();
  for (const Suspect& suspect : suspects) {
    const bool cleared = std::ranges::find(cleared_, suspect.key) != cleared_.end();
    if (!cleared) suspects_.emplace(suspect.key, suspect);
  }
}

/// Somebody has settled a suspect, and did not come to say so.
void Careful::clear_settled() {
  if (suspects_.empty()) return;
  if (around_.store.traits().one_connection) around_.connection.drop();
  const std::unique_ptr<Records> records = around_.store.records();
  for (const auto& [key, suspect] : suspects_) {
    if (is_settled(*records, key)) cleared_.push_back(key);
  }
  for (const Key& key : cleared_) suspects_.erase(key);
}

void Careful::condemn(std::span<Item> items) {
  const int deaths_max = subscription_.consumer.crashes_max;
  const auto sentence_of = [&](const Item& item) -> const Suspect* {
    const auto found = suspects_.find(item.key.key);
    const bool guilty = found != suspects_.end() && found->second.deaths >= deaths_max;
    return guilty && !item.verdict ? &found->second : nullptr;
  };
  if (std::ranges::none_of(items, sentence_of)) return;
  {
    // It may have been settled meanwhile, and come again because a person wants it tried again.
    const Loan runs{*this};
    learn(runs->caution(subscription_.id, subscription_.log_name()).suspects);
  }
  for (Item& item : items) {
    const Suspect* const suspect = sentence_of(item);
    if (suspect == nullptr) continue;
    const Waiting* const waiting = item.waiting();
    item.verdict = Outcome::dead;
    item.reason = DeferralReason::dead;
    item.attempts = (waiting != nullptr ? waiting->attempts : 0) + suspect->deaths;
    item.errors = waiting != nullptr ? waiting->errors : std::vector<std::string>{};
    const std::string what =
        "killed the process " + number_of_times(suspect->deaths) + ": " + suspect->how;
    item.add_error(what, FailureClass::crash);
    if (item.route != nullptr && item.route->handlers.size() == 1) {
      item.failed_handler = item.route->handlers.front()->name;
    }
    say(Severity::warning, "an event has " + what + "; it is set aside as dead, and not tried");
  }
}

void Careful::hold(std::span<const Item> items) {
  if (size_ == 0) return;
  const int size = static_cast<int>(items.size());
  std::optional<Key> key;
  const bool is_alone = size == 1 && items.front().verdict != Outcome::ignored;
  if (is_alone) key = items.front().key.key;
  if (size == held_size_ && key == held_) return;
  const Loan runs{*this};
  runs->hold(run_, size, key);
  held_size_ = size;
  held_ = key;
}

void Careful::note_settled(std::span<const Item> items) {
  for (const Item& item : items) {
    const bool unrun = item.outcome == Outcome::deferred && item.reason == DeferralReason::behind;
    if (!unrun && suspects_.erase(item.key.key) > 0) {
      cleared_.push_back(item.key.key);
      unsaid_ = true;
    }
    if (item.last_part && to_settle_ > 0) --to_settle_;
  }
  unsaid_ = unsaid_ || size_ > 0;
}

void Careful::tell_settled() {
  const Loan runs{*this};
  if (size_ > 0 ? to_settle_ == 0 : !cleared_.empty()) relax(*runs);
  if (held_size_ > 0) runs->hold(run_, 0, {});
  held_size_ = 0;
  held_.reset();
  unsaid_ = false;
}

void Careful::rest(bool at_end) {
  if (size_ == 0 || !at_end) return;
  const Loan runs{*this};
  relax(*runs);
}

void Careful::relax(Runs& runs) {
  runs.relax(subscription_.id, subscription_.log_name(), cleared_);
  cleared_.clear();
  if (size_ > 0) say(Severity::info, "as many events as usual are in a transaction again");
  size_ = 0;
}

/// Only others need it: what the database refuses now is tried again the next time.
void Careful::beat() {
  beat_at_ = around_.clock.ticks() + beat_interval;
  try {
    const Loan runs{*this};
    runs->hold(run_, held_size_, held_);
    const std::vector<RunRecord> open = runs->open(subscription_.id, subscription_.log_name());
    // Whoever was silent for too long was buried by others.
    if (std::ranges::find(open, run_, &RunRecord::id) == open.end()) run_ = runs->begin(start_);
  } catch (const Error& error) {
    if (!error.retryable()) throw;
  }
}

void Careful::end() noexcept {
  if (run_ == 0) return;
  try {
    const Loan runs{*this};
    if (size_ == 0 && !cleared_.empty()) relax(*runs);
    runs->end(run_);
  } catch (const Error&) {
    runs_.reset();  // The next start finds the row, and a position that has moved.
  }
  runs_.reset();
  run_ = 0;
  size_ = 0;
  suspects_.clear();
  cleared_.clear();
}

void Careful::say(Severity severity, const std::string& text) const {
  if (!around_.notify) return;
  around_.notify({severity, "consumer '" + subscription_.consumer.name + "', source '" +
                                subscription_.source.name + "': " + text});
}

}  // namespace onefold
