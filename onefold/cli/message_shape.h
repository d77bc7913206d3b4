#pragma once

#include <string>
#include <string_view>

namespace onefold::cli {

/// What messages about the same thing have in common: numbers become `<n>`, what stands in quotes
/// `'…'` (in the quotes it had), UUIDs `<uuid>`, and hexadecimal digits `<hex>` (behind 0x, or
/// eight or more with both digits and letters). A digit behind a letter belongs to a name, as in
/// int64.
std::string shape_of(std::string_view message);

}  // namespace onefold::cli
