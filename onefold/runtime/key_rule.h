#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

namespace onefold {

/// A key before its scope is known. `form` is part of the scope, so equal bytes of two forms never
/// meet (semantics 1.1).
struct DerivedKey {
  std::string_view form;  ///< Lives as long as the rule.
  std::array<std::uint8_t, 16> bytes{};
};

/// One value of a business key.
struct KeyValue {
  bool integer = false;   ///< The digits of a 64-bit integer; otherwise a text.
  std::string_view text;  ///< "1" the text and 1 the number are two values (B29).
};

/// Derives keys from identities. The same identity gives the same key for ever: this is a file
/// format.
///
/// Canonical lower-case UUID text and canonical upper-case ULID text keep their own 16 bytes, also
/// behind one of the declared constant prefixes. Everything else is hashed: SHA-256, cut to 128
/// bits, over each part preceded by its length (8 bytes, big-endian); `of_bytes` hashes the raw
/// bytes alone, so that `sha256sum` tells the same. Used by any number of threads.
class KeyRule {
 public:
  /// `id_prefixes` in any order; of several that fit, the longest counts. Throws `Error` of kind
  /// `bad_configuration` if one is empty.
  explicit KeyRule(std::vector<std::string> id_prefixes = {});

  /// Forms "uuid", "ulid", "uuid:PREFIX", "ulid:PREFIX", "hashed".
  DerivedKey of_id(std::string_view id) const;
  /// Form "source+hashed": for consumers with more event sources than get a scope of their own.
  DerivedKey of_source_and_id(std::string_view source, std::string_view id) const;
  /// Form "values", or "values+uuid", "values+ulid:PREFIX", ... for a single text that keeps its
  /// bytes as an id does.
  DerivedKey of_values(std::span<const KeyValue> values) const;
  /// Form "position": bytes that could not be decoded, on an owned log (semantics 2.5).
  DerivedKey of_position(const Position& position) const;
  /// Form "bytes": bytes that could not be decoded, elsewhere.
  DerivedKey of_bytes(std::string_view raw) const;
  /// All forms that an id could have been stored under, for look-ups by people: the form of today's
  /// rule.
  const std::vector<std::string>& id_prefixes() const noexcept { return id_prefixes_; }

 private:
  struct Forms {
    std::string uuid;
    std::string ulid;
  };
  static Forms forms_of(std::string_view start, std::string_view prefix);
  std::optional<DerivedKey> of_ordered_id(std::string_view id, bool as_value) const;

  std::vector<std::string> id_prefixes_;  ///< Longest first.
  std::vector<Forms> forms_;              ///< One per prefix, then those without.
  std::vector<Forms> value_forms_;        ///< The same, of business keys.
};

/// The key of an id under a stored form; absent if the id does not have that form. For `inbox why`.
std::optional<std::array<std::uint8_t, 16>> key_under_form(std::string_view form,
                                                           std::string_view source,
                                                           std::string_view id);

}  // namespace onefold
