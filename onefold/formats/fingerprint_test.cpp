#include "onefold/formats/fingerprint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "onefold/error.h"
#include "onefold/formats/json_generator.h"

namespace onefold {
namespace {

std::string hex(const Fingerprint& fingerprint) {
  std::string text;
  for (const std::uint8_t byte : fingerprint) text += fmt::format("{:02x}", byte);
  return text;
}

Fingerprint of(std::optional<std::string> data, std::string content_type = "") {
  static Fingerprinter fingerprinter;
  Event event;
  event.data = std::move(data);
  event.content_type = std::move(content_type);
  return fingerprinter.of(event);
}

// From FIPS 180: the digests of "abc" and of nothing, cut.
TEST(Fingerprint, Sha256IsSha256) {
  EXPECT_EQ(hex(sha256_128("abc")), "ba7816bf8f01cfea414140de5dae2223");
  EXPECT_EQ(hex(sha256_128("")), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_EQ(hex(sha256_128(std::string(1'000'000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67");
  EXPECT_NE(sha256_128_of_parts({"ab", "c"}), sha256_128_of_parts({"a", "bc"}));
}

// These bytes stand in databases: if this test fails, the code is wrong, not the test.
TEST(Fingerprint, GoldenFingerprints) {
  EXPECT_EQ(hex(of(R"( {"b":[1.0,true,null,"\u00e9"],"a":false} )")),
            "8eeae4dbe9e1ce507860ed79685f0f51");
  EXPECT_EQ(hex(of("abc", "text/plain")), "49e8e7aaf55aa01faa5f6c7ee074e51f");
  EXPECT_EQ(hex(of({})), "559aead08264d5795d3909718cdd05ab");
}

TEST(Fingerprint, B22_OtherDataIsOtherAndReencodedDataIsNot) {
  const Fingerprint ten = of(R"({"id":"k","amount":10})");
  EXPECT_NE(of(R"({"id":"k","amount":99})"), ten);
  EXPECT_EQ(of(R"({"id":"k","amount":10})"), ten);
  EXPECT_EQ(of("{ \"amount\" : 10,\r\n\t\"i\\u0064\" : \"\\u006b\" }"), ten);
}

TEST(Fingerprint, TellsApartWhatLooksAlike) {
  const std::vector<std::string> texts{"1",
                                       "1.0",
                                       "1e0",
                                       "10e-1",
                                       "01e0x",
                                       "\"1\"",
                                       "true",
                                       "\"true\"",
                                       "false",
                                       "null",
                                       "\"null\"",
                                       "\"\"",
                                       "[]",
                                       "{}",
                                       "[[]]",
                                       "[null]",
                                       "[[],[]]",
                                       "[[[]]]",
                                       R"({"":null})",
                                       R"({"":""})",
                                       R"(["",""])",
                                       R"([""])",
                                       R"({"a":1,"b":2})",
                                       R"({"a":2,"b":1})",
                                       R"({"a":{"b":1}})",
                                       R"({"a":{},"b":1})",
                                       R"([{"a":1},{"b":2}])",
                                       R"([{"a":1,"b":2}])",
                                       "[1,2]",
                                       "[2,1]",
                                       "[12]",
                                       R"(["1","2"])",
                                       R"(["12"])",
                                       R"("[1,2]")",
                                       "0",
                                       "-0",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "\"\u00e9\"",
                                       "\"e\u0301\"",
                                       R"("a\u0000")",
                                       R"("a")",
                                       R"("\\u0000")",
                                       "not json",
                                       ""};
  std::set<Fingerprint> seen;
  for (const std::string& text : texts) EXPECT_TRUE(seen.insert(of(text)).second) << text;
}

TEST(Fingerprint, AbsentEmptyAndNullAreThree) {
  EXPECT_NE(of({}), of(""));
  EXPECT_NE(of({}), of("null"));
  EXPECT_NE(of(""), of("null"));
  EXPECT_NE(of({}, "text/plain"), of("", "text/plain"));
}

TEST(Fingerprint, OtherContentGoesByItsBytes) {
  EXPECT_NE(of("[1, 2]", "text/plain"), of("[1,2]", "text/plain"));
  EXPECT_EQ(of("[1, 2]", "application/json"),
            of("[1,2]", "Application/Problem+JSON; charset=utf-8"));
  EXPECT_NE(of("[1,2]", "application/json"), of("[1,2]", "text/plain"));
}

TEST(Fingerprint, ParsedDataGivesTheSame) {
  JsonDocument document;
  ASSERT_TRUE(document.parse(R"({"wrapped": {"b": 1, "a": [2]}})"));
  Fingerprinter fingerprinter;
  EXPECT_EQ(fingerprinter.of({}, *document.root().member("wrapped")), of(R"({"a":[2],"b":1})"));
}

Event event_with(std::string data) {
  Event event;
  event.data = std::move(data);
  return event;
}

TEST(Fingerprint, BytesTellEveryByte) {
  Fingerprinter bytes{{.kind = FingerprintRule::Kind::bytes}};
  EXPECT_EQ(bytes.of(event_with(R"({"a": 1})")), bytes.of(event_with(R"({"a": 1})")));
  EXPECT_NE(bytes.of(event_with(R"({"a": 1})")), bytes.of(event_with(R"({"a":1})")));
  EXPECT_NE(bytes.of(event_with("")), bytes.of(Event{}));
}

TEST(Fingerprint, OffIsAllZero) {
  Fingerprinter off{{.kind = FingerprintRule::Kind::off}};
  EXPECT_EQ(off.of(event_with("1")), Fingerprint{});
  EXPECT_EQ(off.of(Event{}), Fingerprint{});
}

TEST(Fingerprint, WhatIsIgnoredMayDifferOrBeAbsent) {
  Fingerprinter ignoring{{.ignore = {"/attempt", "/meta/sent", "/list/0"}}};
  const auto first =
      ignoring.of(event_with(R"({"a":1,"attempt":1,"meta":{"sent":"x","k":2},"list":[1,2]})"));
  EXPECT_EQ(first,
            ignoring.of(event_with(
                R"({"meta":{"k":2,"sent":{"deep":[1]}},"a":1,"attempt":[9],"list":[{},2]})")));
  EXPECT_EQ(first, ignoring.of(event_with(R"({"a":1,"meta":{"k":2},"list":[1,2]})")));
  EXPECT_NE(first, ignoring.of(event_with(R"({"a":1,"meta":{"k":2},"list":[1,3]})")));
  EXPECT_NE(first, ignoring.of(event_with(R"({"a":1,"k":2,"list":[1,2]})")));
  EXPECT_NE(first, ignoring.of(event_with(R"({"a":{"attempt":1},"meta":{"k":2},"list":[1,2]})")));
}

TEST(Fingerprint, ARuleThatContradictsItselfIsRefused) {
  EXPECT_THROW(Fingerprinter({.kind = FingerprintRule::Kind::bytes, .ignore = {"/a"}}), Error);
  EXPECT_THROW(Fingerprinter({.ignore = {"a"}}), Error);
  EXPECT_THROW(Fingerprinter({.ignore = {""}}), Error);
}

Fingerprint of_fields(std::string_view data, const std::vector<std::string>& pointers) {
  JsonDocument document;
  EXPECT_TRUE(document.parse(data));
  Fingerprinter fingerprinter;
  return fingerprinter.of_fields(document.root(), pointers);
}

TEST(Fingerprint, WhatIsIgnoredIsIgnoredInFieldsToo) {
  Fingerprinter ignoring{{.ignore = {"/meta", "/a/b"}}};
  JsonDocument one;
  JsonDocument other;
  ASSERT_TRUE(one.parse(R"({"meta":{"m":1},"a":{"b":1,"c":1},"metadata":1})"));
  ASSERT_TRUE(other.parse(R"({"meta":{"m":2},"a":{"b":2,"c":1},"metadata":1})"));
  const std::vector<std::string> same{"/meta/m", "/a", "/a/b", "/metadata"};
  EXPECT_EQ(ignoring.of_fields(one.root(), same), ignoring.of_fields(other.root(), same));
  ASSERT_TRUE(other.parse(R"({"meta":{"m":2},"a":{"b":2,"c":1},"metadata":2})"));
  EXPECT_NE(ignoring.of_fields(one.root(), same), ignoring.of_fields(other.root(), same));
}

TEST(Fingerprint, FieldsAloneAreCompared) {
  const std::vector<std::string> pointers{"/amount", "/to/account"};
  const auto first = of_fields(R"({"id":1,"amount":5,"to":{"account":7}})", pointers);
  EXPECT_EQ(first, of_fields(R"({"to":{"account":7,"x":1},"id":2,"amount":5})", pointers));
  EXPECT_NE(first, of_fields(R"({"amount":5,"to":{"account":8}})", pointers));
  EXPECT_NE(first, of_fields(R"({"amount":5,"to":{}})", pointers));
  // A field that is absent is not null, and no field's value can move to another.
  EXPECT_NE(of_fields(R"({"amount":null})", pointers), of_fields("{}", pointers));
  EXPECT_NE(of_fields(R"({"a":1})", {"/a", "/b"}), of_fields(R"({"b":1})", {"/a", "/b"}));
  EXPECT_NE(of_fields(R"({"a":1})", {"/a"}), of_fields(R"({"b":1})", {"/b"}));
}

TEST(Fingerprint, KnowsJsonContentTypes) {
  for (const char* type : {"", " ", "application/json", "APPLICATION/JSON", "text/json",
                           "application/json; charset=utf-8", " application/json\t;x",
                           "application/vnd.github+json", "application/cloudevents+JSON"})
    EXPECT_TRUE(is_json(type)) << type;
  for (const char* type : {"text/plain", "application/jsonx", "application/json+xml", "json",
                           "application/octet-stream", "application/x-json-stream", "+json",
                           "text/plain; application/json"})
    EXPECT_FALSE(is_json(type)) << type;
}

RC_GTEST_PROP(FingerprintProperty, AnotherSpellingIsTheSame,
              (std::uint32_t one, std::uint32_t two)) {
  const generator::Tree tree = *generator::tree();
  RC_ASSERT(of(generator::write(tree, one, true)) == of(generator::write(tree, two, true)));
}

/// All places in a tree, so that one of them can be changed.
void collect(generator::Tree& tree, std::vector<generator::Tree*>& places) {
  places.push_back(&tree);
  for (auto& [name, child] : tree.children) collect(child, places);
}

RC_GTEST_PROP(FingerprintProperty, AnyChangeIsADifference, (std::uint32_t style)) {
  const generator::Tree tree = *generator::tree();
  generator::Tree changed = tree;
  std::vector<generator::Tree*> places;
  collect(changed, places);
  generator::Tree& place = *places[*rc::gen::inRange<std::size_t>(0, places.size())];
  using generator::Tree;
  const std::size_t count = place.children.size();
  if (count > 0 && *rc::gen::arbitrary<bool>()) {
    const auto at = *rc::gen::inRange<std::size_t>(0, count);
    if (place.kind == JsonKind::object && *rc::gen::arbitrary<bool>()) {
      place.children[at].name += '\'';  // No generated name has one: it stays unique.
    } else {
      place.children.erase(place.children.begin() + static_cast<std::ptrdiff_t>(at));
    }
  } else if (place.kind == JsonKind::array || place.kind == JsonKind::object) {
    place.children.push_back({"'", Tree{JsonKind::null, "", {}}});
  } else if (place.kind == JsonKind::string) {
    place.text += 'x';
  } else {
    place = Tree{JsonKind::string, place.text, {}};
  }
  RC_ASSERT(of(generator::write(tree, style)) != of(generator::write(changed, style)));
}

}  // namespace
}  // namespace onefold
