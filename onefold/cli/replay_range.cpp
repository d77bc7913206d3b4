#include "onefold/cli/replay_range.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "onefold/cli/exit_code.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

std::optional<std::uint64_t> offset_from(std::string_view text) {
  std::uint64_t offset = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), offset);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole && !text.empty() ? std::optional{offset} : std::nullopt;
}

std::string is_offset(const std::string& word) {
  if (offset_from(word)) return {};
  return "\"" + printable(word) + "\" is no offset: write a whole number of bytes";
}

[[noreturn]] void refuse(ExitCode code, const std::string& why, const std::string& advice) {
  complain(why, advice);
  note("nothing was started");
  throw Stopped{code};
}

bool has_dead_filter(const DeferredFilter& filter) {
  return !filter.reason.empty() || !filter.failure.empty() || !filter.handler.empty() ||
         !filter.event_type.empty() || filter.since.has_value();
}

void require_replayable(const OpenedStore& opened, const std::string& consumer,
                        const std::string& source) {
  const auto& consumers = opened.config.consumers;
  const auto known = std::ranges::find(consumers, consumer, &ConsumerConfig::name);
  if (known == consumers.end()) {
    refuse(ExitCode::configuration,
           "the configuration has no consumer \"" + printable(consumer) +
               "\", so that nobody can read its source again",
           "give the configuration with which onefold run applies its events, with -c FILE");
  }
  if (std::ranges::find(known->sources, source) == known->sources.end()) {
    std::string names;
    for (const std::string& each : known->sources) names += (names.empty() ? "" : ", ") + each;
    refuse(ExitCode::configuration,
           "consumer \"" + printable(consumer) + "\" does not read a source \"" +
               printable(source) + "\"",
           "it reads " + printable(names));
  }
  if (opened.config.sources.at(source).kind != SourceKind::file) {
    refuse(ExitCode::configuration,
           "the source \"" + printable(source) +
               "\" cannot be read again: what it has delivered is gone",
           "only files can be replayed; dead letters of it can: leave --source out");
  }
}

std::string offset_words(const Offset& offset) {
  return (offset.high == 0 ? "" : std::to_string(offset.high) + ":") + std::to_string(offset.low);
}

}  // namespace

void add_range_options(CLI::App& command, SourceRange& range) {
  command.remove_option(command.get_option("--source"));
  command
      .add_option("--source", range.source,
                  "Not dead letters: what the consumer has read of this source, once more")
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--from", [&range](const std::string& word) { range.from = offset_from(word).value(); },
          "With --source: from this offset on, in bytes; its beginning unless given")
      ->type_name("OFFSET")
      ->check(is_offset, "");
  command
      .add_option_function<std::string>(
          "--to", [&range](const std::string& word) { range.to = offset_from(word); },
          "With --source: up to this offset; where the consumer stands now unless given")
      ->type_name("OFFSET")
      ->check(is_offset, "");
}

void require_range(const OpenedStore& opened, const DeferredFilter& filter,
                   const SourceRange& range) {
  if (range.source.empty()) {
    if (range.from == 0 && !range.to) return;
    refuse(ExitCode::usage, "--from and --to are offsets of a source: they need --source NAME", "");
  }
  if (has_dead_filter(filter)) {
    refuse(ExitCode::usage,
           "--source reads a source again, and takes no dead letters: it does not go with --kind, "
           "--class, --handler, --type or --since",
           "leave --source out to try dead letters again");
  }
  if (range.to && *range.to <= range.from) {
    refuse(ExitCode::usage, "there is nothing between --from and --to", "");
  }
  require_replayable(opened, filter.consumer, range.source);
}

std::string range_text(const std::string& consumer, const SourceRange& range) {
  std::string text = "consumer " + printable(consumer) + ", source " + printable(range.source) +
                     " from offset " + std::to_string(range.from);
  std::string ends;
  for (const RangeEnd& end : range.ends) {
    ends += (ends.empty() ? " to " : ", ") + offset_words(end.end);
    if (range.ends.size() > 1) {
      ends += " of " + printable(end.partition.empty() ? end.incarnation : end.partition, 60);
    }
  }
  return text + (ends.empty() ? ", of which it has read nothing" : ends);
}

Json range_json(const SourceRange& range) {
  if (range.source.empty()) return nullptr;
  Json json;
  json["source"] = json_text(range.source);
  json["from"] = range.from;
  json["ends"] = Json::array();
  for (const RangeEnd& end : range.ends) {
    json["ends"].push_back({{"incarnation", json_text(end.incarnation)},
                            {"partition", json_text(end.partition)},
                            {"offset", offset_words(end.end)}});
  }
  return json;
}

}  // namespace onefold::cli
