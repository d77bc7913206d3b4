#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {

int Database::victim(int holder, int session) const {
  int smallest = session;
  const auto size_of = [&](int one) {
    const auto found = open.find(one);
    return found == open.end() ? 0 : found->second->writes.size();
  };
  for (int next = holder; next != 0;) {
    if (next == session) return options.smallest_gives_up ? smallest : session;
    if (size_of(next) < size_of(smallest)) smallest = next;
    const auto waiter = open.find(next);
    next = waiter == open.end() ? 0 : waiter->second->waits_for;
  }
  return 0;
}

void Database::wait_for(int holder, int session) {
  const auto waiter = open.find(session);
  if (const int loser = victim(holder, session); loser != 0) {
    ++deadlocks;
    const Error why{ErrorKind::contention, "Deadlock: session " + std::to_string(session) +
                                               " and session " + std::to_string(holder) +
                                               " wait for each other. Roll back and try again."};
    if (loser == session) throw Error{why};
    open.at(loser)->abort(why);
    stop_waiting_for(loser);
    return;
  }
  if (waiter != open.end()) waiter->second->waits_for = holder;
  throw Blocked{holder};
}

void Database::commit(int session) {
  Tables writes = open.at(session)->writes.release();
  Tables& tables = committed.tables;
  // New rows are numbered here, in their order: ids then follow the commits and leave no gaps.
  std::map<std::int64_t, DeferredRow*> fresh;
  for (auto& [id, row] : writes.deferred) {
    if (row && row->id < 0) fresh.emplace(-row->id, &row);
  }
  for (const auto& [order, row] : fresh) {
    DeferredRecord numbered = **row;
    numbered.id = ++committed.last_deferred_id;
    *row = std::make_shared<const DeferredRecord>(std::move(numbered));
  }
  const auto add = [](auto& table, auto& rows) {
    table.merge(rows);
    for (auto& [id, row] : rows) table.insert_or_assign(id, std::move(row));
  };
  add(tables.deferred, writes.deferred);
  add(tables.inbox, writes.inbox);
  add(tables.pauses, writes.pauses);
  add(tables.replays, writes.replays);
  const auto removed = [](const auto& entry) { return !entry.second; };
  std::erase_if(tables.deferred, removed);
  std::erase_if(tables.inbox, removed);
  std::erase_if(tables.pauses, removed);
  add(tables.positions, writes.positions);
  add(tables.cells, writes.cells);
  for (auto& [consumer, count] : writes.touches) tables.touches[consumer] += count;
  ++versions;
  roll_back(session);
}

void Database::roll_back(int session) {
  if (open.erase(session) != 0) stop_waiting_for(session);
}

void Database::stop_waiting_for(int session) {
  for (auto& [other, transaction] : open) {
    if (transaction->waits_for == session) transaction->waits_for = 0;
  }
}

void Database::break_session(int session) {
  roll_back(session);
  broken.insert(session);
}

void OpenTransaction::abort(Error why) {
  writes = {};
  savepoint.reset();
  mark.reset();
  waits_for = 0;
  poison = std::move(why);
}

bool Access::is_open() const {
  const auto found = database_->open.find(session_);
  return found != database_->open.end() && found->second == open_;
}

void Access::check_open() const {
  if (!is_open()) {
    throw Error{ErrorKind::unavailable,
                "The transaction has ended, or its session is gone. Connect again."};
  }
  open_->waits_for = 0;
}

void Access::check() const {
  check_open();
  if (open_->poison) throw Error{*open_->poison};
}

namespace {

class MemorySession final : public Session {
 public:
  explicit MemorySession(std::shared_ptr<Database> database)
      : database_{std::move(database)},
        number_{++database_->last_session},
        epoch_{database_->epoch} {}
  ~MemorySession() override {
    database_->roll_back(number_);
    database_->broken.erase(number_);
  }
  MemorySession(const MemorySession&) = delete;
  MemorySession& operator=(const MemorySession&) = delete;

  std::unique_ptr<Transaction> begin() override {
    check();
    if (database_->options.single_writer && !database_->open.empty()) {
      database_->wait_for(database_->open.begin()->first, number_);
    }
    return memory::begin(database_, number_);
  }

  std::vector<Position> positions(ConsumerId consumer, std::string_view source) override {
    check_epoch();
    std::vector<Position> found;
    for (const auto& [id, row] : database_->committed.tables.positions) {
      if (id.consumer != consumer || id.partition.source != source) continue;
      found.push_back(
          {std::make_shared<const Partition>(id.partition), row.next, row.next, row.mark});
    }
    return found;
  }

  Due due(const DueQuery& query) override {
    check();
    return due_in(*database_, query);
  }

  std::optional<PauseRecord> pause(ConsumerId consumer) override {
    check();
    const auto found = database_->committed.tables.pauses.find(consumer);
    if (found == database_->committed.tables.pauses.end()) return std::nullopt;
    return *found->second;
  }

  std::optional<std::int32_t> scope(const ScopeName& name) override {
    check();
    auto& scopes = database_->committed.scopes;
    ScopeId wanted{name.consumer, std::string{name.handler}, std::string{name.source_or_rule},
                   std::string{name.key_form}};
    if (const auto known = scopes.find(wanted); known != scopes.end()) return known->second.number;
    if (!database_->committed.consumers.contains(name.consumer)) {
      throw Error{ErrorKind::bad_configuration, "No consumer has the number " +
                                                    std::to_string(name.consumer) +
                                                    ". Register it before it asks for a scope."};
    }
    // Allotted under the lock of the consumer's row.
    while (const int holder = database_->holder_of(&Tables::touches, name.consumer, number_)) {
      database_->wait_for(holder, number_);
    }
    if (!name.always && !has_room_for(wanted)) return std::nullopt;
    const auto number = static_cast<std::int32_t>(scopes.size() + 1);
    scopes.emplace(std::move(wanted), ScopeRow{number, !name.always});
    ++database_->versions;
    return number;
  }

 private:
  void check_epoch() const {
    if (database_->broken.contains(number_)) {
      throw Error{ErrorKind::unavailable, "The connection is lost. Connect again."};
    }
    if (epoch_ != database_->epoch) {
      throw Error{ErrorKind::unavailable,
                  "The database was restored while this session was open. Connect again."};
    }
  }
  void check() const {
    check_epoch();
    if (database_->open.contains(number_)) {
      throw std::logic_error{"session " + std::to_string(number_) +
                             " has an open transaction already"};
    }
  }

  bool has_room_for(const ScopeId& wanted) const {
    std::set<std::string_view> sources;
    for (const auto& [id, row] : database_->committed.scopes) {
      if (id.consumer == wanted.consumer && row.counts) sources.insert(id.source_or_rule);
    }
    return sources.contains(wanted.source_or_rule) ||
           static_cast<int>(sources.size()) < database_->options.sources_max;
  }

  std::shared_ptr<Database> database_;
  int number_;
  int epoch_;
};

class MemoryModel final : public Model {
 public:
  explicit MemoryModel(Options options) { database_->options = options; }

  StoreTraits traits() const override {
    return {.single_writer = database_->options.single_writer, .one_thread = true};
  }
  std::unique_ptr<Session> connect() override { return std::make_unique<MemorySession>(database_); }
  std::unique_ptr<Housekeeping> housekeeping() override { return keep_house(database_); }
  std::unique_ptr<Records> records() override { return read_records(database_); }
  std::unique_ptr<Decisions> decisions() override { return take_decisions(database_); }
  std::unique_ptr<Replays> replays() override { return keep_replays(database_); }
  std::unique_ptr<Runs> runs() override { return keep_runs(database_); }

  const Cells& cells() const override { return database_->committed.tables.cells; }
  void put(const std::string& name, std::int64_t amount) override {
    database_->committed.tables.cells.insert_or_assign(name, amount);
    ++database_->versions;
  }
  void visit(const std::function<void(const InboxRecord&)>& inbox,
             const std::function<void(const DeferredRecord&)>& deferred) const override {
    for (const auto& [key, row] : database_->committed.tables.inbox) inbox(*row);
    for (const auto& [id, row] : database_->committed.tables.deferred) deferred(*row);
  }
  std::uint64_t digest(bool of_times) const override {
    const Tables& tables = database_->committed.tables;
    return of_times ? digest_of_times(tables) : digest_of(tables, database_->committed.scopes);
  }

  void mark_step(int session) override {
    OpenTransaction* open = open_of(session);
    if (open == nullptr || std::exchange(open->answers.again, false)) return;
    open->mark = Mark{open->writes.size(), open->savepoint, open->poison};
    open->answers = {};
  }
  void undo_step(int session, Redo redo) override {
    OpenTransaction* open = open_of(session);
    if (open == nullptr) return;
    if (redo == Redo::rest) {
      open->answers.next = 0;
      open->answers.again = true;
      return;
    }
    if (!open->mark) {
      throw std::logic_error{"session " + std::to_string(session) +
                             " began a transaction in a step that has to be undone"};
    }
    open->writes.undo_to(open->mark->writes);
    open->savepoint = open->mark->savepoint;
    open->poison = open->mark->poison;
  }
  void decide_commits(std::function<CommitFate(int)> fate) override {
    database_->commit_fate = std::move(fate);
  }
  void break_session(int session) override { database_->break_session(session); }
  Insight insight() const override {
    return {database_->last_session, database_->versions, database_->deadlocks};
  }
  std::uint64_t digest_of_writes(int session) const override {
    const OpenTransaction* open = open_of(session);
    if (open == nullptr) return 0;
    const std::uint64_t written = digest_of(open->writes.rows(), {});
    return open->answers.again ? written ^ digest_of(open->answers) : written;
  }
  std::uint64_t transaction(int session) const override {
    const OpenTransaction* open = open_of(session);
    return open == nullptr ? 0 : open->number;
  }

  void let_time_stand() override { database_->time = 0; }
  void pass_time() override { ++*database_->time; }
  bool has_due(ConsumerId consumer) const override {
    return !due_in(*database_, {.consumer = consumer, .limit = 1}).events.empty();
  }
  bool has_later() const override {
    return std::ranges::any_of(database_->committed.tables.deferred, [this](const auto& entry) {
      return entry.second->due_at && !database_->has_come(*entry.second->due_at);
    });
  }

  std::shared_ptr<const void> snapshot() const override {
    return std::make_shared<const Committed>(database_->committed);
  }
  void restore(const std::shared_ptr<const void>& snapshot) override {
    database_->committed = *static_cast<const Committed*>(snapshot.get());
    database_->open.clear();
    ++database_->epoch;
    ++database_->versions;
  }

 private:
  OpenTransaction* open_of(int session) const {
    const auto found = database_->open.find(session);
    return found == database_->open.end() ? nullptr : found->second.get();
  }

  std::shared_ptr<Database> database_ = std::make_shared<Database>();
};

}  // namespace

std::unique_ptr<Model> open_model(Options options) {
  return std::make_unique<MemoryModel>(options);
}

}  // namespace onefold::memory
