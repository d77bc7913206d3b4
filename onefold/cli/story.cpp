#include "onefold/cli/story.h"

#include <algorithm>
#include <map>
#include <utility>

#include "onefold/cli/inbox_view.h"
#include "onefold/cli/terminal.h"
#include "onefold/runtime/key_rule.h"

namespace onefold::cli {
namespace {

constexpr std::string_view hashed_with_source = "source+hashed";

/// Whether keys of this form say nothing about ids.
bool is_searched(std::string_view form) {
  return form == business_key_form || form == "position" || form == "bytes";
}

class Search {
 public:
  Search(Records& records, Decisions& decisions, Story& story)
      : records_{records}, decisions_{decisions}, story_{story} {}

  void run() {
    for (const ConsumerRecord& each : records_.consumers()) {
      story_.consumers.push_back({.consumer = each.name});
    }
    for (const ScopeRecord& scope : records_.scopes()) {
      scopes_[scope.scope] = scope;
      if (is_searched(scope.key_form)) {
        search(scope);
      } else if (const auto bytes = bytes_in(scope)) {
        add({scope.scope, *bytes});
      }
    }
    add_deferred();
  }

 private:
  /// The key that the id would have in this scope; absent if it cannot be in there.
  std::optional<std::array<std::uint8_t, 16>> bytes_in(const ScopeRecord& scope) {
    if (scope.key_form == hashed_with_source) {
      if (story_.event.source.empty()) {
        story_.source_needed = true;
        return std::nullopt;
      }
    } else if (!story_.event.source.empty() && scope.source_or_rule != story_.event.source) {
      return std::nullopt;
    }
    return key_under_form(scope.key_form, story_.event.source, story_.event.id);
  }

  void search(const ScopeRecord& scope) {
    ++story_.scopes_searched;
    InboxFilter filter;
    filter.scope = scope.scope;
    filter.event_id = story_.event.id;
    filter.event_source = story_.event.source;
    for (;;) {
      const InboxPage page = records_.inbox(filter);
      story_.rows_searched += page.rows_read;
      for (const InboxRecord& each : page.records) add(each.key);
      if (!page.next) return;
      filter.after = page.next;
      if (can_show_progress()) {
        show_progress("searched " + grouped(story_.rows_searched) + " rows");
      }
    }
  }

  /// What was set aside under this id, but under a key that does not lead to it.
  void add_deferred() {
    DeferredFilter filter;
    filter.event_id = story_.event.id;
    filter.with_raw = false;
    for (;;) {
      const auto page = records_.deferred(filter);
      for (const DeferredRecord& each : page) {
        const std::string& source = story_.event.source;
        if (source.empty() || each.event.source == source) add(each.key);
      }
      if (page.size() < filter.limit) return;
      filter.after = page.back().id;
    }
  }

  void add(const Key& key) {
    const ScopeRecord& scope = scopes_[key.scope];
    auto& chapters = chapters_of(scope.consumer);
    if (std::ranges::find(chapters, key, &Chapter::key) != chapters.end()) return;
    DeferredFilter filter;
    filter.key = key;
    filter.with_raw = false;
    Chapter chapter{.scope = scope, .key = key};
    chapter.inbox = records_.evidence(key);
    chapter.deferred = records_.deferred(filter);
    if (!chapter.inbox && chapter.deferred.empty()) return;
    AuditFilter of_key;
    of_key.key = key;
    chapter.decisions = decisions_.audit(of_key);
    chapters.push_back(std::move(chapter));
  }

  std::vector<Chapter>& chapters_of(const std::string& consumer) {
    const auto known = std::ranges::find(story_.consumers, consumer, &ConsumerStory::consumer);
    if (known != story_.consumers.end()) return known->chapters;
    return story_.consumers.emplace_back(ConsumerStory{.consumer = consumer}).chapters;
  }

  Records& records_;
  Decisions& decisions_;
  Story& story_;
  std::map<std::int32_t, ScopeRecord> scopes_;
};

}  // namespace

bool Story::seen() const noexcept {
  return std::ranges::any_of(
      consumers, [](const ConsumerStory& consumer) { return !consumer.chapters.empty(); });
}

Story find_story(Records& records, Decisions& decisions, const Wanted& event) {
  Story story{.event = event};
  Search{records, decisions, story}.run();
  return story;
}

}  // namespace onefold::cli
