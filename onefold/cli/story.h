#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/decisions.h"
#include "onefold/records.h"

/// What became of one event: the answer of `inbox why`.
namespace onefold::cli {

/// What stands under one key that leads to the event.
struct Chapter {
  ScopeRecord scope;
  Key key;
  std::optional<InboxRecord> inbox = {};      ///< Absent: nothing has claimed the key.
  std::vector<DeferredRecord> deferred = {};  ///< Dead letters and conflicts under it.
  std::vector<AuditRecord> decisions = {};    ///< What people have decided about it.
};

struct ConsumerStory {
  std::string consumer;
  std::vector<Chapter> chapters = {};
};

/// The event that is asked for.
struct Wanted {
  std::string id;
  std::string source;  ///< Empty: every source.
};

struct Story {
  Wanted event;
  std::vector<ConsumerStory> consumers = {};  ///< All that the database knows.
  bool source_needed = false;  ///< Some keys hold the source too: without it they were not tried.
  /// Rows that were read because no id leads to their keys, and how many scopes they make.
  std::int64_t rows_searched = 0;
  std::size_t scopes_searched = 0;

  bool seen() const noexcept;
};

/// Tries the id under every scope that its consumers have. Keys that are not made of ids (those of
/// business rules, and of bytes that could not be read) are searched row by row. Bytes are not
/// read. Throws `Error` as the store does.
Story find_story(Records& records, Decisions& decisions, const Wanted& event);

/// In plain words. `config_argument` completes the commands that are named in it.
std::string story_text(const Story& story, const std::string& config_argument);
Json story_json(const Story& story);

}  // namespace onefold::cli
