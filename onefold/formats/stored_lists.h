#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

/// Lists that stand in one column of a table: texts as JSON, readable with the database's own
/// functions, and keys as bytes.
namespace onefold {

/// `[["name", "value"], ...]`, in order, with repeats (B27). Headers are bytes and JSON strings are
/// not: what is not UTF-8 is kept as `{"hex": "e9"}`, so that it comes back as it was.
std::string json_of_headers(const Headers& headers);
/// Throws `bad_configuration` if the text is not such a list.
Headers headers_from(std::string_view json);

/// `["...", ...]`. These are texts for people: bytes that are not UTF-8 become `\xE9`.
std::string json_of_errors(std::span<const std::string> errors);
/// Throws `bad_configuration` if the text is not such a list.
std::vector<std::string> errors_from(std::string_view json);

/// One after the other: the scope in 4 bytes, big-endian, and the key in 16. Empty for none.
std::vector<std::uint8_t> bytes_of_keys(std::span<const Key> keys);
/// The reverse; a rest that is too short for a key is not regarded.
std::vector<Key> keys_from(std::span<const std::uint8_t> bytes);

}  // namespace onefold
