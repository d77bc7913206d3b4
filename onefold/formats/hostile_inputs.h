#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

/// Hostile inputs that every decoder must judge alike.
namespace onefold::hostile {

struct Input {
  const char* name;
  std::string bytes;
  const char* code;  ///< Of the defect; empty: a valid event.
};

/// Values of an id, as JSON.
std::vector<Input> ids();

std::string_view code_of(const Delivery& delivery);

}  // namespace onefold::hostile
