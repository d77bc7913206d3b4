#include "onefold/cli/dead_groups.h"

#include <algorithm>
#include <utility>

#include "onefold/cli/deferred_view.h"
#include "onefold/cli/message_shape.h"

namespace onefold::cli {
namespace {

/// More than anybody reads. A program whose messages are all different must not fill the memory.
constexpr std::size_t groups_max = 10'000;
constexpr std::size_t message_bytes_max = 2000;
constexpr const char* too_many = "(other messages: there are more than can be told apart here)";

}  // namespace

void DeadGroups::add(const DeferredRecord& record) {
  Name name{record.consumer, record.handler, record.failure,
            shape_of(last_error(record)).substr(0, message_bytes_max)};
  if (groups_.size() >= groups_max && !groups_.contains(name)) {
    name = {record.consumer, {}, {}, too_many};
  }
  Group& group = groups_[std::move(name)];
  if (group.count == 0 || record.first_at < group.first_at) group.first_at = record.first_at;
  group.last_at = std::max(group.last_at, record.last_at);
  group.example = std::max(group.example, record.id);
  ++group.count;
}

std::vector<Json> DeadGroups::rows() const {
  std::vector<const decltype(groups_)::value_type*> order;
  for (const auto& each : groups_) order.push_back(&each);
  std::ranges::sort(order, [](const auto* left, const auto* right) {
    return std::tie(right->second.count, left->first) < std::tie(left->second.count, right->first);
  });
  std::vector<Json> rows;
  for (const auto* each : order) {
    const auto& [consumer, handler, failure, message] = each->first;
    const Group& group = each->second;
    Json json;
    json["count"] = group.count;
    json["consumer"] = json_text(consumer);
    json["handler"] = json_text(handler);
    json["class"] = json_text(failure);
    json["first_at"] = json_time(group.first_at);
    json["last_at"] = json_time(group.last_at);
    json["example"] = group.example;
    json["message"] = json_text(message);
    rows.push_back(std::move(json));
  }
  return rows;
}

const std::vector<ListColumn>& DeadGroups::columns() {
  constexpr auto right = Table::Align::right;
  static const std::vector<ListColumn> columns{{.name = "count", .align = right},
                                               {.name = "consumer", .width_max = 24},
                                               {.name = "handler", .width_max = 24},
                                               {.name = "class"},
                                               {.name = "first_at"},
                                               {.name = "last_at"},
                                               {.name = "example", .align = right},
                                               {.name = "message", .width_max = 100}};
  return columns;
}

}  // namespace onefold::cli
