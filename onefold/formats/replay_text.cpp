#include "onefold/formats/replay_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/stored_lists.h"

namespace onefold {
namespace {

struct Member {
  std::string_view name;
  std::string DeferredFilter::* text;
};
constexpr std::array members{Member{"consumer", &DeferredFilter::consumer},
                             Member{"reason", &DeferredFilter::reason},
                             Member{"event_id", &DeferredFilter::event_id},
                             Member{"handler", &DeferredFilter::handler},
                             Member{"failure", &DeferredFilter::failure},
                             Member{"event_type", &DeferredFilter::event_type},
                             Member{"source", &DeferredFilter::source}};
constexpr std::string_view since = "since_us";
constexpr std::string_view id = "id";

template <class Number = std::int64_t>
Number number_from(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  throw Error{ErrorKind::bad_configuration,
              "a replay in the database holds no number where one "
              "must be"};
}

}  // namespace

std::string text_of_filter(const DeferredFilter& filter) {
  std::vector<std::string> texts;
  for (const Member& member : members) {
    const std::string& value = filter.*member.text;
    if (!value.empty()) texts.push_back(std::string{member.name} + "=" + value);
  }
  if (filter.since) {
    const auto microseconds = filter.since->time_since_epoch().count();
    texts.push_back(std::string{since} + "=" + std::to_string(microseconds));
  }
  if (filter.id) texts.push_back(std::string{id} + "=" + std::to_string(*filter.id));
  return json_of_errors(texts);
}

DeferredFilter filter_from(std::string_view text) {
  DeferredFilter filter;
  for (const std::string& each : errors_from(text)) {
    const std::size_t sign = std::min(each.find('='), each.size());
    const std::string_view name = std::string_view{each}.substr(0, sign);
    const std::string_view value = std::string_view{each}.substr(std::min(sign + 1, each.size()));
    if (name == since) {
      filter.since = Timestamp{std::chrono::microseconds{number_from(value)}};
    } else if (name == id) {
      filter.id = number_from(value);
    }
    for (const Member& member : members) {
      if (member.name == name) filter.*member.text = value;
    }
  }
  return filter;
}

/// An end is three texts in a row: `incarnation=`, `partition=` and `end=high:low`.
std::string text_of_range(const SourceRange& range) {
  if (range.source.empty()) return {};
  std::vector<std::string> texts{"source=" + range.source, "from=" + std::to_string(range.from)};
  if (range.to) texts.push_back("to=" + std::to_string(*range.to));
  for (const RangeEnd& end : range.ends) {
    texts.push_back("incarnation=" + end.incarnation);
    texts.push_back("partition=" + end.partition);
    texts.push_back("end=" + std::to_string(end.end.high) + ":" + std::to_string(end.end.low));
  }
  return json_of_errors(texts);
}

SourceRange range_from(std::string_view text) {
  SourceRange range;
  if (text.empty()) return range;
  for (const std::string& each : errors_from(text)) {
    const std::size_t sign = std::min(each.find('='), each.size());
    const std::string_view name = std::string_view{each}.substr(0, sign);
    const std::string_view value = std::string_view{each}.substr(std::min(sign + 1, each.size()));
    if (name == "source") range.source = value;
    if (name == "from") range.from = number_from<std::uint64_t>(value);
    if (name == "to") range.to = number_from<std::uint64_t>(value);
    if (name == "incarnation") range.ends.push_back({std::string{value}, {}, {}});
    if (range.ends.empty()) continue;
    RangeEnd& last = range.ends.back();
    if (name == "partition") last.partition = value;
    if (name == "end") {
      const std::size_t colon = std::min(value.find(':'), value.size());
      last.end.high = number_from<std::uint64_t>(value.substr(0, colon));
      last.end.low = number_from<std::uint64_t>(value.substr(std::min(colon + 1, value.size())));
    }
  }
  return range;
}

std::string text_of_ramp(std::span<const std::int64_t> ramp) {
  std::string text;
  for (const std::int64_t stage : ramp) text += (text.empty() ? "" : ",") + std::to_string(stage);
  return text;
}

std::vector<std::int64_t> ramp_from(std::string_view text) {
  std::vector<std::int64_t> ramp;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    ramp.push_back(number_from(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ramp;
}

}  // namespace onefold
