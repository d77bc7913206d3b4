#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "onefold/formats/json.h"

/// Random JSON for property tests: trees, and many ways to write each of them.
namespace onefold::generator {

struct Member;
struct Tree {
  JsonKind kind = JsonKind::null;
  std::string text;  ///< A string's content; the token of a number or boolean.
  std::vector<Member> children;
};
struct Member {
  std::string name;  ///< Empty in arrays.
  Tree value;
};

/// Any tree, nested a few levels deep.
rc::Gen<Tree> tree();

/// The text of a tree. Another `style` writes other white space and other escapes, and, if
/// `shuffle`, another order of members: the same content all the same.
std::string write(const Tree& tree, std::uint32_t style, bool shuffle = false);

}  // namespace onefold::generator
