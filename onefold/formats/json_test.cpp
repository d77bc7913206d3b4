#include "onefold/formats/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "onefold/formats/json_generator.h"

namespace onefold {
namespace {

using namespace std::string_literals;

std::string code_of(const JsonDocument& document) {
  return document.defect().substr(0, document.defect().find(':'));
}

struct Refused {
  const char* name;
  std::string text;
  const char* code;
};

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  while (count-- > 0) text += piece;
  return text;
}

std::vector<Refused> refused_structures() {
  return {
      {"empty", "", "BAD_JSON"},
      {"only white space", " \n\t\r", "BAD_JSON"},
      {"a raw NUL", "\0"s, "BAD_JSON"},
      {"a raw NUL behind", "{}\0"s, "BAD_JSON"},
      {"a raw NUL in a string", "{\"a\":\"\0\"}"s, "BAD_JSON"},
      {"a raw line feed in a string", "[\"a\nb\"]", "BAD_JSON"},
      {"NaN", R"({"a":NaN})", "BAD_JSON"},
      {"Infinity", "[Infinity]", "BAD_JSON"},
      {"minus Infinity", "[-Infinity]", "BAD_JSON"},
      {"line comment", "[1 // one\n]", "BAD_JSON"},
      {"block comment", "[1 /* one */]", "BAD_JSON"},
      {"trailing comma in an array", "[1,]", "BAD_JSON"},
      {"trailing comma in an object", R"({"a":1,})", "BAD_JSON"},
      {"leading comma", "[,1]", "BAD_JSON"},
      {"two commas", "[1,,2]", "BAD_JSON"},
      {"only a comma", "[,]", "BAD_JSON"},
      {"missing comma", "[1 2]", "BAD_JSON"},
      {"missing comma between strings", R"(["a""b"])", "BAD_JSON"},
      {"letters behind a string", R"(["a"b])", "BAD_JSON"},
      {"number behind a string", R"(["a"1])", "BAD_JSON"},
      {"string behind a number", R"([1"a"])", "BAD_JSON"},
      {"trailing garbage", "{} x", "BAD_JSON"},
      {"trailing bracket", "{}}", "BAD_JSON"},
      {"two documents", "{}{}", "BAD_JSON"},
      {"two documents on two lines", "{}\n{}", "BAD_JSON"},
      {"two scalars", "1 2", "BAD_JSON"},
      {"unclosed array", "[1", "BAD_JSON"},
      {"unclosed object", R"({"a":1)", "BAD_JSON"},
      {"ends behind a colon", R"({"a":)", "BAD_JSON"},
      {"ends behind a name", R"({"a")", "BAD_JSON"},
      {"ends behind a comma", R"({"a":1,)", "BAD_JSON"},
      {"unclosed string", R"({"a":"b)", "BAD_JSON"},
      {"string that ends in an escaped quote", R"(["a\"])", "BAD_JSON"},
      {"wrong bracket", "[1}", "BAD_JSON"},
      {"wrong bracket of an object", R"({"a":1])", "BAD_JSON"},
      {"only a closing bracket", "]", "BAD_JSON"},
      {"colon in an array", "[1:2]", "BAD_JSON"},
      {"missing colon", R"({"a" 1})", "BAD_JSON"},
      {"comma for a colon", R"({"a",1})", "BAD_JSON"},
      {"missing value", R"({"a":})", "BAD_JSON"},
      {"name that is a number", "{1:2}", "BAD_JSON"},
      {"name without quotes", "{a:2}", "BAD_JSON"},
      {"single quotes", "{'a':2}", "BAD_JSON"},
      {"form feed as white space", "[1\f]", "BAD_JSON"},
      {"vertical tab as white space", "[\v1]", "BAD_JSON"},
      {"substitute character as a colon",
       "{\"a\"\x1a"
       "1}",
       "BAD_JSON"},
  };
}

std::vector<Refused> refused_tokens() {
  return {
      {"byte order mark", "\xEF\xBB\xBF{}", "BAD_JSON"},
      {"capital literal", "[True]", "BAD_JSON"},
      {"cut literal", "[tru]", "BAD_JSON"},
      {"long literal", "[nulll]", "BAD_JSON"},
      {"literal with a tail", "[null1]", "BAD_JSON"},
      {"leading zero", "[01]", "BAD_JSON"},
      {"minus leading zero", "[-01]", "BAD_JSON"},
      {"leading plus", "[+1]", "BAD_JSON"},
      {"leading point", "[.5]", "BAD_JSON"},
      {"trailing point", "[1.]", "BAD_JSON"},
      {"point and exponent", "[1.e5]", "BAD_JSON"},
      {"empty exponent", "[1e]", "BAD_JSON"},
      {"signed empty exponent", "[1e+]", "BAD_JSON"},
      {"two exponents", "[1e5e5]", "BAD_JSON"},
      {"only a minus", "[-]", "BAD_JSON"},
      {"two minuses", "[--1]", "BAD_JSON"},
      {"hexadecimal", "[0x1]", "BAD_JSON"},
      {"space in a number", "[1 .5]", "BAD_JSON"},
      {"bytes of another format", "\x00\x01\x02\x03\x04"s, "BAD_JSON"},
  };
}

std::vector<Refused> refused_strings() {
  return {
      {"invalid UTF-8", "{\"a\":\"\xff\"}", "BAD_UTF8"},
      {"cut UTF-8", "{\"a\":\"\xc3\"}", "BAD_UTF8"},
      {"overlong slash", "{\"a\":\"\xc0\xaf\"}", "BAD_UTF8"},
      {"surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", "BAD_UTF8"},
      {"beyond Unicode", "{\"a\":\"\xf4\x90\x80\x80\"}", "BAD_UTF8"},
      {"Latin-1", "{\"a\":\"caf\xe9\"}", "BAD_UTF8"},
      {"lone high surrogate", R"({"a":"\ud83d"})", "BAD_ESCAPE"},
      {"lone low surrogate", R"({"a":"\ude00"})", "BAD_ESCAPE"},
      {"two high surrogates", R"({"a":"\ud83d\ud83d"})", "BAD_ESCAPE"},
      {"surrogates in the wrong order", R"({"a":"\ude00\ud83d"})", "BAD_ESCAPE"},
      {"high surrogate before a letter", R"({"a":"\ud83dx"})", "BAD_ESCAPE"},
      {"high surrogate before an escape", R"({"a":"\ud83d\n"})", "BAD_ESCAPE"},
      {"lone surrogate in a name", R"({"\ud83d":1})", "BAD_ESCAPE"},
      {"unknown escape", R"(["\x41"])", "BAD_ESCAPE"},
      {"escaped quote of another language", R"(["\'"])", "BAD_ESCAPE"},
      {"cut \\u", R"(["\u12"])", "BAD_ESCAPE"},
      {"\\u with a letter", R"(["\u12g4"])", "BAD_ESCAPE"},
      {"duplicate name", R"({"a":1,"a":1})", "DUPLICATE_KEY"},
      {"duplicate name, escaped", R"({"a":1,"\u0061":2})", "DUPLICATE_KEY"},
      {"duplicate empty name", R"({"":1,"":2})", "DUPLICATE_KEY"},
      {"duplicate name below", R"([{"x":{"a":1,"b":[],"a":{}}}])", "DUPLICATE_KEY"},
  };
}

std::vector<Refused> refused_sizes() {
  return {
      {"65 arrays", repeated("[", 65) + repeated("]", 65), "TOO_DEEP"},
      {"100,000 arrays", repeated("[", 100'000) + repeated("]", 100'000), "TOO_DEEP"},
      {"a million brackets", repeated("[", 1'000'000), "TOO_DEEP"},
      {"100,000 objects", repeated(R"({"a":)", 100'000), "TOO_DEEP"},
      {"a number of 1,025 digits", "[" + repeated("1", 1025) + "]", "NUMBER_TOO_LONG"},
      {"a number of a million digits", repeated("1", 1'000'000), "NUMBER_TOO_LONG"},
  };
}

TEST(Json, RefusesWhatParsersDisagreeAbout) {
  JsonDocument document;  // One for all: no text may leave anything behind.
  for (const auto& table :
       {refused_structures(), refused_tokens(), refused_strings(), refused_sizes()}) {
    for (const Refused& refused : table) {
      EXPECT_FALSE(document.parse(refused.text)) << refused.name;
      EXPECT_EQ(code_of(document), refused.code) << refused.name << ": " << document.defect();
      EXPECT_TRUE(document.parse(R"({"fine":[1]})")) << "after " << refused.name;
    }
  }
}

TEST(Json, AnOpenStringIsNamedByItsQuote) {
  JsonDocument document;
  for (const auto& [text, at] :
       {std::pair{R"({"a":"b)", "byte 5"}, {R"(["a\"b", "c\"])", "byte 9"}, {"\"", "byte 0"}}) {
    EXPECT_FALSE(document.parse(text));
    EXPECT_TRUE(document.defect().ends_with(at)) << text << ' ' << document.defect();
  }
}

TEST(Json, AcceptsEveryKindAsTheWholeText) {
  JsonDocument document;
  for (const char* text : {"null", "true", "false", "0", "-0", "1.5e+10", "\"\"", "[]", "{}"}) {
    for (const std::string& around : {""s, " "s, "\r\n\t "s}) {
      ASSERT_TRUE(document.parse(around + text + around)) << text << document.defect();
      EXPECT_EQ(document.root().raw(), text);
      EXPECT_FALSE(document.root().next());
      EXPECT_FALSE(document.root().first());
    }
  }
}

TEST(Json, AcceptsTheLimitsThemselves) {
  JsonDocument document;
  EXPECT_TRUE(document.parse(repeated("[", 64) + repeated("]", 64)));
  EXPECT_TRUE(document.parse("[" + repeated("1", 1024) + "]"));
  JsonDocument narrow{{.depth_max = 1, .number_bytes_max = 2}};
  EXPECT_FALSE(narrow.parse("[12,[]]"));
  EXPECT_EQ(code_of(narrow), "TOO_DEEP");
  EXPECT_TRUE(narrow.parse("[12,34]"));
  EXPECT_FALSE(narrow.parse("[123]"));
}

TEST(Json, KeepsNumbersAsTheirDigits) {
  JsonDocument document;
  for (const char* token : {"9007199254740993", "18446744073709551616", "1.0", "1e400", "-0",
                            "0.1000000000000000055511151231257827", "1E-0"}) {
    ASSERT_TRUE(document.parse("[ "s + token + " ]"));
    EXPECT_EQ(document.root().first()->kind(), JsonKind::number);
    EXPECT_EQ(document.root().first()->raw(), token);
  }
}

TEST(Json, B11_EscapesAreReadAndEscapedBackslashesAreNot) {
  JsonDocument document;
  ASSERT_TRUE(document.parse(R"({"a":"x\u0000y","b":"\\u0000","c":"\ud83d\ude00\u00e9\u20ac",
                                 "d":"\"\\\/\b\f\n\r\t","\u0000":1})"))
      << document.defect();
  EXPECT_EQ(document.root().member("a")->text(), "x\0y"s);
  EXPECT_EQ(document.root().member("b")->text(), "\\u0000");
  EXPECT_EQ(document.root().member("b")->raw(), R"("\\u0000")");
  EXPECT_EQ(document.root().member("c")->text(), "😀é€");
  EXPECT_EQ(document.root().member("d")->text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(document.root().member("\0"s)->raw(), "1");
}

TEST(Json, ManyMembersAreNotQuadratic) {
  std::string text = "{";
  for (int number = 0; number < 100'000; ++number) text += "\"k" + std::to_string(number) + "\":0,";
  JsonDocument document;
  EXPECT_TRUE(document.parse(text + "\"last\":0}")) << document.defect();
  EXPECT_FALSE(document.parse(text + "\"k50000\":0}"));
  EXPECT_EQ(code_of(document), "DUPLICATE_KEY");
}

TEST(Json, SameNameInTwoObjectsIsNoDuplicate) {
  JsonDocument document;
  EXPECT_TRUE(document.parse(R"([{"a":{"a":{"a":1}}},{"a":2}])")) << document.defect();
}

TEST(Json, PointersFollowRfc6901) {
  JsonDocument document;
  ASSERT_TRUE(document.parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8," ":7,
                                 "~1":9,"01":{"0":{"x":[[],[3]]}}})"));
  const JsonValue root = document.root();
  const auto raw = [&](std::string_view pointer) {
    EXPECT_EQ(pointer_defect(pointer), "");
    const auto value = root.at(pointer);
    return value ? std::string{value->raw()} : "absent";
  };
  EXPECT_EQ(raw(""), root.raw());
  EXPECT_EQ(raw("/foo"), R"(["bar","baz"])");
  EXPECT_EQ(raw("/foo/0"), R"("bar")");
  EXPECT_EQ(raw("/foo/1"), R"("baz")");
  EXPECT_EQ(raw("/"), "0");
  EXPECT_EQ(raw("/a~1b"), "1");
  EXPECT_EQ(raw("/c%d"), "2");
  EXPECT_EQ(raw("/m~0n"), "8");
  EXPECT_EQ(raw("/ "), "7");
  EXPECT_EQ(raw("/~01"), "9");
  EXPECT_EQ(raw("/01/0/x/1/0"), "3");
  for (const char* nowhere :
       {"/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/-1", "/foo/0/x", "/fo", "/foo/", "//",
        "/foo/99999999999999999999", "/foo/1e0", "/m~0", "/m~0nn"})
    EXPECT_EQ(raw(nowhere), "absent") << nowhere;
  for (const char* wrong : {"foo", "#/foo", "/a~", "/a~2", "/~/x"})
    EXPECT_NE(pointer_defect(wrong), "") << wrong;
}

/// Compares a parsed value with the tree that it was written from.
void expect_same(const JsonValue& value, const generator::Tree& tree) {
  RC_ASSERT(value.kind() == tree.kind);
  if (tree.kind == JsonKind::string) RC_ASSERT(value.text() == tree.text);
  if (tree.kind == JsonKind::number) RC_ASSERT(value.raw() == tree.text);
  if (tree.kind == JsonKind::boolean) RC_ASSERT(value.is_true() == (tree.text == "true"));
  auto child = value.first();
  for (const auto& [name, subtree] : tree.children) {
    RC_ASSERT(child.has_value());
    RC_ASSERT(child->name() == name);
    expect_same(*child, subtree);
    child = child->next();
  }
  RC_ASSERT(!child.has_value());
}

RC_GTEST_PROP(JsonProperty, ReadsWhatAWriterWrote, ()) {
  const generator::Tree tree = *generator::tree();
  const std::string text = generator::write(tree, *rc::gen::arbitrary<std::uint32_t>());
  static JsonDocument document;
  if (!document.parse(text)) RC_FAIL(document.defect());
  expect_same(document.root(), tree);
}

RC_GTEST_PROP(JsonProperty, CutTextsAreRefused, ()) {
  const generator::Tree tree = *generator::tree();
  RC_PRE(tree.kind >= JsonKind::string);  // A cut number can be a number.
  const std::string text = generator::write(tree, *rc::gen::arbitrary<std::uint32_t>());
  const std::size_t end = text.find_last_of("\"]}");
  static JsonDocument document;
  RC_ASSERT(!document.parse(text.substr(0, *rc::gen::inRange<std::size_t>(0, end + 1))));
}

/// Tokens and halves of tokens in any order: mostly refused, now and then a text.
rc::Gen<std::string> near_json() {
  const auto piece = rc::gen::element<std::string>(
      "{", "}", "[", "]", ":", ",", "\"", "\\", "\"a\"", "\"b\":", "\"\\u0041\":", "1", "-", "e5",
      ".", "0", "null", "true", "false", "\\u", "d83d", "\\ud83d\\ude00", " ", "\n", "\0"s, "\xff",
      "\xc3\xa9", "\x1a", "\x0c", "/");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& each : pieces) text += each;
                        return text;
                      });
}

/// A valid text in which one byte was replaced, removed or doubled.
rc::Gen<std::string> damaged_json() {
  return rc::gen::exec([] {
    std::string text = generator::write(*generator::tree(), *rc::gen::arbitrary<std::uint32_t>());
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto byte = *rc::gen::elementOf("{}[]:,\"\\ \n\x01\x80\xc3-+.0eEtnu/"s);
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, 1, byte);
    }
    return text;
  });
}

/// Whether three digits follow an 'e', maybe behind a sign.
bool has_large_exponent(std::string_view text) {
  for (std::size_t at = text.find_first_of("eE"); at != std::string_view::npos;
       at = text.find_first_of("eE", at + 1)) {
    std::string_view digits = text.substr(at + 1);
    if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
    if (std::min(digits.find_first_not_of("0123456789"), digits.size()) >= 3) return true;
  }
  return false;
}

RC_GTEST_PROP(JsonProperty, AgreesWithAnotherParser, ()) {
  const std::string text = *rc::gen::oneOf(near_json(), damaged_json());
  static JsonDocument document;
  const bool accepted = document.parse(text);
  RC_ASSERT(accepted == document.defect().empty());
  // The other one knows nothing of duplicates, and refuses what a double cannot hold. It takes a
  // NUL for the end, which RefusesWhatParsersDisagreeAbout covers.
  if (code_of(document) == "DUPLICATE_KEY" || text.find('\0') != std::string::npos ||
      has_large_exponent(text))
    return;
  RC_ASSERT(accepted == nlohmann::json::accept(text));
}

}  // namespace
}  // namespace onefold
