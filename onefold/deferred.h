#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onefold/event.h"

namespace onefold {

/// A row of `deferred`: an event that was set aside, with all that is known of it.
struct DeferredRecord {
  std::int64_t id = 0;
  std::string consumer;
  Key key;
  std::vector<Key> further_keys = {};  ///< That it has claimed besides `key`.
  Fingerprint fingerprint{};
  std::string reason;
  std::string failure =
      {};  ///< A `FailureClass`; empty: a conflict, or set aside before there were any.
  std::string entity = {};
  std::string handler;
  std::vector<std::string> errors;
  int attempts = 0;
  std::int64_t turn = 0;                 ///< Grows each time it is taken, see `Waiting`.
  std::optional<Timestamp> due_at = {};  ///< When it is tried again; absent: no time is set.
  std::string replay = {};               ///< The replay that has made it due; empty: none.
  /// False: the bytes were no event, or `event` does not have its data. They are read anew.
  bool decoded = true;
  std::int64_t count = 1;  ///< How often the same thing was set aside.
  std::string source;
  std::optional<Position> position;
  Event event;  ///< Its data only where `raw` is wanted, too.
  std::string raw;
  Timestamp first_at;
  Timestamp last_at;
};

struct DeferredFilter {
  std::optional<std::int64_t> id = {};
  std::optional<Key> key = {};
  std::string consumer = {};            ///< Empty: all.
  std::string reason = {};              ///< Empty: all.
  std::string event_id = {};            ///< Empty: all.
  std::optional<Timestamp> since = {};  ///< Set aside, or come again, then or later.
  std::int64_t after = 0;               ///< Rows with a larger id only.
  std::size_t limit = 100;
  bool with_raw = true;         ///< False: `raw` and the event's data stay empty, and are not read.
  std::string handler = {};     ///< Empty: all.
  std::string failure = {};     ///< A `FailureClass`; empty: all.
  std::string event_type = {};  ///< Empty: all.
  std::string source = {};      ///< The subscription; empty: all.
  std::optional<std::int64_t> up_to = {};  ///< Rows with this id or a smaller one only.
};

}  // namespace onefold
