#include <set>
#include <stdexcept>
#include <string_view>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {

void Database::wait_for(int holder, int session) {
  for (int next = holder; next != 0;) {
    if (next == session) {
      throw Error{ErrorKind::contention, "Deadlock: session " + std::to_string(session) +
                                             " and session " + std::to_string(holder) +
                                             " wait for each other. Roll back and try again."};
    }
    const auto waiter = open.find(next);
    next = waiter == open.end() ? 0 : waiter->second->waits_for;
  }
  const auto waiter = open.find(session);
  if (waiter != open.end()) waiter->second->waits_for = holder;
  throw Blocked{holder};
}

void Database::commit(int session) {
  Tables& writes = open.at(session)->work.writes;
  Tables& tables = committed.tables;
  // New rows are numbered here, in their order: ids then follow the commits and leave no gaps.
  std::map<std::int64_t, DeferredRecord*> fresh;
  for (auto& [id, row] : writes.deferred) {
    if (row.id < 0) fresh.emplace(-row.id, &row);
  }
  for (const auto& [order, row] : fresh) row->id = ++committed.last_deferred_id;
  for (auto& [id, row] : writes.deferred) tables.deferred.insert_or_assign(id, std::move(row));
  for (auto& [key, row] : writes.inbox) tables.inbox.insert_or_assign(key, std::move(row));
  for (auto& [id, row] : writes.positions) tables.positions.insert_or_assign(id, row);
  for (auto& [consumer, count] : writes.touches) tables.touches[consumer] += count;
  for (auto& [name, amount] : writes.cells) tables.cells.insert_or_assign(name, amount);
  roll_back(session);
}

void Database::roll_back(int session) {
  open.erase(session);
  for (auto& [other, transaction] : open) {
    if (transaction->waits_for == session) transaction->waits_for = 0;
  }
}

namespace {

class MemorySession final : public Session {
 public:
  explicit MemorySession(std::shared_ptr<Database> database)
      : database_{std::move(database)},
        number_{++database_->last_session},
        epoch_{database_->epoch} {}
  ~MemorySession() override { database_->roll_back(number_); }
  MemorySession(const MemorySession&) = delete;
  MemorySession& operator=(const MemorySession&) = delete;

  std::unique_ptr<Transaction> begin() override {
    check();
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
    const int holder = database_->holder_of(&Tables::touches, name.consumer, number_);
    if (holder != 0) database_->wait_for(holder, number_);
    if (!name.always && !has_room_for(wanted)) return std::nullopt;
    const auto number = static_cast<std::int32_t>(scopes.size() + 1);
    scopes.emplace(std::move(wanted), ScopeRow{number, !name.always});
    return number;
  }

 private:
  void check_epoch() const {
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

  StoreTraits traits() const override { return {.single_writer = false, .one_thread = true}; }
  std::unique_ptr<Session> connect() override { return std::make_unique<MemorySession>(database_); }
  std::unique_ptr<Housekeeping> housekeeping() override { return keep_house(database_); }
  std::unique_ptr<Records> records() override { return read_records(database_); }
  std::unique_ptr<Decisions> decisions() override { return take_decisions(database_); }

  const Cells& cells() const override { return database_->committed.tables.cells; }
  void put(const std::string& name, std::int64_t amount) override {
    database_->committed.tables.cells.insert_or_assign(name, amount);
  }

  void mark_step(int session) override {
    if (const auto found = database_->open.find(session); found != database_->open.end()) {
      found->second->mark = found->second->work;
    }
  }
  void undo_step(int session) override {
    const auto found = database_->open.find(session);
    if (found == database_->open.end()) return;
    if (!found->second->mark) {
      throw std::logic_error{"session " + std::to_string(session) +
                             " began a transaction in a step that has to be undone"};
    }
    found->second->work = *found->second->mark;
  }

  std::shared_ptr<const void> snapshot() const override {
    return std::make_shared<const Committed>(database_->committed);
  }
  void restore(const std::shared_ptr<const void>& snapshot) override {
    database_->committed = *static_cast<const Committed*>(snapshot.get());
    database_->open.clear();
    ++database_->epoch;
  }

 private:
  std::shared_ptr<Database> database_ = std::make_shared<Database>();
};

}  // namespace

std::unique_ptr<Model> open_model(Options options) {
  return std::make_unique<MemoryModel>(options);
}

}  // namespace onefold::memory
