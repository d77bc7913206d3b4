#include <algorithm>

#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/lab/trial/player.h"
#include "onefold/lab/trial/written.h"

// What is right is what comes out undisturbed.

namespace onefold::lab {
namespace {

/// Between two runs whose results are compared, so that times differ in every digit that counts.
constexpr std::chrono::microseconds another_time = std::chrono::days{401} + std::chrono::hours{7} +
                                                   std::chrono::minutes{7} +
                                                   std::chrono::milliseconds{7007};

/// Undisturbed, but in the reverse of the order, as far as an order is not promised.
class Backwards final : public Guide {
 public:
  std::size_t choose(std::span<const Option> options) override {
    const Act act = options.front().act == Act::step ? Act::step : Act::hand_out_one;
    for (std::size_t place = options.size(); place-- > 1;) {
      if (options[place].act == act) return place;
    }
    return 0;
  }
  bool wants_states() const override { return false; }
  bool enter(std::uint64_t /*state*/, std::size_t /*current*/) override { return true; }
};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

}  // namespace

Player::Player(Setting& setting) : setting_{setting}, stage_{setting} {
  write_scripts();
  for (const TrialSource& source : spec().sources) {
    left_out_.emplace_back(source.deliveries.size(), false);
  }
  learn_what_varies();
  learn();
}

void Player::write_scripts() {
  stage_.commits() = {.fate = [this] { return commit_fate(); },
                      .has_changed = [this] { changed_ = true; }};
  for (std::size_t i = 0; i < stage_.subscriptions(); ++i) {
    const auto traits = stage_.broker(i).traits();
    const bool is_log = stage_.broker(i).is_log();
    stage_.broker(i).set_script(
        {.choose = [this, ordered = traits.ordered](
                       std::span<const std::size_t> entries) { return arrival(entries, ordered); },
         .acknowledgement = [this, is_log] { return acknowledgement_fate(is_log); },
         .handed = [this, i](std::size_t entry, int) { note_handed(i, entry); },
         .done =
             [this, i](std::size_t entry) {
               if (timeline_ == nullptr) return;
               timeline_->note_broker(stage_.broker(i).name_of(entry) + " done");
             }});
  }
}

/// Midnight of the day that the seed names: what is left to chance is in the seed.
Timestamp Player::now() const {
  return Timestamp{std::chrono::days{spec().day}};
}

void Player::leave_out(const std::vector<std::size_t>& events) {
  std::size_t first = 0;
  for (std::vector<bool>& of_source : left_out_) {
    for (std::size_t i = 0; i < of_source.size(); ++i) {
      of_source[i] = std::ranges::find(events, first + i) != events.end();
    }
    first += of_source.size();
  }
  learn();
}

/// Nothing can be judged yet; but what stops the consumer undisturbed stops the trial.
BusinessRows Player::rows_of_run(Guide& guide, Timestamp when, std::uint64_t seed) {
  reset(when, seed);
  const Result result = play_on(guide);
  if (result.defect) {
    throw Error{ErrorKind::bad_configuration, "without any disturbance: " + result.defect->what};
  }
  return business_->rows(stage_.reader());
}

void Player::ignore_columns(Business& business) {
  for (const std::string& name : spec().ignored) {
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos && business.leave_out(name.substr(0, dot), name.substr(dot + 1))) {
      continue;
    }
    throw Error{ErrorKind::bad_configuration,
                "there is no column \"" + printable(name) +
                    "\" in the tables that the handlers write: --ignore TABLE.COLUMN"};
  }
}

void Player::learn_what_varies() {
  reset(now(), 1);
  business_.emplace(stage_.reader(),
                    tables_written_by(spec().statements, setting_.copies().path()));
  ignore_columns(*business_);
  Follower one{{}};
  const BusinessRows rows = rows_of_run(one, now(), 1);
  Follower two{{}};
  const BusinessRows later = rows_of_run(two, now() + another_time, 2);
  const auto varying = business_->leave_out_varying(rows, later);
  if (!varying.empty()) {
    notices_.push_back("not compared, since two undisturbed runs differ there: " + joined(varying));
  }
  if (!order_is_free(spec())) return;
  Backwards backwards;
  const auto numbers =
      business_->leave_out_numbers(tables_numbered_by(spec().statements, setting_.copies().path()),
                                   rows, rows_of_run(backwards, now(), 1));
  if (!numbers.empty()) {
    notices_.push_back("not compared, since SQLite numbers rows in the order in which they come: " +
                       joined(numbers));
  }
}

void Player::learn() {
  reference_.reset();
  Follower undisturbed{{}};
  Reference reference{.digest = 0, .rows = rows_of_run(undisturbed, now(), 1), .verdicts = {}};
  reference.digest = business_->digest(stage_.reader());
  reference.verdicts = verdicts();
  reference_ = std::move(reference);
}

}  // namespace onefold::lab
