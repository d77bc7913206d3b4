#include "onefold/formats/uuid.h"

#include <openssl/rand.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace onefold {

std::string new_uuid(Timestamp now) {
  std::array<std::uint8_t, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error{"the system gives no random bits for a new id"};
  }
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch();
  auto left = static_cast<std::uint64_t>(milliseconds.count());
  constexpr std::size_t time_bytes = 6;
  for (std::size_t i = time_bytes; i-- > 0; left >>= 8U) {
    bytes.at(i) = static_cast<std::uint8_t>(left & 0xFFU);
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x70U);  // Version 7, ...
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);  // ... of the RFC's variant.
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes.at(i) >> 4U];
    text += digits[bytes.at(i) & 15U];
  }
  return text;
}

}  // namespace onefold
