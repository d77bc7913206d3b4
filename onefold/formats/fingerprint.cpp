#include "onefold/formats/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "onefold/error.h"

namespace onefold {
namespace {

// What is hashed, so that no two different data read alike. First what kind of data it is, then for
// JSON one byte that tells the kind of each value; texts are preceded by their length, arrays and
// objects are followed by an end mark. This is a file format: fingerprints are compared with stored
// ones.
constexpr char absent_mark = 'A';
constexpr char bytes_mark = 'B';
constexpr char json_mark = 'J';
constexpr char fields_mark = 'F';
constexpr char null_mark = 'n';
constexpr char true_mark = 't';
constexpr char false_mark = 'f';
constexpr char number_mark = '#';
constexpr char string_mark = '"';
constexpr char array_mark = '[';
constexpr char array_end_mark = ']';
constexpr char object_mark = '{';
constexpr char object_end_mark = '}';

char lower(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character | 0x20) : character;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_text) {
  return std::equal(text.begin(), text.end(), lower_text.begin(), lower_text.end(),
                    [](char one, char other) { return lower(one) == other; });
}

}  // namespace

bool is_json(std::string_view content_type) noexcept {
  content_type = content_type.substr(0, content_type.find(';'));
  const std::size_t first = content_type.find_first_not_of(" \t");
  if (first == std::string_view::npos) return true;
  content_type.remove_prefix(first);
  content_type = content_type.substr(0, content_type.find_last_not_of(" \t") + 1);
  constexpr std::string_view suffix = "+json";
  return equals_ignoring_case(content_type, "application/json") ||
         equals_ignoring_case(content_type, "text/json") ||
         (content_type.size() > suffix.size() &&
          equals_ignoring_case(content_type.substr(content_type.size() - suffix.size()), suffix));
}

struct Fingerprinter::State {
  FingerprintRule rule;
  JsonDocument document;
  std::vector<const char*> ignored;  ///< Where the values begin that do not count.
  std::string text;                  ///< What will be hashed.
  std::vector<JsonValue> members;    ///< Of all objects that are being written, innermost last.

  Fingerprint of_bytes(const Event& event) {
    if (!event.data) return sha256_128({&absent_mark, 1});
    text.assign(1, bytes_mark);
    text.append(*event.data);
    return sha256_128(text);
  }

  void write_text(char mark, std::string_view content) {
    text.push_back(mark);
    for (int shift = 24; shift >= 0; shift -= 8)
      text.push_back(static_cast<char>(content.size() >> shift));
    text.append(content);
  }

  /// No two values begin at the same byte, but for one within another's first, which has a bracket
  /// before it.
  bool counts(const JsonValue& value) const {
    return ignored.empty() || std::ranges::find(ignored, value.raw().data()) == ignored.end();
  }

  /// Whether a pointer leads into something that does not count.
  bool is_ignored(std::string_view pointer) const {
    return std::ranges::any_of(rule.ignore, [&](const std::string& ignore) {
      return pointer.starts_with(ignore) &&
             (pointer.size() == ignore.size() || pointer[ignore.size()] == '/');
    });
  }

  void ignore_in(const JsonValue& data) {
    ignored.clear();
    for (const std::string& pointer : rule.ignore) {
      if (const auto value = data.at(pointer)) ignored.push_back(value->raw().data());
    }
  }

  /// Recursive, as deep as the document, which has a limit.
  void write(const JsonValue& value) {
    switch (value.kind()) {
      case JsonKind::null:
        text.push_back(null_mark);
        break;
      case JsonKind::boolean:
        text.push_back(value.is_true() ? true_mark : false_mark);
        break;
      case JsonKind::number:
        write_text(number_mark, value.raw());
        break;
      case JsonKind::string:
        write_text(string_mark, value.text());
        break;
      case JsonKind::array:
        text.push_back(array_mark);
        for (auto element = value.first(); element; element = element->next()) {
          if (counts(*element)) write(*element);
        }
        text.push_back(array_end_mark);
        break;
      case JsonKind::object:
        write_object(value);
        break;
    }
  }

  void write_object(const JsonValue& object) {
    const std::size_t begin = members.size();
    for (auto member = object.first(); member; member = member->next()) {
      if (counts(*member)) members.push_back(*member);
    }
    const std::size_t end = members.size();
    std::sort(
        members.begin() + static_cast<std::ptrdiff_t>(begin), members.end(),
        [](const JsonValue& one, const JsonValue& other) { return one.name() < other.name(); });
    text.push_back(object_mark);
    for (std::size_t index = begin; index < end; ++index) {
      const JsonValue member = members[index];  // Writing it may move the others.
      write_text(string_mark, member.name());
      write(member);
    }
    text.push_back(object_end_mark);
    members.resize(begin, object);
  }
};

Fingerprinter::Fingerprinter(FingerprintRule rule) : state_{std::make_unique<State>()} {
  for (const std::string& pointer : rule.ignore) {
    const std::string defect = pointer_defect(pointer);
    if (pointer.empty() || !defect.empty()) {
      throw Error{ErrorKind::bad_configuration,
                  "fingerprint: what is ignored must be a JSON Pointer to a part of the data"};
    }
  }
  if (!rule.ignore.empty() && rule.kind != FingerprintRule::Kind::canonical) {
    throw Error{ErrorKind::bad_configuration,
                "fingerprint: only a canonical fingerprint can ignore parts of the data"};
  }
  state_->rule = std::move(rule);
}
Fingerprinter::~Fingerprinter() = default;

Fingerprint Fingerprinter::of(const Event& event) {
  // Bytes that only claim to be JSON are as good as any others.
  if (state_->rule.kind == FingerprintRule::Kind::canonical && event.data &&
      is_json(event.content_type) && state_->document.parse(*event.data)) {
    return of(event, state_->document.root());
  }
  if (state_->rule.kind == FingerprintRule::Kind::off) return {};
  return state_->of_bytes(event);
}

Fingerprint Fingerprinter::of(const Event& event, const JsonValue& data) {
  if (state_->rule.kind == FingerprintRule::Kind::off) return {};
  if (state_->rule.kind == FingerprintRule::Kind::bytes) return state_->of_bytes(event);
  state_->text.assign(1, json_mark);
  state_->ignore_in(data);
  state_->write(data);
  return sha256_128(state_->text);
}

Fingerprint Fingerprinter::of_fields(const JsonValue& data, std::span<const std::string> pointers) {
  if (state_->rule.kind == FingerprintRule::Kind::off) return {};
  state_->text.assign(1, fields_mark);
  state_->ignore_in(data);
  for (const std::string& pointer : pointers) {
    const auto value = data.at(pointer);
    state_->write_text(string_mark, pointer);
    if (value && !state_->is_ignored(pointer)) {
      state_->write(*value);
    } else {
      state_->text.push_back(absent_mark);
    }
  }
  return sha256_128(state_->text);
}

}  // namespace onefold
