#include "tests/fuzz/deliveries.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

#include "onefold/formats/decoder.h"
#include "tests/fuzz/require.h"

namespace onefold::fuzz {
namespace {

void require_code(std::string_view defect) {
  const std::size_t colon = defect.find(": ");
  require(colon != std::string_view::npos && colon > 0, "a defect is CODE: why");
  require(defect.substr(0, colon).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
              std::string_view::npos,
          "the code of a defect is one upper-case word");
  require(std::ranges::all_of(defect, [](char byte) { return byte >= 0x20 && byte < 0x7F; }),
          "a defect is plain text: it holds none of the event's bytes");
}

class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_{seed} {}

  /// Recursive, as deep as the document, which has a limit.
  void write(const JsonValue& value) {
    space();
    switch (value.kind()) {
      case JsonKind::array:
      case JsonKind::object:
        write_children(value);
        break;
      case JsonKind::string:
        write_string(value.text());
        break;
      default:
        text += value.raw();
    }
    space();
  }

  std::string text;

 private:
  std::minstd_rand random_;

  bool chance(unsigned of) { return random_() % of == 0; }

  void space() {
    constexpr std::array<const char*, 4> spaces{" ", "\n", "\r\n", "\t"};
    while (chance(6)) text += spaces.at(random_() % spaces.size());
  }

  void write_children(const JsonValue& value) {
    const bool object = value.kind() == JsonKind::object;
    std::vector<JsonValue> children;
    for (auto child = value.first(); child; child = child->next()) children.push_back(*child);
    if (object) std::shuffle(children.begin(), children.end(), random_);
    text += object ? '{' : '[';
    bool first = true;
    for (const JsonValue& child : children) {
      if (!first) text += ',';
      first = false;
      if (object) {
        space();
        write_string(child.name());
        space();
        text += ':';
      }
      write(child);
    }
    space();
    text += object ? '}' : ']';
  }

  void write_string(std::string_view content) {
    text += '"';
    for (const char character : content) {
      const auto byte = static_cast<unsigned char>(character);
      if (byte < 0x20 || (byte < 0x80 && chance(6))) {
        std::array<char, 7> escape{};
        std::snprintf(escape.data(), escape.size(), chance(2) ? "\\u%04x" : "\\u%04X",
                      static_cast<unsigned>(byte));
        text += escape.data();
      } else {
        if (character == '"' || character == '\\') text += '\\';
        text += character;
      }
    }
    text += '"';
  }
};

}  // namespace

void require_sound(const Delivery& delivery, std::string_view bytes) {
  require(delivery.raw == bytes, "the bytes are kept");
  const Event& event = delivery.event;
  if (!delivery.defect.empty()) return require_code(delivery.defect);
  require(event.id.find_first_not_of(" \t\r\n") != std::string::npos, "there is an id");
  require(event.id.size() <= DecodeLimits{}.id_bytes_max, "the id is within its limit");
  require(!event.source.empty() && !event.type.empty(), "there are a source and a type");
  for (const std::string* text :
       {&event.id, &event.source, &event.type, &event.subject, &event.content_type}) {
    require(text->find('\0') == std::string::npos, "no attribute holds U+0000");
  }
}

bool same(const Delivery& one, const Delivery& other) {
  const Event& a = one.event;
  const Event& b = other.event;
  return one.raw == other.raw && one.defect == other.defect && a.id == b.id &&
         a.source == b.source && a.type == b.type && a.subject == b.subject && a.time == b.time &&
         a.content_type == b.content_type && a.headers == b.headers && a.data == b.data;
}

std::string rewritten(const JsonValue& value, std::uint32_t seed) {
  Writer writer{seed};
  writer.write(value);
  return writer.text;
}

std::uint32_t seed_of(std::string_view bytes) {
  std::uint32_t seed = 2166136261U;
  for (const char byte : bytes) seed = (seed ^ static_cast<unsigned char>(byte)) * 16777619U;
  return seed;
}

}  // namespace onefold::fuzz
