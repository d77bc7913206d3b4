#include <algorithm>

#include "onefold/cli/deferred_view.h"
#include "onefold/cli/inbox_view.h"
#include "onefold/cli/story.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

bool is_of(const Wanted& event, const InboxRecord& record) {
  return record.event_id == event.id &&
         (event.source.empty() || record.event_source == event.source);
}

std::string detail_line(std::string_view label, const std::string& text) {
  if (text.empty()) return {};
  std::string padded{label};
  padded.resize(12, ' ');
  return "    " + padded + printable(text, 500) + "\n";
}

/// Who: the consumer, its handler, the rule of the key.
std::string subject_text(const Chapter& chapter) {
  std::string text = "  " + printable(chapter.scope.consumer);
  if (!chapter.scope.handler.empty()) text += ", handler " + printable(chapter.scope.handler);
  if (chapter.scope.key_form == business_key_form) {
    text += ", by its key " + printable(chapter.scope.source_or_rule);
  }
  return text + ": ";
}

bool could_not_be_read(const Chapter& chapter) {
  return chapter.scope.key_form == "position" || chapter.scope.key_form == "bytes";
}

/// What a person can do about a dead event.
std::string way_out(const Chapter& chapter) {
  const bool due = !chapter.deferred.empty() && chapter.deferred.front().due_at.has_value();
  return due ? "It is due, and will be tried again.\n"
             : "Mend the cause, and try it again with onefold dead replay.\n";
}

std::string dead_text(const InboxRecord& record, const Chapter& chapter) {
  const std::string at = format_rfc3339(record.recorded_at);
  std::string what = could_not_be_read(chapter)
                         ? "something that carries this id could not be read as an event; set "
                           "aside as dead at " +
                               at + ".\n"
                         : "set aside as dead at " + at + "; nothing of it was applied.\n";
  if (!record.waiting) {
    return what + "    It was given up: its bytes are gone, and its key stays claimed.\n";
  }
  if (could_not_be_read(chapter)) return what;
  if (chapter.scope.key_form.starts_with("values")) {
    return what + "    What it speaks of stays claimed (key " +
           printable(chapter.scope.source_or_rule) +
           "): any other event about it is a duplicate or a\n    conflict, whatever its id. " +
           way_out(chapter);
  }
  return what +
         "    Its id stays claimed: the same event again is a duplicate, and a corrected one under "
         "the\n    same id a conflict. " +
         way_out(chapter);
}

/// It goes on by itself.
std::string waiting_text(const InboxRecord& record, const Chapter& chapter) {
  std::string text = std::string{to_string(record.outcome)} + " since " +
                     format_rfc3339(record.recorded_at) + "; nothing of it was applied so far.\n";
  if (chapter.deferred.empty()) return text;
  const DeferredRecord& row = chapter.deferred.front();
  if (row.reason == to_string(DeferralReason::behind)) {
    return text + "    It waits behind an earlier event of its entity, which is tried again.\n";
  }
  if (row.due_at) text += "    It is tried again at " + format_rfc3339(*row.due_at) + ".\n";
  return text;
}

std::string outcome_text(const InboxRecord& record, const Chapter& chapter) {
  const std::string at = format_rfc3339(record.recorded_at);
  if (record.outcome == Outcome::dead) return dead_text(record, chapter);
  if (record.waiting) return waiting_text(record, chapter);
  if (record.outcome != Outcome::applied) {
    return std::string{to_string(record.outcome)} + " at " + at + ".\n";
  }
  std::string text = "applied at " + at;
  if (!record.handled_by.empty()) text += " by " + printable(record.handled_by);
  return text +
         ".\n    Its changes were committed together with this record; every other delivery of it "
         "is a duplicate\n    and changes nothing.\n";
}

std::string event_words(const InboxRecord& record) {
  std::string text =
      "from " + printable(record.event_source) + ", type " + printable(record.event_type);
  if (record.event_time) text += ", of " + format_rfc3339(*record.event_time);
  return text;
}

std::string key_words(const Chapter& chapter) {
  return key_text(chapter.key) + " (" + chapter.scope.key_form + ")";
}

std::string evidence_text(const InboxRecord& record, const Chapter& chapter) {
  return detail_line("event", event_words(record)) + detail_line("entity", record.entity) +
         detail_line("result", record.result) +
         detail_line("fingerprint", hex_text(record.fingerprint)) +
         detail_line("key", key_words(chapter));
}

/// The value of a line of an audit row.
std::string detail_of(const AuditRecord& audit, std::string_view name) {
  const std::string start = std::string{name} + ": ";
  for (std::size_t at = 0; at < audit.detail.size();) {
    const std::size_t end = std::min(audit.detail.find('\n', at), audit.detail.size());
    const std::string_view line = std::string_view{audit.detail}.substr(at, end - at);
    if (line.starts_with(start)) return std::string{line.substr(start.size())};
    at = end + 1;
  }
  return {};
}

std::string decision_text(const AuditRecord& audit) {
  const std::string what =
      audit.action == "discard"  ? "discarded"
      : audit.action == "import" ? "brought back by an import"
      : audit.action == "replay" ? "made due again"
      : audit.action == "edit"
          ? "replaced by the event " + printable(detail_of(audit, "new event id"))
          : printable(audit.action);
  const std::string kind = detail_of(audit, "set aside as");
  return "    " + (kind == "conflict" ? "a conflict was " + what : "it was " + what) + " at " +
         format_rfc3339(audit.at) + " by " + printable(audit.who) + ": " +
         printable(detail_of(audit, "reason"), 300) + "\n";
}

std::string kept_text(const DeferredRecord& record, const std::string& config_argument) {
  std::string text;
  if (record.reason == "conflict") {
    text += "    " + grouped(record.count) + (record.count == 1 ? " delivery" : " deliveries") +
            " with the same key and other data came too; the last at " +
            format_rfc3339(record.last_at) + "\n";
  }
  text += "    kept under number " + std::to_string(record.id);
  const std::string error = last_error(record);
  if (!error.empty()) text += ": " + printable(error, 500);
  return text + "\n    see it with: onefold dead show " + std::to_string(record.id) +
         config_argument + "\n";
}

std::string chapter_text(const Chapter& chapter, const Wanted& event,
                         const std::string& config_argument) {
  std::string text = subject_text(chapter);
  if (!chapter.inbox) {
    text += "known only from what was set aside.\n";
  } else if (is_of(event, *chapter.inbox) || chapter.scope.key_form != business_key_form) {
    text += outcome_text(*chapter.inbox, chapter) + evidence_text(*chapter.inbox, chapter);
  } else {
    text += "its key belongs to the event " + printable(chapter.inbox->event_id) + ", " +
            to_string(chapter.inbox->outcome) + " at " +
            format_rfc3339(chapter.inbox->recorded_at) + "; nothing of this one was applied.\n" +
            detail_line("key", key_words(chapter));
  }
  for (const DeferredRecord& each : chapter.deferred) text += kept_text(each, config_argument);
  for (const AuditRecord& each : chapter.decisions) text += decision_text(each);
  return text;
}

/// Whether a chapter says only that the event of another one holds this key as well.
bool is_further_key(const Chapter& chapter, const Chapter& first) {
  return chapter.inbox && first.inbox && chapter.deferred.empty() &&
         chapter.scope.handler == first.scope.handler &&
         chapter.inbox->event_id == first.inbox->event_id &&
         chapter.inbox->event_source == first.inbox->event_source &&
         chapter.inbox->recorded_at == first.inbox->recorded_at &&
         chapter.inbox->outcome == first.inbox->outcome;
}

std::string consumer_text(const ConsumerStory& consumer, const Wanted& event,
                          const std::string& config_argument) {
  if (consumer.chapters.empty()) return "  " + printable(consumer.consumer) + ": not seen\n";
  std::string text;
  const Chapter* told = nullptr;
  for (const Chapter& chapter : consumer.chapters) {
    if (told != nullptr && is_further_key(chapter, *told)) {
      text += detail_line("and key",
                          printable(chapter.scope.source_or_rule) + ", " + key_words(chapter));
      continue;
    }
    text += chapter_text(chapter, event, config_argument);
    told = &chapter;
  }
  return text;
}

Json decision_json(const AuditRecord& audit) {
  return {{"at", json_time(audit.at)},
          {"who", json_text(audit.who)},
          {"action", json_text(audit.action)},
          {"reason", json_text(detail_of(audit, "reason"))}};
}

Json chapter_json(const Chapter& chapter, const Wanted& event) {
  Json json;
  json["key"] = key_text(chapter.key);
  json["handler"] = json_text(chapter.scope.handler);
  json["source_or_rule"] = json_text(chapter.scope.source_or_rule);
  json["key_form"] = json_text(chapter.scope.key_form);
  json["inbox"] = chapter.inbox ? inbox_json(*chapter.inbox, chapter.scope) : Json(nullptr);
  json["of_another_event"] = chapter.inbox && !is_of(event, *chapter.inbox);
  json["deferred"] = Json::array();
  for (const DeferredRecord& each : chapter.deferred) {
    json["deferred"].push_back(deferred_json(each, false));
  }
  json["decisions"] = Json::array();
  for (const AuditRecord& each : chapter.decisions)
    json["decisions"].push_back(decision_json(each));
  return json;
}

}  // namespace

std::string story_text(const Story& story, const std::string& config_argument) {
  std::string text = "event " + printable(story.event.id, 600);
  if (!story.event.source.empty()) text += " from " + printable(story.event.source);
  text += '\n';
  for (const ConsumerStory& each : story.consumers) {
    text += consumer_text(each, story.event, config_argument);
  }
  if (story.consumers.empty()) text += "  no consumer has run on this database so far\n";
  if (story.source_needed) {
    text +=
        "  (a consumer has more event sources than get a scope of their own: also try with "
        "--source)\n";
  }
  if (story.rows_searched > 0) {
    text += "  (" + counted(story.rows_searched, "row") +
            " whose keys are not made of ids were searched for it one by one)\n";
  }
  return text;
}

Json story_json(const Story& story) {
  Json json;
  json["id"] = json_text(story.event.id);
  json["seen"] = story.seen();
  json["rows_searched"] = story.rows_searched;
  json["consumers"] = Json::array();
  for (const ConsumerStory& consumer : story.consumers) {
    Json each;
    each["name"] = json_text(consumer.consumer);
    each["events"] = Json::array();
    for (const Chapter& chapter : consumer.chapters) {
      each["events"].push_back(chapter_json(chapter, story.event));
    }
    json["consumers"].push_back(std::move(each));
  }
  return json;
}

}  // namespace onefold::cli
