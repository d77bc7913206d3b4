// Switches the bug on that the environment names, in a program of ordinary tests.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tests/mutants/planted.h"

namespace onefold::mutants {
namespace {

int number_of(std::string_view name) {
  const auto bug = std::ranges::find(bugs(), name, &Bug::name);
  if (bug != bugs().end()) return bug->number;
  std::cerr << "no bug is called " << name << '\n';
  std::abort();
}

[[maybe_unused]] const bool chosen = [] {
  const char* const name = std::getenv("ONEFOLD_PLANTED");
  if (name != nullptr) switched_on = number_of(name);
  return name != nullptr;
}();

}  // namespace
}  // namespace onefold::mutants
