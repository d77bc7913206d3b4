#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace onefold {

/// How deep dots may nest keys: far beyond every configuration.
inline constexpr std::size_t key_depth_max = 100;

/// The line (from 1) in which dots first nest keys deeper than `key_depth_max`, as in "a.b.c = 1".
///
/// The parser limits brackets, but not dots, and frees what it has built by recursion: a text of
/// less than 1 MiB could overflow the stack. Knows just enough of TOML to tell keys from texts.
std::optional<std::uint32_t> line_of_too_deep_key(std::string_view text);

}  // namespace onefold
