#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "onefold/error.h"
#include "onefold/formats/decoder.h"
#include "onefold/formats/fields.h"
#include "onefold/formats/fingerprint.h"
#include "tests/fuzz/deliveries.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/targets.h"

namespace onefold::fuzz {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

void add_text(std::string& content, char mark, std::string_view text) {
  content += mark;
  content += std::to_string(text.size());
  content += ':';
  content += text;
}

/// The content of a text as another parser reads it, and what it has beyond our limits.
class Witness final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add("n"); }
  bool boolean(bool value) override { return add(value ? "t" : "f"); }
  bool number_integer(std::int64_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(std::to_string(value)); }
  bool number_float(double /*value*/, const std::string& token) override { return number(token); }
  bool string(std::string& value) override {
    add_text(content, '"', value);
    return true;
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open("{"); }
  bool key(std::string& name) override {
    duplicate |= !names_.back().insert(name).second;
    add_text(content, 'k', name);
    return true;
  }
  bool end_object() override { return close("}"); }
  bool start_array(std::size_t /*size*/) override { return open("["); }
  bool end_array() override { return close("]"); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    overflow = error.id == 406;
    return false;
  }

  std::string content;
  bool duplicate = false;
  bool too_deep = false;
  bool too_long = false;
  bool overflow = false;  ///< It gave up at a number that no double can hold.

 private:
  bool add(const char* mark) {
    content += mark;
    return true;
  }
  bool number(const std::string& token) {
    too_long |= token.size() > JsonLimits{}.number_bytes_max;
    add_text(content, '#', token);
    return true;
  }
  bool open(const char* mark) {
    names_.emplace_back();
    too_deep |= names_.size() > JsonLimits{}.depth_max;
    return add(mark);
  }
  bool close(const char* mark) {
    names_.pop_back();
    return add(mark);
  }

  std::vector<std::set<std::string>> names_;
};

void add_content(std::string& content, const JsonValue& value) {
  switch (value.kind()) {
    case JsonKind::null:
      content += 'n';
      return;
    case JsonKind::boolean:
      content += value.is_true() ? 't' : 'f';
      return;
    case JsonKind::number:
      // The witness reads an integer before it tells it.
      return add_text(content, '#', value.raw() == "-0" ? "0" : value.raw());
    case JsonKind::string:
      return add_text(content, '"', value.text());
    case JsonKind::array:
      content += '[';
      for (auto child = value.first(); child; child = child->next()) add_content(content, *child);
      content += ']';
      return;
    case JsonKind::object:
      content += '{';
      for (auto child = value.first(); child; child = child->next()) {
        add_text(content, 'k', child->name());
        add_content(content, *child);
      }
      content += '}';
  }
}

/// Two parsers agree about what is JSON, and about what it says.
void compare(std::string_view text, const JsonDocument& document, bool accepted) {
  // The witness skips a byte order mark, and takes a zero byte for the end.
  if (text.starts_with(byte_order_mark) || text.find('\0') != std::string_view::npos) {
    return require(!accepted, "neither a byte order mark nor a zero byte is JSON");
  }
  Witness witness;
  const bool valid = nlohmann::json::sax_parse(text, &witness);
  if (witness.overflow) return;
  const bool within_limits = !witness.duplicate && !witness.too_deep && !witness.too_long;
  require(accepted == (valid && within_limits), "accepted exactly if valid and within the limits");
  if (!accepted) return;
  std::string content;
  add_content(content, document.root());
  require(content == witness.content, "the content is the same");
}

void check_fields(const Event& event, const JsonValue& root) {
  constexpr std::array pointers{"", "/id", "/a", "/a/0", "/a/b", "/0", "/~1", "/"};
  const Fields fields{event};
  for (const char* pointer : pointers) {
    for (int type = 0; type <= static_cast<int>(FieldType::json); ++type) {
      try {
        const auto value = extract(root, pointer, static_cast<FieldType>(type));
        const auto place = root.at(pointer);
        const bool absent = !place || place->kind() == JsonKind::null;
        require(value.has_value() != absent, "absent exactly if missing or null");
        const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
        if (number != nullptr && place->raw() != "-0") {
          require(std::to_string(*number) == place->raw(), "an integer keeps its digits");
        }
        static_cast<void>(fields.optional_value(pointer, static_cast<FieldType>(type)));
      } catch (const Error& error) {
        require(error.kind() == ErrorKind::permanent, "a field's fault is the event's");
      }
    }
  }
  if (const auto pointer = root.at("/pointer"); pointer && pointer->kind() == JsonKind::string) {
    if (pointer_defect(pointer->text()).empty()) static_cast<void>(root.at(pointer->text()));
  }
}

void check_fingerprint(const Event& event, const JsonValue& root, std::string_view text) {
  static const std::vector<std::string> pointers{"/id", "/a/0", "/a/b", "/~1"};
  static Fingerprinter whole;
  static Fingerprinter without{{.ignore = pointers}};
  Event again = event;
  again.data = rewritten(root, seed_of(text));
  JsonDocument document;
  require(document.parse(*again.data), "what was written anew can be read");
  require(whole.of(event) == whole.of(again),
          "the fingerprint does not depend on how the data is written");
  require(whole.of(event) == whole.of(event, root), "nor on who has parsed it");
  require(without.of(event) == without.of(again), "also without some of it");
  require(whole.of_fields(root, pointers) == whole.of_fields(document.root(), pointers),
          "also of some of it");
}

void decode(std::string_view text, const IdentityRule& rule, Decoder& used) {
  Delivery reused;
  reused.event.headers.emplace_back("left", "over");
  reused.defect = "LEFT: over";
  reused.event.data = "left over";
  used.decode(text, reused);
  require_sound(reused, text);
  require(!reused.defect.empty() || reused.event.data.has_value(), "the object is the data");
  Delivery fresh;
  open_json_decoder(rule)->decode(text, fresh);
  require(same(fresh, reused), "nothing of an earlier event is left");
}

const IdentityRule& by_name() {
  static const IdentityRule rule{
      .id = "/id", .source = "/source", .type = "/type", .subject = "/subject", .time = "/time"};
  return rule;
}

const IdentityRule& by_number() {
  static const IdentityRule rule{
      .id = "/a/0", .source = "literal:s", .type = "literal:t", .id_type = IdType::integer};
  return rule;
}

}  // namespace

void json(std::string_view bytes) {
  static const auto named = open_json_decoder(by_name());
  static const auto numbered = open_json_decoder(by_number());
  decode(bytes, by_name(), *named);
  decode(bytes, by_number(), *numbered);
  JsonDocument document;
  const bool accepted = document.parse(bytes);
  compare(bytes, document, accepted);
  if (!accepted) return;
  Event event;
  event.data = bytes;
  check_fields(event, document.root());
  check_fingerprint(event, document.root(), bytes);
}

}  // namespace onefold::fuzz
