#include "onefold/lab/timeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "onefold/lab/oracle.h"

namespace onefold::lab {
namespace {

/// "e1#0": the event, and which of its copies.
std::string delivery_name(const Broker& broker, std::size_t delivery) {
  const auto deliveries = broker.deliveries();
  const std::string& id = deliveries[delivery].event.id;
  std::size_t copy = 0;
  for (std::size_t i = 0; i < delivery; ++i) {
    if (deliveries[i].event.id == id) ++copy;
  }
  return (id.empty() ? "(undecodable)" : id) + "#" + std::to_string(copy);
}

std::vector<std::string> worker_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t worker = 0; worker < count; ++worker) {
    names.push_back("worker " + std::to_string(worker));
  }
  return names;
}

/// What has another value now is said once.
bool is_replaced(const std::string& fact, const std::vector<std::string>& fresh) {
  if (fact.starts_with("cell ")) return true;
  const std::size_t colon = fact.find(": ");
  if (colon == std::string::npos) return false;
  const std::string name = fact.substr(0, colon + 2);
  return std::ranges::any_of(fresh,
                             [&](const std::string& each) { return each.starts_with(name); });
}

}  // namespace

Timeline::Timeline(World& world) : Timeline{worker_names(world.size()), facts_of(world.model())} {}

Timeline::Timeline(std::vector<std::string> workers, std::vector<std::string> facts)
    : workers_{workers.size()}, heads_{std::move(workers)}, facts_{std::move(facts)} {
  heads_.insert(heads_.end(), {"database", "broker"});
}

void Timeline::append(std::string& column, const std::string& text) {
  if (!column.empty()) column += "; ";
  column += text;
}

void Timeline::begin(int step) {
  lines_.push_back({step, std::vector<std::string>(workers_ + 2)});
}

void Timeline::note(std::size_t worker, const std::string& text) {
  append(lines_.back().columns[worker], text);
}

void Timeline::note_all(const std::string& text) {
  for (std::size_t worker = 0; worker < workers_; ++worker) note(worker, text);
}

void Timeline::note_broker(const std::string& text) {
  append(lines_.back().columns[workers_ + 1], text);
}

void Timeline::note_database(World& world) {
  note_facts(facts_of(world.model()));
}

void Timeline::note_facts(std::vector<std::string> facts) {
  std::vector<std::string> gone;
  std::vector<std::string> fresh;
  std::ranges::set_difference(facts_, facts, std::back_inserter(gone));
  std::ranges::set_difference(facts, facts_, std::back_inserter(fresh));
  std::string& column = lines_.back().columns[workers_];
  for (const std::string& fact : gone) {
    if (!is_replaced(fact, fresh)) append(column, "no more " + fact);
  }
  for (const std::string& fact : fresh) append(column, fact);
  facts_ = std::move(facts);
}

void Timeline::note_handed(World& world, std::size_t worker,
                           const std::vector<std::size_t>& handed) {
  for (const std::size_t delivery : handed) {
    note_broker(delivery_name(world.broker(), delivery) + " → w" + std::to_string(worker));
  }
}

void Timeline::note_settled(World& world, const std::vector<std::size_t>& settled) {
  for (const std::size_t delivery : settled) {
    note_broker(delivery_name(world.broker(), delivery) + " done");
  }
}

namespace {

/// Characters of UTF-8 text, which is all that is written here.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t is = width_of(text);
  return is < width ? text + std::string(width - is, ' ') : text;
}

}  // namespace

std::string Timeline::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < heads_.size(); ++column) {
    std::size_t width = width_of(heads_[column]);
    for (const Line& line : lines_) width = std::max(width, width_of(line.columns[column]));
    widths.push_back(width);
  }
  std::string text;
  const auto add = [&](const std::string& number, const std::vector<std::string>& columns) {
    std::string row = std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      row += "  " + padded(columns[column], widths[column]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  add("step", heads_);
  for (const Line& line : lines_) add(std::to_string(line.step), line.columns);
  return text;
}

std::string Timeline::cause() const {
  if (causes_.empty()) return "none: it happens although nothing fails";
  std::string text;
  for (const std::string& cause : causes_) append(text, cause);
  return text;
}

}  // namespace onefold::lab
