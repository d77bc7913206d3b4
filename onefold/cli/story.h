#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/housekeeping.h"

/// What became of one event: the answer of `inbox why`.
namespace onefold::cli {

/// What one consumer knows under one key.
struct Chapter {
  ScopeRecord scope;
  std::optional<InboxRecord> inbox;      ///< Absent: only another event with this id is known.
  std::vector<DeferredRecord> deferred;  ///< Dead letters and conflicts under the same key.
};

struct ConsumerStory {
  std::string consumer;
  std::vector<Chapter> chapters = {};           ///< One an event source that uses the id.
  std::vector<DeferredRecord> unreadable = {};  ///< Could not be decoded, but show the id.
};

struct Story {
  std::string id;
  std::string source;  ///< Empty: every source.
  std::vector<ConsumerStory> consumers;
  bool source_needed = false;  ///< Some keys hold the source too: without it they were not tried.
  bool search_cut = false;     ///< There are more unreadable dead letters than were looked at.

  bool seen() const noexcept;
};

/// Tries the id under every scope that its consumers have. The bytes of what was set aside are read
/// only if `with_raw`. Throws `Error` as the store does.
Story find_story(Housekeeping& housekeeping, std::string_view id, std::string_view source,
                 bool with_raw);

/// In plain words. `config_argument` completes the commands that are named in it.
std::string story_text(const Story& story, const std::string& config_argument);
Json story_json(const Story& story);

}  // namespace onefold::cli
