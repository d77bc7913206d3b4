#include "onefold/daemon/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

namespace onefold {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t value;
};
/// Those of 1024 first, from the largest: the reverse takes the first that fits.
constexpr std::array sizes{Unit{"MiB", mebibyte}, Unit{"KiB", kibibyte}, Unit{"B", 1},
                           Unit{"KB", 1000}, Unit{"MB", 1'000'000}};
constexpr std::int64_t second = 1000;
constexpr std::array durations{Unit{"h", 60 * minute_milliseconds}, Unit{"m", minute_milliseconds},
                               Unit{"s", second}, Unit{"ms", 1}};

std::optional<std::int64_t> value_from(std::string_view text, std::span<const Unit> units) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string_view name{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end() || number > std::numeric_limits<std::int64_t>::max() / unit->value) {
    return std::nullopt;
  }
  return number * unit->value;
}

std::string value_text(std::int64_t value, std::span<const Unit> units) {
  const auto unit = std::ranges::find_if(units, [&](const Unit& each) {
    return value % each.value == 0 && (value != 0 || each.value == 1);
  });
  return std::to_string(value / unit->value) + std::string{unit->name};
}

}  // namespace

std::optional<std::int64_t> size_from(std::string_view text) noexcept {
  return value_from(text, sizes);
}

std::string size_text(std::int64_t bytes) {
  return value_text(bytes, sizes);
}

std::optional<std::int64_t> duration_from(std::string_view text) noexcept {
  return value_from(text, durations);
}

std::string duration_text(std::int64_t milliseconds) {
  return value_text(milliseconds, durations);
}

}  // namespace onefold
