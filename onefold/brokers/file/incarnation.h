#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onefold::file {

/// What makes a file the same file: its first bytes, not its inode, which a copy or a restored
/// backup does not keep (semantics 5.4).
///
/// As text "4096-0123…ef": the number of bytes and their SHA-256, cut to 128 bits. A file that was
/// truncated and written again may begin with the same bytes; it gets the next generation:
/// "4096-0123…ef.2".
class Incarnation {
 public:
  static constexpr std::size_t bytes_max = 4096;

  /// Of a file that begins with `beginning`, of which at most `bytes_max` bytes count.
  explicit Incarnation(std::string_view beginning, std::uint32_t generation = 1);
  /// Absent if the text was not written by `text`.
  static std::optional<Incarnation> parse(std::string_view text);

  std::string text() const;
  /// Whether a file that begins with `beginning` is this one, or a later generation of it.
  bool matches(std::string_view beginning) const;
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint32_t generation() const noexcept { return generation_; }

 private:
  Incarnation() = default;
  std::size_t bytes_ = 0;
  std::array<std::uint8_t, 16> digest_{};
  std::uint32_t generation_ = 1;
};

}  // namespace onefold::file
