#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace onefold {

/// Where the tokens of a JSON text start: each bracket, colon and comma outside strings, each
/// opening quote, and the first byte of everything else. Checks UTF-8, that strings end, and that
/// they hold no control characters; whether the tokens make sense is for its user to check.
///
/// The only place that knows simdjson: its first stage, chosen for the processor at run time.
class StructuralIndex {
 public:
  /// How many readable bytes must follow a text.
  static constexpr std::size_t padding_bytes = 64;

  enum class Finding { fine, empty, bad_utf8, unclosed_string, control_character };

  StructuralIndex();
  ~StructuralIndex();
  /// Reads at most 1 GiB.
  Finding read(std::string_view padded_text);
  /// The starts, ascending. Valid until the next `read`.
  std::span<const std::uint32_t> starts() const noexcept;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace onefold
