#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace onefold {

/// A quick 64-bit digest of states that are compared within one run of one program, as the disorder
/// lab does. Not for files, and no protection against anybody.
class StateDigest {
 public:
  void add(std::uint64_t number) noexcept {
    value_ = (value_ ^ number) * 0x9E3779B97F4A7C15U;
    value_ ^= value_ >> 32U;
    value_ *= 0xD6E8FEB86659FD93U;
    value_ ^= value_ >> 29U;
  }
  void add(std::string_view text) noexcept {
    add(text.size());
    while (text.size() >= sizeof(std::uint64_t)) {
      add(word(text.substr(0, sizeof(std::uint64_t))));
      text.remove_prefix(sizeof(std::uint64_t));
    }
    if (!text.empty()) add(word(text));
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  static std::uint64_t word(std::string_view bytes) noexcept {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }

  std::uint64_t value_ = 0x243F6A8885A308D3U;
};

}  // namespace onefold
