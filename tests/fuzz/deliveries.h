#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "onefold/event.h"
#include "onefold/formats/json.h"

/// What holds for every decoder.
namespace onefold::fuzz {

/// Either a defect with its code, or an event that can be applied; the bytes are kept in both.
void require_sound(const Delivery& delivery, std::string_view bytes);

/// Whether two deliveries of the same bytes say the same.
bool same(const Delivery& one, const Delivery& other);

/// The same content written in another way: members in another order, other white space, other
/// escapes. `seed` says which way.
std::string rewritten(const JsonValue& value, std::uint32_t seed);

/// For `seed`: any bytes make another one.
std::uint32_t seed_of(std::string_view bytes);

}  // namespace onefold::fuzz
