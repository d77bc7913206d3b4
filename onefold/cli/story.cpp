#include "onefold/cli/story.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "onefold/cli/deferred_view.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"
#include "onefold/runtime/key_rule.h"

namespace onefold::cli {
namespace {

constexpr std::size_t unreadable_looked_at = 10'000;
constexpr std::size_t page = 500;
constexpr std::string_view hashed_with_source = "source+hashed";

/// Consumers in the order in which the database lists them.
ConsumerStory& story_of(Story& story, const std::string& consumer) {
  const auto known = std::ranges::find(story.consumers, consumer, &ConsumerStory::consumer);
  if (known != story.consumers.end()) return *known;
  return story.consumers.emplace_back(ConsumerStory{.consumer = consumer});
}

/// The key that the id would have in this scope; absent if it cannot be in there.
std::optional<Key> key_in(const ScopeRecord& scope, Story& story) {
  if (scope.key_form == hashed_with_source) {
    if (story.source.empty()) {
      story.source_needed = true;
      return std::nullopt;
    }
  } else if (!story.source.empty() && scope.source_or_rule != story.source) {
    return std::nullopt;
  }
  const auto bytes = key_under_form(scope.key_form, story.source, story.id);
  if (!bytes) return std::nullopt;
  return Key{.scope = scope.scope, .bytes = *bytes};
}

bool stands_under(const std::vector<Chapter>& chapters, const Key& key) {
  return std::ranges::any_of(chapters, [&](const Chapter& chapter) {
    return std::ranges::any_of(chapter.deferred,
                               [&](const DeferredRecord& each) { return each.key == key; });
  });
}

/// Bytes that could not be decoded have no key that an id leads to, but what could be read of them
/// may show the id.
void find_unreadable(Housekeeping& housekeeping, Story& story, bool with_raw) {
  DeferredFilter filter;
  filter.limit = page;
  filter.with_raw = false;  // Few of those that are looked at are shown.
  for (std::size_t looked_at = 0;;) {
    const auto records = housekeeping.deferred(filter);
    for (const DeferredRecord& record : records) {
      if (record.event.id != story.id) continue;
      if (!story.source.empty() && record.event.source != story.source) continue;
      ConsumerStory& consumer = story_of(story, record.consumer);
      if (stands_under(consumer.chapters, record.key)) continue;
      DeferredFilter this_one;
      this_one.id = record.id;
      this_one.with_raw = with_raw;
      std::ranges::copy(housekeeping.deferred(this_one), std::back_inserter(consumer.unreadable));
    }
    if (records.size() < page) return;
    filter.after = records.back().id;
    looked_at += records.size();
    if (looked_at >= unreadable_looked_at) {
      story.search_cut = true;
      return;
    }
  }
}

std::string applied_text(const InboxRecord& record) {
  std::string text = "applied at " + format_rfc3339(record.recorded_at);
  if (!record.handled_by.empty()) text += " by " + printable(record.handled_by);
  return text +
         ".\n    Its changes were committed together with this record; every other delivery of it "
         "is a duplicate\n    and changes nothing.\n";
}

std::string set_aside_text(const DeferredRecord& record, const std::string& config_argument) {
  std::string text = "    kept under number " + std::to_string(record.id);
  const std::string error = last_error(record);
  if (!error.empty()) text += ": " + printable(error, 500);
  return text + "\n    see it with: onefold dead show " + std::to_string(record.id) +
         config_argument + "\n";
}

std::string inbox_text(const InboxRecord& record) {
  if (record.outcome == Outcome::applied && !record.waiting) return applied_text(record);
  const std::string at = format_rfc3339(record.recorded_at);
  if (record.outcome == Outcome::dead) {
    return "set aside as dead at " + at +
           "; nothing of it was applied.\n"
           "    Its id stays claimed: the same event again is a duplicate, and a corrected one "
           "under "
           "the\n    same id a conflict. Mend the cause, and send it again under a new id.\n";
  }
  return std::string{to_string(record.outcome)} + (record.waiting ? ", waiting, since " : " at ") +
         at + ".\n";
}

std::string detail_line(std::string_view label, const std::string& text) {
  if (text.empty()) return {};
  std::string padded{label};
  padded.resize(12, ' ');
  return "    " + padded + printable(text, 500) + "\n";
}

std::string event_words(const InboxRecord& record) {
  std::string text =
      "from " + printable(record.event_source) + ", type " + printable(record.event_type);
  if (record.event_time) text += ", of " + format_rfc3339(*record.event_time);
  return text;
}

std::string chapter_text(const Chapter& chapter, const std::string& consumer,
                         const std::string& config_argument) {
  std::string text = "  " + printable(consumer) + ": ";
  if (chapter.inbox) {
    const InboxRecord& record = *chapter.inbox;
    text += inbox_text(record);
    text += detail_line("event", event_words(record));
    text += detail_line("entity", record.entity);
    text += detail_line("result", record.result);
    text += detail_line("fingerprint", hex_text(record.fingerprint));
    text += detail_line("key", hex_text(record.key.bytes) + " in scope " +
                                   std::to_string(chapter.scope.scope) + " (" +
                                   chapter.scope.key_form + ")");
  } else {
    text += "its id is known only from events that were set aside.\n";
  }
  for (const DeferredRecord& record : chapter.deferred) {
    if (record.reason == "conflict") {
      text += "    " + grouped(record.count) + (record.count == 1 ? " delivery" : " deliveries") +
              " with the same id and other data came too; the last at " +
              format_rfc3339(record.last_at) + "\n";
    }
    text += set_aside_text(record, config_argument);
  }
  return text;
}

Json chapter_json(const Chapter& chapter) {
  Json json;
  json["source"] = json_text(chapter.scope.source_or_rule);
  json["scope"] = chapter.scope.scope;
  json["key_form"] = chapter.scope.key_form;
  json["inbox"] = nullptr;
  if (chapter.inbox) {
    const InboxRecord& record = *chapter.inbox;
    json["inbox"] = {{"outcome", to_string(record.outcome)},
                     {"waiting", record.waiting},
                     {"recorded_at", json_time(record.recorded_at)},
                     {"handled_by", json_text(record.handled_by)},
                     {"event_source", json_text(record.event_source)},
                     {"event_type", json_text(record.event_type)},
                     {"event_time", json_time(record.event_time)},
                     {"entity", json_text(record.entity)},
                     {"result", json_text(record.result)},
                     {"fingerprint", hex_text(record.fingerprint)},
                     {"key", hex_text(record.key.bytes)}};
  }
  json["deferred"] = Json::array();
  for (const DeferredRecord& record : chapter.deferred) {
    json["deferred"].push_back(deferred_json(record));
  }
  return json;
}

}  // namespace

bool Story::seen() const noexcept {
  return std::ranges::any_of(consumers, [](const ConsumerStory& consumer) {
    return !consumer.chapters.empty() || !consumer.unreadable.empty();
  });
}

Story find_story(Housekeeping& housekeeping, std::string_view id, std::string_view source,
                 bool with_raw) {
  Story story{.id = std::string{id}, .source = std::string{source}, .consumers = {}};
  for (const ConsumerStatus& consumer : housekeeping.status()) story_of(story, consumer.name);
  for (const ScopeRecord& scope : housekeeping.scopes()) {
    const auto key = key_in(scope, story);
    if (!key) continue;
    DeferredFilter filter;
    filter.key = *key;
    filter.with_raw = with_raw;
    Chapter chapter{scope, housekeeping.evidence(*key), housekeeping.deferred(filter)};
    if (!chapter.inbox && chapter.deferred.empty()) continue;
    story_of(story, scope.consumer).chapters.push_back(std::move(chapter));
  }
  find_unreadable(housekeeping, story, with_raw);
  return story;
}

std::string story_text(const Story& story, const std::string& config_argument) {
  std::string text = "event " + printable(story.id);
  if (!story.source.empty()) text += " from " + printable(story.source);
  text += "\n";
  for (const ConsumerStory& consumer : story.consumers) {
    for (const Chapter& chapter : consumer.chapters) {
      text += chapter_text(chapter, consumer.consumer, config_argument);
    }
    for (const DeferredRecord& record : consumer.unreadable) {
      text += "  " + printable(consumer.consumer) +
              ": something that carries this id could not be read as an event.\n" +
              set_aside_text(record, config_argument);
    }
    if (consumer.chapters.empty() && consumer.unreadable.empty()) {
      text += "  " + printable(consumer.consumer) + ": not seen\n";
    }
  }
  if (story.consumers.empty()) text += "  no consumer has run on this database so far\n";
  if (story.source_needed) {
    text +=
        "  (a consumer has more event sources than get a scope of their own: also try with "
        "--source)\n";
  }
  if (story.search_cut) {
    text += "  (only the first " + grouped(unreadable_looked_at) +
            " dead letters were searched for unreadable events)\n";
  }
  return text;
}

Json story_json(const Story& story) {
  Json json;
  json["id"] = json_text(story.id);
  json["seen"] = story.seen();
  json["consumers"] = Json::array();
  for (const ConsumerStory& consumer : story.consumers) {
    Json each;
    each["name"] = json_text(consumer.consumer);
    each["events"] = Json::array();
    for (const Chapter& chapter : consumer.chapters)
      each["events"].push_back(chapter_json(chapter));
    each["unreadable"] = Json::array();
    for (const DeferredRecord& record : consumer.unreadable) {
      each["unreadable"].push_back(deferred_json(record));
    }
    json["consumers"].push_back(std::move(each));
  }
  return json;
}

}  // namespace onefold::cli
