#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "onefold/consumer.h"
#include "onefold/event.h"
#include "onefold/formats/json.h"

namespace onefold {

/// The first 16 bytes of the SHA-256 of `bytes`.
std::array<std::uint8_t, 16> sha256_128(std::string_view bytes);
/// The same over each part preceded by its length (8 bytes, big-endian), so that no two lists of
/// parts read alike.
std::array<std::uint8_t, 16> sha256_128_of_parts(std::span<const std::string_view> parts);
std::array<std::uint8_t, 16> sha256_128_of_parts(std::initializer_list<std::string_view> parts);
/// The whole SHA-256 of `bytes`, as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// Tells whether two events with one key say the same (semantics 1.4). Used by one thread.
///
/// Canonical: JSON data by its content, members sorted by name, white space gone, strings by their
/// content, number tokens and the order of arrays kept. So 1.0 and 1 differ, and a re-encoded event
/// does not. Other content types by their bytes. Absent, empty and `null` data are three things.
class Fingerprinter {
 public:
  /// Throws `Error` of kind `bad_configuration` if the rule contradicts itself.
  explicit Fingerprinter(FingerprintRule rule = {});
  ~Fingerprinter();
  Fingerprint of(const Event& event);
  /// The same, for data that is parsed already: `data` is that of `event`.
  Fingerprint of(const Event& event, const JsonValue& data);
  /// Of some fields alone, each with its pointer; always canonical, unless fingerprints are off.
  Fingerprint of_fields(const JsonValue& data, std::span<const std::string> pointers);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether `content_type` says JSON: empty, application/json, text/json, or any +json, in any case
/// and with parameters.
bool is_json(std::string_view content_type) noexcept;

}  // namespace onefold
