#include "onefold/runtime/key_rule.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "onefold/error.h"
#include "onefold/formats/fingerprint.h"

namespace onefold {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

constexpr std::string_view hashed_form = "hashed";
constexpr std::string_view source_hashed_form = "source+hashed";
constexpr std::string_view position_form = "position";
constexpr std::string_view bytes_form = "bytes";
constexpr std::string_view uuid_form = "uuid";
constexpr std::string_view ulid_form = "ulid";
constexpr std::string_view values_form = "values";
constexpr std::string_view one_value_start = "values+";
constexpr char text_mark = '"';
constexpr char integer_mark = '#';

constexpr std::uint8_t no_digit = 0xFF;

/// The value of every byte as a digit, `no_digit` for those that are none.
constexpr std::array<std::uint8_t, 256> digit_table(std::string_view digits) {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::size_t value = 0; value < digits.size(); ++value)
    table[static_cast<unsigned char>(digits[value])] = static_cast<std::uint8_t>(value);
  return table;
}

constexpr auto hex_digits = digit_table("0123456789abcdef");
constexpr auto crockford_digits = digit_table("0123456789ABCDEFGHJKMNPQRSTVWXYZ");

std::uint8_t digit(const std::array<std::uint8_t, 256>& table, char character) {
  return table[static_cast<unsigned char>(character)];
}

/// "123e4567-e89b-12d3-a456-426614174000"; any other spelling is another text, hence another id.
bool read_uuid(std::string_view text, Bytes& bytes) {
  if (text.size() != 36) return false;
  std::size_t at = 0;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    if (index == 4 || index == 6 || index == 8 || index == 10) {
      if (text[at++] != '-') return false;
    }
    const std::uint8_t high = digit(hex_digits, text[at++]);
    const std::uint8_t low = digit(hex_digits, text[at++]);
    if ((high | low) == no_digit) return false;
    bytes[index] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

/// "01ARZ3NDEKTSV4RRFFQ69G5FAV": 26 digits of 5 bits are 130 bits, so the first is at most 7.
bool read_ulid(std::string_view text, Bytes& bytes) {
  if (text.size() != 26 || text.front() > '7') return false;
  unsigned held = 0;
  int held_bits = -2;  // The two bits that do not fit are zero: see the first digit.
  std::size_t out = 0;
  for (const char character : text) {
    const std::uint8_t value = digit(crockford_digits, character);
    if (value == no_digit) return false;
    held = (held << 5 | value) & 0xFFFU;
    held_bits += 5;
    if (held_bits < 8) continue;
    held_bits -= 8;
    bytes[out++] = static_cast<std::uint8_t>(held >> held_bits);
  }
  return true;
}

std::array<char, 16> big_endian(const Offset& offset) {
  std::array<char, 16> bytes;
  for (std::size_t index = 0; index < 8; ++index) {
    const auto shift = 56 - 8 * index;
    bytes[index] = static_cast<char>(offset.high >> shift);
    bytes[index + 8] = static_cast<char>(offset.low >> shift);
  }
  return bytes;
}

/// The prefix in "uuid:PREFIX"; empty for "uuid"; absent for another form.
std::optional<std::string_view> prefix_in(std::string_view form, std::string_view kind) {
  if (!form.starts_with(kind)) return {};
  form.remove_prefix(kind.size());
  if (form.empty()) return form;
  if (form.size() == 1 || form.front() != ':') return {};
  return form.substr(1);
}

}  // namespace

KeyRule::KeyRule(std::vector<std::string> id_prefixes) : id_prefixes_{std::move(id_prefixes)} {
  std::sort(id_prefixes_.begin(), id_prefixes_.end(), [](const auto& one, const auto& other) {
    return one.size() != other.size() ? one.size() > other.size() : one < other;
  });
  id_prefixes_.erase(std::unique(id_prefixes_.begin(), id_prefixes_.end()), id_prefixes_.end());
  for (const std::string& prefix : id_prefixes_) {
    if (prefix.empty()) {
      throw Error{ErrorKind::bad_configuration,
                  "An id prefix is empty: leave it out, ids without a prefix need none."};
    }
    forms_.push_back(forms_of({}, ":" + prefix));
    value_forms_.push_back(forms_of(one_value_start, ":" + prefix));
  }
  forms_.push_back(forms_of({}, {}));
  value_forms_.push_back(forms_of(one_value_start, {}));
}

KeyRule::Forms KeyRule::forms_of(std::string_view start, std::string_view prefix) {
  const auto joined = [&](std::string_view kind) {
    return std::string{start}.append(kind).append(prefix);
  };
  return {joined(uuid_form), joined(ulid_form)};
}

/// Absent if the id does not keep its bytes.
std::optional<DerivedKey> KeyRule::of_ordered_id(std::string_view id, bool as_value) const {
  DerivedKey key;
  const auto keeps_its_bytes = [&key](std::string_view text, const Forms& forms) {
    key.form = forms.uuid;
    if (read_uuid(text, key.bytes)) return true;
    key.form = forms.ulid;
    return read_ulid(text, key.bytes);
  };
  const std::vector<Forms>& forms = as_value ? value_forms_ : forms_;
  for (std::size_t index = 0; index < id_prefixes_.size(); ++index) {
    const std::string& prefix = id_prefixes_[index];
    if (!id.starts_with(prefix)) continue;
    if (keeps_its_bytes(id.substr(prefix.size()), forms[index])) return key;
    break;
  }
  if (keeps_its_bytes(id, forms.back())) return key;
  return {};
}

DerivedKey KeyRule::of_id(std::string_view id) const {
  if (const auto key = of_ordered_id(id, false)) return *key;
  return {hashed_form, sha256_128_of_parts({id})};
}

DerivedKey KeyRule::of_values(std::span<const KeyValue> values) const {
  if (values.size() == 1 && !values.front().integer) {
    if (const auto key = of_ordered_id(values.front().text, true)) return *key;
  }
  std::vector<std::string> parts;
  for (const KeyValue& value : values) {
    parts.push_back((value.integer ? integer_mark : text_mark) + std::string{value.text});
  }
  return {values_form,
          sha256_128_of_parts(std::vector<std::string_view>{parts.begin(), parts.end()})};
}

DerivedKey KeyRule::of_source_and_id(std::string_view source, std::string_view id) const {
  return {source_hashed_form, sha256_128_of_parts({source, id})};
}

DerivedKey KeyRule::of_position(const Position& position) const {
  const std::array<char, 16> offset = big_endian(position.at);
  const Partition& partition = *position.partition;
  return {position_form, sha256_128_of_parts({partition.source,
                                              partition.incarnation,
                                              partition.name,
                                              {offset.data(), offset.size()}})};
}

DerivedKey KeyRule::of_bytes(std::string_view raw) const {
  return {bytes_form, sha256_128(raw)};
}

std::optional<std::array<std::uint8_t, 16>> key_under_form(std::string_view form,
                                                           std::string_view source,
                                                           std::string_view id) {
  Bytes bytes{};
  if (form == source_hashed_form) return sha256_128_of_parts({source, id});
  if (form == hashed_form) {
    // Under no rule are these hashed.
    if (read_uuid(id, bytes) || read_ulid(id, bytes)) return {};
    return sha256_128_of_parts({id});
  }
  for (const bool uuid : {true, false}) {
    const auto prefix = prefix_in(form, uuid ? uuid_form : ulid_form);
    if (!prefix || !id.starts_with(*prefix)) continue;
    const std::string_view text = id.substr(prefix->size());
    if (uuid ? read_uuid(text, bytes) : read_ulid(text, bytes)) return bytes;
  }
  return {};
}

}  // namespace onefold
