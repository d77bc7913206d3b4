#include "onefold/formats/state_digest.h"
#include "onefold/stores/memory/database.h"

namespace onefold::memory {

void WriteSet::undo_to(std::size_t size) {
  while (changes_.size() > size) {
    std::visit(
        [&](auto& before) {
          auto& table = rows_.*before.table;
          if (before.row) {
            table.insert_or_assign(before.id, std::move(*before.row));
          } else {
            table.erase(before.id);
          }
        },
        changes_.back());
    changes_.pop_back();
  }
}

void WriteSet::reverse_to(std::size_t size) {
  for (std::size_t i = changes_.size(); i > size; --i) {
    std::visit(
        [&](auto before) {
          if (before.row) {
            put(before.table, before.id, std::move(*before.row));
          } else {
            erase(before.table, before.id);
          }
        },
        Change{changes_[i - 1]});
  }
}

namespace {

void add(StateDigest& digest, const Key& key) {
  const std::string_view bytes{reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()};
  digest.add(static_cast<std::uint64_t>(key.scope));
  digest.add(bytes);
}

void add(StateDigest& digest, const Fingerprint& fingerprint) {
  digest.add({reinterpret_cast<const char*>(fingerprint.data()), fingerprint.size()});
}

void add(StateDigest& digest, const InboxRecord& row) {
  add(digest, row.key);
  add(digest, row.fingerprint);
  digest.add(static_cast<std::uint64_t>(row.outcome) * 2 + (row.waiting ? 1 : 0));
  for (const std::string* text : {&row.event_source, &row.event_id, &row.event_type, &row.entity,
                                  &row.handled_by, &row.result}) {
    digest.add(*text);
  }
}

void add(StateDigest& digest, const DeferredRecord& row) {
  add(digest, row.key);
  for (const Key& key : row.further_keys) add(digest, key);
  add(digest, row.fingerprint);
  for (const std::string* text :
       {&row.reason, &row.failure, &row.entity, &row.replay, &row.handler, &row.source,
        &row.event.source, &row.event.id, &row.event.type, &row.raw}) {
    digest.add(*text);
  }
  for (const std::string& error : row.errors) digest.add(error);
  digest.add(static_cast<std::uint64_t>(row.attempts));
  digest.add(static_cast<std::uint64_t>(row.turn) * 2 + (row.decoded ? 1 : 0));
  digest.add(row.due_at ? static_cast<std::uint64_t>(row.due_at->time_since_epoch().count()) + 1
                        : 0);
}

}  // namespace

std::uint64_t digest_of(const Tables& tables, const std::map<ScopeId, ScopeRow>& scopes) {
  StateDigest digest;
  digest.add(tables.inbox.size());
  for (const auto& [key, row] : tables.inbox) {
    add(digest, key);
    if (row) add(digest, *row);
  }
  digest.add(tables.deferred.size());
  // Those that wait for their time in the order of their numbers, on which it depends who is in
  // front of whom. Nobody is behind those that wait for a person: theirs depends on chance.
  std::map<std::int64_t, const DeferredRecord*> waiting;
  for (const auto& [id, row] : tables.deferred) {
    if (!row) {
      add(digest, id.key);
    } else if (row->reason == to_string(DeferralReason::retry) ||
               row->reason == to_string(DeferralReason::behind)) {
      waiting.emplace(row->id, row.get());
    } else {
      add(digest, *row);
    }
  }
  for (const auto& [id, row] : waiting) add(digest, *row);
  for (const auto& [consumer, row] : tables.pauses) digest.add(row ? row->reason : "");
  for (const auto& [id, row] : tables.positions) {
    digest.add(id.partition.source);
    digest.add(id.partition.incarnation);
    digest.add(id.partition.name);
    digest.add(row.next.high);
    digest.add(row.next.low);
  }
  for (const auto& [name, amount] : tables.cells) {
    digest.add(name);
    digest.add(static_cast<std::uint64_t>(amount));
  }
  for (const auto& [id, row] : scopes) digest.add(static_cast<std::uint64_t>(row.number));
  return digest.value();
}

std::uint64_t digest_of_times(const Tables& tables) {
  StateDigest digest;
  for (const auto& [key, row] : tables.inbox) {
    digest.add(static_cast<std::uint64_t>(row->recorded_at.time_since_epoch().count()));
  }
  return digest.value();
}

std::uint64_t digest_of(const Answers& answers) {
  StateDigest digest;
  for (const auto& given : answers.given) {
    digest.add(given.index());
    if (const auto* rows = std::get_if<Rows>(&given)) {
      // The model's only query answers with one number, or with nothing.
      for (const auto& row : *rows)
        digest.add(static_cast<std::uint64_t>(std::get<std::int64_t>(row.front())));
    } else if (const auto* count = std::get_if<std::int64_t>(&given)) {
      digest.add(static_cast<std::uint64_t>(*count));
    } else {
      digest.add(std::get<Error>(given).what());
    }
  }
  return digest.value();
}

}  // namespace onefold::memory
