#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

/// Lists that stand in one column, as JSON: readable with SQLite's own functions.
namespace onefold::sqlite {

/// `[["name", "value"], ...]`, in order, with repeats (B27). Headers are bytes and JSON strings are
/// not: what is not UTF-8 is kept as `{"hex": "e9"}`, so that it comes back as it was.
std::string json_of_headers(const Headers& headers);
/// Throws `bad_configuration` if the text is not such a list.
Headers headers_from(std::string_view json);

/// `["...", ...]`. These are texts for people: bytes that are not UTF-8 become `\xE9`.
std::string json_of_errors(std::span<const std::string> errors);
/// Throws `bad_configuration` if the text is not such a list.
std::vector<std::string> errors_from(std::string_view json);

}  // namespace onefold::sqlite
