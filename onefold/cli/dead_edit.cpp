#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/editor.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/catalog.h"
#include "onefold/decisions.h"
#include "onefold/formats/text.h"
#include "onefold/runtime/key_rule.h"

namespace onefold::cli {
namespace {

struct EditOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::int64_t id = 0;
  std::string file;
  std::string reason;
};

constexpr const char* footer =
    "Puts another event in the place of one that was set aside: with the bytes of a file or, as "
    "-,\n"
    "of standard input; on a terminal, with what you make of its bytes in the editor that VISUAL "
    "or\n"
    "EDITOR names. The new event is read as its source reads events, needs another id, and keeps\n"
    "the causationid. A CloudEvent whose original has none needs the original's id as "
    "causationid.\n"
    "The original is given up as by onefold dead discard; the new event is due, and onefold run\n"
    "applies it. The audit has both ids.\n"
    "\n"
    "Example:\n"
    "  onefold dead edit 7 --reason \"the amount was a text\"\n"
    "  onefold dead show 7 -o json | jq -rj .raw | sed s/evt_7/evt_7b/ |\n"
    "    onefold dead edit 7 --file - --reason \"sent under a used id\"";

constexpr std::string_view causation_header = "ce-causationid";

std::optional<std::string> causation_of(const Event& event) {
  const auto found =
      std::ranges::find(event.headers, causation_header, &Headers::value_type::first);
  if (found == event.headers.end()) return std::nullopt;
  return found->second;
}

class Edit {
 public:
  Edit(const OpenedStore& opened, const EditOptions& options) : opened_{opened}, options_{options} {
    DeferredFilter filter;
    filter.id = options.id;
    auto records = opened.records->deferred(filter);
    if (records.empty()) {
      complain("nothing is set aside under the number " + std::to_string(options.id),
               "onefold dead list" + opened.config_argument + " shows the numbers");
      throw Stopped{ExitCode::problems};
    }
    original_ = std::move(records.front());
    const auto found = opened.config.sources.find(original_.source);
    if (found == opened.config.sources.end()) {
      complain("the configuration has no source " + printable(original_.source) +
                   ", which would tell how the event is read",
               "name the configuration of the consumer with -c");
      throw Stopped{ExitCode::configuration};
    }
    source_ = &found->second;
  }

  ExitCode go() {
    take_bytes();
    Delivery delivery;
    delivery.position = original_.position;
    open_source(*source_).decoder()(raw_, delivery);
    require_event(delivery);
    require_new_id(delivery.event);
    require_causation(delivery.event);
    const EditedEvent edited{
        .of = original_.id, .raw = raw_, .key = key(), .new_id = delivery.event.id};
    const Decision decision{.who = user_at_host(), .reason = options_.reason};
    if (!opened_.store->decisions()->edit(edited, decision)) {
      refuse(ExitCode::problems,
             "somebody has settled the event meanwhile, or these very bytes wait already: nothing "
             "was changed",
             "onefold dead list" + opened_.config_argument + " shows what there is");
    }
    tell(edited);
    return ExitCode::ok;
  }

 private:
  void take_bytes() {
    const std::size_t bytes_max = source_->limits.event_bytes_max;
    if (!options_.file.empty()) {
      raw_ = read_all(options_.file, bytes_max + 1);
    } else if (can_ask()) {
      text_ = std::make_unique<EditedText>(original_.raw);
      raw_ = text_->edit(bytes_max + 1);
    } else {
      complain("onefold dead edit needs --file where nobody sits at a terminal",
               "--file - reads the new bytes from standard input");
      throw Stopped{ExitCode::usage};
    }
    // Editors end the last line.
    if (raw_.ends_with('\n') && !original_.raw.ends_with('\n')) raw_.pop_back();
    if (raw_ != original_.raw) return;
    complain("the bytes are those of the event as it is: nothing was changed");
    throw Stopped{ExitCode::problems};
  }

  /// What the person has written stays where it can be mended.
  [[noreturn]] void refuse(ExitCode code, const std::string& why, const std::string& hint) {
    std::string text = hint;
    if (text_) {
      const std::string& path = text_->keep();
      text +=
          "; what you wrote is in " + printable(path) + ": mend it there, and go on with --file";
    }
    complain(why, text);
    throw Stopped{code};
  }

  void require_event(const Delivery& delivery) {
    if (delivery.defect.empty()) return;
    refuse(ExitCode::data, "the new bytes are no event: " + printable(delivery.defect, 500),
           "they are read as those of the source " + printable(source_->name));
  }

  void require_new_id(const Event& event) {
    if (event.id == original_.event.id) {
      const bool of_position = source_->identity.id == id_from_position;
      refuse(ExitCode::data, "the new event has the id of the one that it replaces",
             of_position
                 ? "its source makes ids of positions, so that no other event can have this "
                   "place: apply its effect by hand, and discard it"
                 : "that id stays claimed for ever: give it another one");
    }
    if (!is_known(event)) return;
    refuse(ExitCode::data,
           "the id of the new event is known already: the event would be a duplicate or a conflict",
           "onefold inbox why " + printable(event.id) + opened_.config_argument +
               " tells what became of it");
  }

  /// Whether the consumer's inbox has a key of this identity.
  bool is_known(const Event& event) {
    return std::ranges::any_of(opened_.records->scopes(), [&](const ScopeRecord& scope) {
      const bool of_source = scope.source_or_rule == event.source || scope.source_or_rule == "*";
      if (scope.consumer != original_.consumer || !of_source) return false;
      const auto bytes = key_under_form(scope.key_form, event.source, event.id);
      return bytes && opened_.records->evidence({scope.scope, *bytes}).has_value();
    });
  }

  void require_causation(const Event& event) {
    const auto before = causation_of(original_.event);
    const auto after = causation_of(event);
    if (before) {
      if (after == before) return;
      refuse(ExitCode::data, "the new event has not the causationid of the one that it replaces",
             "leave causationid as it was");
    }
    const bool named = after == original_.event.id || original_.event.id.empty();
    if (source_->format != SourceFormat::cloudevents || named) return;
    refuse(ExitCode::data, "the new event does not say which one it replaces",
           "set causationid to the id of the original, " + printable(original_.event.id));
  }

  /// Of the bytes, as of any that were no event yet (semantics 2.5).
  Key key() {
    const auto all = opened_.records->consumers();
    const auto consumer = std::ranges::find(all, original_.consumer, &ConsumerRecord::name);
    if (consumer == all.end()) throw Stopped{ExitCode::problems};  // Of a row, there is one.
    const KeyRule rule;
    const DerivedKey derived = rule.of_bytes(raw_);
    const auto scope = opened_.store->connect()->scope({.consumer = consumer->id,
                                                        .handler = {},
                                                        .source_or_rule = original_.source,
                                                        .key_form = derived.form,
                                                        .always = true});
    return {.scope = scope.value(), .bytes = derived.bytes};
  }

  void tell(const EditedEvent& edited) {
    DeferredFilter filter;
    filter.key = edited.key;
    filter.with_raw = false;
    const auto rows = opened_.records->deferred(filter);
    // Whoever applies events may have been quicker.
    const std::int64_t id = rows.empty() ? 0 : rows.front().id;
    if (options_.format == "json") {
      print(dumped_line({{"replaced", edited.of},
                         {"id", id == 0 ? Json(nullptr) : Json(id)},
                         {"event_id", json_text(edited.new_id)}}));
    } else {
      print("number " + std::to_string(edited.of) + " is given up" +
            (id == 0 ? "" : "; number " + std::to_string(id) + " is in its place, and due") + "\n");
    }
    note("nothing is applied here: onefold run" + opened_.config_argument +
         " does, now if it is running");
  }

  const OpenedStore& opened_;
  const EditOptions& options_;
  DeferredRecord original_;
  const SourceConfig* source_ = nullptr;
  std::unique_ptr<EditedText> text_;  ///< If it was made in an editor.
  std::string raw_;
};

ExitCode edit(const EditOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  return Edit{opened, options}.go();
}

}  // namespace

void add_dead_edit(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("edit", "Put another event in the place of one");
  auto options = std::make_shared<EditOptions>();
  command->add_option("id", options->id, "Its number in onefold dead list")
      ->type_name("ID")
      ->required()
      ->check(is_dead_id, "");
  command->add_option("--file", options->file, "The new bytes; - reads them from standard input")
      ->type_name("FILE");
  command->add_option("--reason", options->reason, "Why that is right; kept in the audit")
      ->type_name("TEXT")
      ->required()
      ->check(is_reason, "");
  add_config_option(*command, options->config_paths);
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return edit(*options); }; });
}

}  // namespace onefold::cli
