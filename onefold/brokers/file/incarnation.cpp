#include "onefold/brokers/file/incarnation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "onefold/formats/fingerprint.h"

namespace onefold::file {
namespace {

/// A decimal number in its only canonical form, followed by nothing.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && stop == text.data() + text.size() && text.front() != '0';
}

template <std::size_t Size>
bool read_hexadecimal(std::string_view text, std::array<std::uint8_t, Size>& bytes) {
  if (text.size() != 2 * Size) return false;
  for (std::size_t i = 0; i < Size; ++i) {
    const char* from = text.data() + 2 * i;
    const auto [stop, failure] = std::from_chars(from, from + 2, bytes.at(i), 16);
    if (failure != std::errc{} || stop != from + 2) return false;
  }
  return true;
}

}  // namespace

Incarnation::Incarnation(std::string_view beginning, std::uint32_t generation)
    : bytes_{std::min(beginning.size(), bytes_max)},
      digest_{sha256_128(beginning.substr(0, bytes_max))},
      generation_{generation} {}

std::optional<Incarnation> Incarnation::parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::size_t dot = std::min(text.find('.', dash), text.size());
  Incarnation result;
  const bool readable =
      read_number(text.substr(0, dash), result.bytes_) &&
      read_hexadecimal(text.substr(dash + 1, dot - dash - 1), result.digest_) &&
      (dot == text.size() || read_number(text.substr(dot + 1), result.generation_));
  if (!readable || result.bytes_ > bytes_max || result.text() != text) return std::nullopt;
  return result;
}

std::string Incarnation::text() const {
  std::string text = fmt::format("{}-{:02x}", bytes_, fmt::join(digest_, ""));
  if (generation_ > 1) text += fmt::format(".{}", generation_);
  return text;
}

bool Incarnation::matches(std::string_view beginning) const {
  return beginning.size() >= bytes_ && sha256_128(beginning.substr(0, bytes_)) == digest_;
}

}  // namespace onefold::file
