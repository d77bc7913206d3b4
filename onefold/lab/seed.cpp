#include "onefold/lab/seed.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <utility>

namespace onefold::lab {
namespace {

constexpr std::string_view format = "A1";
constexpr std::size_t choices_max = 20'000;

const char* short_name(Dialect dialect) {
  switch (dialect) {
    case Dialect::postgres:
      return "pg";
    case Dialect::mariadb:
      return "maria";
    case Dialect::sqlite:
      return "sqlite";
  }
  return "pg";
}

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument{"'" + std::string{text} +
                              "' is no seed: it looks like A1:pg:k2:e3d1:NAME:7.2-13.1"};
}

std::size_t number_from(std::string_view text, std::string_view whole) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > choices_max) {
    refuse(whole);
  }
  return number;
}

std::string counts_of(const WorldSpec& spec) {
  std::set<std::string> ids;
  for (const Delivery& delivery : spec.deliveries) {
    ids.insert(delivery.event.id.empty() ? delivery.raw : delivery.event.id);
  }
  return "e" + std::to_string(ids.size()) + "d" +
         std::to_string(spec.deliveries.size() - ids.size());
}

}  // namespace

std::vector<std::string_view> split_seed(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string to_text(const Seed& seed, const WorldSpec& whole) {
  std::string text = std::string{format} + ":" + short_name(whole.dialect) + ":k" +
                     std::to_string(seed.workers) + ":" + counts_of(world_of(seed, whole));
  for (std::size_t i = 0; i < seed.left_out.size(); ++i) {
    text += (i == 0 ? "x" : ".") + std::to_string(seed.left_out[i]);
  }
  text += ":" + seed.world + ":";
  bool first = true;
  for (std::size_t i = 0; i < seed.schedule.size(); ++i) {
    if (seed.schedule[i] == 0) continue;
    text += (first ? "" : "-") + std::to_string(i) + "." + std::to_string(seed.schedule[i]);
    first = false;
  }
  return first ? text + "0" : text;
}

Seed seed_from(std::string_view text) {
  const std::vector<std::string_view> parts = split_seed(text, ':');
  if (parts.size() != 6 || parts[0] != format || !parts[2].starts_with('k')) refuse(text);
  Seed seed{.world = std::string{parts[4]}, .workers = 0, .left_out = {}, .schedule = {}};
  seed.workers = static_cast<int>(number_from(parts[2].substr(1), text));
  if (const std::size_t mark = parts[3].find('x'); mark != std::string_view::npos) {
    for (const auto number : split_seed(parts[3].substr(mark + 1), '.')) {
      seed.left_out.push_back(number_from(number, text));
    }
  }
  if (parts[5] == "0") return seed;
  for (const auto choice : split_seed(parts[5], '-')) {
    const auto pair = split_seed(choice, '.');
    if (pair.size() != 2) refuse(text);
    const std::size_t place = number_from(pair[0], text);
    if (seed.schedule.size() <= place) seed.schedule.resize(place + 1);
    seed.schedule[place] =
        static_cast<std::uint8_t>(std::min<std::size_t>(number_from(pair[1], text), 255));
  }
  return seed;
}

WorldSpec world_of(const Seed& seed, const WorldSpec& whole) {
  WorldSpec smaller = whole;
  smaller.workers = seed.workers;
  if (seed.left_out.empty()) return smaller;
  smaller.expected.reset();
  smaller.deliveries.clear();
  for (std::size_t i = 0; i < whole.deliveries.size(); ++i) {
    if (std::ranges::find(seed.left_out, i) == seed.left_out.end()) {
      smaller.deliveries.push_back(whole.deliveries[i]);
    }
  }
  return smaller;
}

const WorldSpec& find_world(std::span<const WorldSpec> worlds, const Seed& seed) {
  const auto found = std::ranges::find(worlds, seed.world, &WorldSpec::name);
  if (found != worlds.end()) return *found;
  throw std::invalid_argument{"there is no world named '" + seed.world + "'"};
}

}  // namespace onefold::lab
