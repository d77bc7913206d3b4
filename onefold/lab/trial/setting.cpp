#include "onefold/lab/trial/setting.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"
#include "onefold/runtime/identifier.h"
#include "onefold/runtime/rules.h"
#include "onefold/stores/sqlite/sqlite.h"

namespace onefold::lab {
namespace {

bool is_claimed(Reader& reader, const Key& key) {
  sqlite3_stmt* const select =
      reader.statement("SELECT 1 FROM main.onefold_inbox WHERE scope = ? AND key = ?");
  sqlite3_bind_int(select, 1, key.scope);
  sqlite3_bind_blob(select, 2, key.bytes.data(), static_cast<int>(key.bytes.size()),
                    SQLITE_TRANSIENT);
  const bool found = sqlite3_step(select) == SQLITE_ROW;
  sqlite3_reset(select);
  return found;
}

}  // namespace

/// The store is opened as a visitor, who never checkpoints: see copies.h.
Setting::Setting(const TrialSpec& spec)
    : spec_{spec},
      copies_{spec.database},
      store_{sqlite::open_store({.path = copies_.path(), .role = sqlite::Role::visitor})} {
  adopt();
  session_ = store_->connect();
  choose_events();
  session_.reset();
  forget_evidence();
  copies_.settle();
}

std::size_t Setting::events() const noexcept {
  return std::accumulate(
      spec_.sources.begin(), spec_.sources.end(), std::size_t{0},
      [](std::size_t sum, const TrialSource& source) { return sum + source.deliveries.size(); });
}

std::vector<SourceFactory> Setting::sources_of(std::size_t consumer) const {
  std::vector<SourceFactory> sources;
  for (const TrialSubscription& each : spec_.subscriptions) {
    if (each.consumer == consumer) sources.push_back(spec_.sources[each.source].source);
  }
  return sources;
}

void Setting::adopt() {
  const auto housekeeping = store_->housekeeping();
  housekeeping->migrate();
  for (std::size_t i = 0; i < spec_.consumers.size(); ++i) {
    const Consumer& consumer = spec_.consumers[i];
    consumer_ids_.push_back(housekeeping->adopt(
        {.name = consumer.name, .rules = rules_of(consumer, sources_of(i))}, {}));
  }
}

/// The scopes of all keys get their numbers here, so that these do not depend on the schedule.
Setting::Keys Setting::keys_of(std::size_t subscription, const Delivery& delivery) {
  const TrialSubscription& which = spec_.subscriptions[subscription];
  Identifier identifier{spec_.consumers[which.consumer], consumer_ids_[which.consumer],
                        spec_.sources[which.source].source.name,
                        KeyRule{id_prefixes_of(sources_of(which.consumer))}};
  std::vector<Item> items;
  identifier.open(delivery, items);
  identifier.identify(items, *session_);
  Keys keys;
  for (const Item& item : items) {
    if (item.verdict == Outcome::ignored) continue;
    keys.push_back(item.key.key);
    for (const ItemKey& further : item.further_keys) keys.push_back(further.key);
  }
  return keys;
}

void Setting::choose_events() {
  keys_.resize(spec_.subscriptions.size());
  Reader reader{copies_.path(), Reader::Access::read};
  for (std::size_t source = 0; source < spec_.sources.size(); ++source) {
    choose_events(source, reader);
  }
}

/// Events that the database has seen already would only be duplicates.
void Setting::choose_events(std::size_t source, Reader& reader) {
  TrialSource& of = spec_.sources[source];
  std::vector<Delivery> all = std::exchange(of.deliveries, {});
  for (Delivery& delivery : all) {
    if (of.deliveries.size() == spec_.events_max) break;
    bool fresh = true;
    std::vector<std::pair<std::size_t, Keys>> found;
    for (std::size_t i = 0; i < spec_.subscriptions.size(); ++i) {
      if (spec_.subscriptions[i].source != source) continue;
      found.emplace_back(i, keys_of(i, delivery));
      fresh = fresh && std::ranges::none_of(found.back().second, [&](const Key& key) {
                return is_claimed(reader, key);
              });
    }
    if (!fresh) continue;
    of.deliveries.push_back(std::move(delivery));
    for (auto& [subscription, keys] : found) keys_[subscription].push_back(std::move(keys));
  }
  if (!of.deliveries.empty()) return;
  const std::string name = printable(of.source.name);
  throw Error{ErrorKind::bad_configuration,
              all.empty() ? "source \"" + name + "\" has no events to try; give some with --events"
                          : "the database has seen the first " + std::to_string(all.size()) +
                                " events of source \"" + name +
                                "\" already: give new ones with --events, or a copy of the "
                                "database from before them"};
}

/// None of it is about the events that were chosen.
void Setting::forget_evidence() {
  Reader database{copies_.path(), Reader::Access::write};
  database.execute(
      "BEGIN; DELETE FROM onefold_inbox; DELETE FROM onefold_deferred; "
      "DELETE FROM onefold_position; COMMIT");
}

bool Setting::is_decided(Reader& reader, std::size_t subscription, std::size_t event) const {
  const Keys& keys = keys_[subscription][event];
  return !keys.empty() &&
         std::ranges::all_of(keys, [&](const Key& key) { return is_claimed(reader, key); });
}

}  // namespace onefold::lab
