#include "onefold/formats/json_generator.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <set>

namespace onefold::generator {
namespace {

/// Text of characters that have all widths in UTF-8 and all kinds of escapes.
rc::Gen<std::string> content() {
  using namespace std::string_literals;
  const auto character = rc::gen::element<std::string>("a", "b", "Z", "0", " ", "\"", "\\", "/",
                                                       "\n", "\t", "\0"s, "\x1f", "\x7f", "~", "é",
                                                       "e\u0301", "€", "\uFFFE", "😀", "u0000");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(character),
                      [](const std::vector<std::string>& characters) {
                        std::string text;
                        for (const std::string& piece : characters) text += piece;
                        return text;
                      });
}

rc::Gen<std::string> number() {
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                   [](std::int64_t value) { return std::to_string(value); }),
      rc::gen::element<std::string>("0", "-0", "1.0", "1.00", "1e3", "1E+3", "-1.5e-7", "1e400",
                                    "18446744073709551616", "0.10"));
}

rc::Gen<Tree> scalar() {
  return rc::gen::oneOf(
      rc::gen::map(content(),
                   [](std::string text) { return Tree{JsonKind::string, std::move(text), {}}; }),
      rc::gen::map(number(),
                   [](std::string text) { return Tree{JsonKind::number, std::move(text), {}}; }),
      rc::gen::element(Tree{JsonKind::null, "", {}}, Tree{JsonKind::boolean, "true", {}},
                       Tree{JsonKind::boolean, "false", {}}));
}

/// Leaves out children whose name is taken, and in arrays all names.
Tree container(bool object, std::vector<std::pair<std::string, Tree>> children) {
  Tree tree{object ? JsonKind::object : JsonKind::array, "", {}};
  std::set<std::string> names;
  for (auto& [name, child] : children) {
    if (!object) {
      tree.children.push_back({"", std::move(child)});
    } else if (names.insert(name).second) {
      tree.children.push_back({std::move(name), std::move(child)});
    }
  }
  return tree;
}

rc::Gen<Tree> tree_of_depth(int depth) {
  if (depth == 0) return scalar();
  const auto children = rc::gen::resize(
      12, rc::gen::container<std::vector<std::pair<std::string, Tree>>>(
              rc::gen::pair(rc::gen::resize(6, content()), tree_of_depth(depth - 1))));
  return rc::gen::oneOf(
      scalar(), rc::gen::map(rc::gen::pair(rc::gen::arbitrary<bool>(), children), [](auto pair) {
        return container(pair.first, std::move(pair.second));
      }));
}

class Writer {
 public:
  Writer(std::uint32_t style, bool shuffle) : random_{style}, shuffle_{shuffle} {}

  void write(const Tree& tree) {
    space();
    if (tree.kind == JsonKind::string) {
      write_string(tree.text);
    } else if (tree.kind == JsonKind::object || tree.kind == JsonKind::array) {
      write_children(tree);
    } else {
      text += tree.kind == JsonKind::null ? "null" : tree.text;
    }
    space();
  }

  std::string text;

 private:
  std::minstd_rand random_;
  bool shuffle_;

  bool chance(unsigned of) { return random_() % of == 0; }

  void space() {
    constexpr std::array<const char*, 4> spaces{" ", "\n", "\r\n", "\t"};
    while (chance(5)) text += spaces.at(random_() % spaces.size());
  }

  void write_children(const Tree& tree) {
    const bool object = tree.kind == JsonKind::object;
    auto children = tree.children;
    if (object && shuffle_) std::shuffle(children.begin(), children.end(), random_);
    text += object ? '{' : '[';
    space();
    for (std::size_t index = 0; index < children.size(); ++index) {
      if (index > 0) text += ',';
      if (object) {
        space();
        write_string(children[index].name);
        space();
        text += ':';
      }
      write(children[index].value);
    }
    text += object ? '}' : ']';
  }

  void write_string(const std::string& content) {
    text += '"';
    for (const char character : content) {
      const auto byte = static_cast<unsigned char>(character);
      if (byte < 0x20 || (byte < 0x80 && chance(6))) {
        std::array<char, 7> escape{};
        std::snprintf(escape.data(), escape.size(), chance(2) ? "\\u%04x" : "\\u%04X", byte);
        text += escape.data();
      } else if (character == '"' || character == '\\' || (character == '/' && chance(2))) {
        text += '\\';
        text += character;
      } else {
        text += character;
      }
    }
    text += '"';
  }
};

}  // namespace

rc::Gen<Tree> tree() {
  return tree_of_depth(3);
}

std::string write(const Tree& tree, std::uint32_t style, bool shuffle) {
  Writer writer{style, shuffle};
  writer.write(tree);
  return writer.text;
}

}  // namespace onefold::generator
