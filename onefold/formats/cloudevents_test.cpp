#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "onefold/formats/decoder.h"
#include "onefold/formats/hostile_inputs.h"
#include "onefold/formats/json_generator.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

using hostile::code_of;
using namespace std::string_literals;

Delivery decode_cloudevents(std::string_view bytes, DecodeLimits limits = {}) {
  Delivery delivery;
  open_cloudevents_decoder(limits)->decode(bytes, delivery);
  return delivery;
}

/// A valid event with other or additional members: `"id":1` replaces the id, `-"id"` removes it.
std::string cloudevent(const std::string& changes) {
  std::string text = "{";
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"\"specversion\"", "\"1.0\""},
                                                        {"\"id\"", "\"e1\""},
                                                        {"\"source\"", "\"/shop\""},
                                                        {"\"type\"", "\"order.confirmed\""}}) {
    if (changes.find(name) == std::string::npos) text += name + ":" + value + ",";
  }
  if (changes.starts_with('-') || changes.empty()) {
    text.pop_back();
  } else {
    text += changes;
  }
  return text + "}";
}

std::vector<hostile::Input> hostile_texts() {
  std::string deep;
  for (int count = 0; count < 100'000; ++count) deep += '[';
  return {
      {"nothing", "", "BAD_JSON"},
      {"a string", "\"x\"", "NOT_AN_OBJECT"},
      {"a number", "1", "NOT_AN_OBJECT"},
      {"null", "null", "NOT_AN_OBJECT"},
      {"an array of events", "[{}]", "NOT_AN_OBJECT"},
      {"depth 100,000", deep, "TOO_DEEP"},
      {"depth 100,000 inside", cloudevent("\"data\":" + deep), "TOO_DEEP"},
      {"a number of 1,000,000 digits", cloudevent("\"data\":" + std::string(1'000'000, '7')),
       "NUMBER_TOO_LONG"},
      {"a string of 1 MiB", cloudevent("\"data\":\"" + std::string(1 << 20, 'x') + "\""),
       "TOO_LARGE"},
      {"NaN", cloudevent("\"data\":NaN"), "BAD_JSON"},
      {"a comment", cloudevent("\"data\":1/* one */"), "BAD_JSON"},
      {"a trailing comma", cloudevent("\"data\":1,"), "BAD_JSON"},
      {"trailing garbage", cloudevent("") + "x", "BAD_JSON"},
      {"two events", cloudevent("") + cloudevent(""), "BAD_JSON"},
      {"two ids", cloudevent("\"x\":1,\"id\":\"a\",\"id\":\"b\""), "DUPLICATE_KEY"},
      {"two ids, one escaped", cloudevent("\"id\":\"a\",\"\\u0069d\":\"b\""), "DUPLICATE_KEY"},
      {"two members in the data", cloudevent(R"("data":{"a":1,"a":2})"), "DUPLICATE_KEY"},
      {"a raw NUL", cloudevent("\"data\":\"\0\""s), "BAD_JSON"},
      {"a byte order mark", "\xEF\xBB\xBF" + cloudevent(""), "BAD_JSON"},
      {"overlong UTF-8", cloudevent("\"data\":\"\xc0\xaf\""), "BAD_UTF8"},
      {"lone surrogate in the data", cloudevent(R"("data":"\ud83d")"), "BAD_ESCAPE"},
  };
}

TEST(CloudEvents, HostileIds) {
  const auto decoder = open_cloudevents_decoder();
  Delivery delivery;  // One for all: nothing of an event may stay for the next.
  for (const hostile::Input& input : hostile::ids()) {
    const std::string bytes = cloudevent("\"id\":" + input.bytes);
    decoder->decode(bytes, delivery);
    EXPECT_EQ(code_of(delivery), input.code) << input.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.raw, bytes) << input.name;
    EXPECT_EQ(delivery.event.id.empty(), delivery.defect.starts_with("ID_TYPE") ||
                                             delivery.defect.starts_with("BAD_") ||
                                             input.bytes == "null" || input.bytes == "\"\"")
        << input.name;
  }
  decoder->decode(cloudevent("-\"id\""), delivery);
  EXPECT_EQ(code_of(delivery), "ID_MISSING");
}

TEST(CloudEvents, HostileTexts) {
  const auto decoder = open_cloudevents_decoder();
  Delivery delivery;
  for (const hostile::Input& input : hostile_texts()) {
    decoder->decode(input.bytes, delivery);
    EXPECT_EQ(code_of(delivery), input.code) << input.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.raw, input.bytes) << input.name;
    EXPECT_EQ(delivery.event.id, "") << input.name;
    EXPECT_FALSE(delivery.event.data) << input.name;
    decoder->decode(cloudevent("\"data\":1"), delivery);
    EXPECT_EQ(delivery.defect, "") << "after " << input.name;
    EXPECT_EQ(delivery.event.data, "1") << "after " << input.name;
  }
}

TEST(CloudEvents, HostileAttributes) {
  const std::vector<hostile::Input> cases{
      {"no source", "-\"source\"", "SOURCE_MISSING"},
      {"empty source", "\"source\":\"\"", "SOURCE_MISSING"},
      {"null source", "\"source\":null", "SOURCE_MISSING"},
      {"number source", "\"source\":1", "ATTRIBUTE_TYPE"},
      {"source with NUL", R"("source":"a\u0000")", "ATTRIBUTE_TYPE"},
      {"no type", "-\"type\"", "TYPE_MISSING"},
      {"empty type", "\"type\":\"\"", "TYPE_MISSING"},
      {"boolean type", "\"type\":true", "ATTRIBUTE_TYPE"},
      {"no specversion", "-\"specversion\"", "SPECVERSION"},
      {"old specversion", "\"specversion\":\"0.3\"", "SPECVERSION"},
      {"number specversion", "\"specversion\":1.0", "SPECVERSION"},
      {"time without a zone", "\"time\":\"2026-11-30T14:00:00\"", "TIME_FORMAT"},
      {"empty time", "\"time\":\"\"", "TIME_FORMAT"},
      {"number time", "\"time\":1790000000", "TIME_FORMAT"},
      {"null time", "\"time\":null", ""},
      {"null subject", "\"subject\":null", ""},
      {"array subject", "\"subject\":[]", "ATTRIBUTE_TYPE"},
      {"number content type", "\"datacontenttype\":1", "ATTRIBUTE_TYPE"},
      {"upper case attribute", "\"TraceId\":\"x\"", "ATTRIBUTE_TYPE"},
      {"attribute with a dash", "\"trace-id\":\"x\"", "ATTRIBUTE_TYPE"},
      {"attribute without a name", "\"\":\"x\"", "ATTRIBUTE_TYPE"},
      {"object attribute", "\"trace\":{}", "ATTRIBUTE_TYPE"},
      {"array attribute", "\"trace\":[]", "ATTRIBUTE_TYPE"},
      {"fraction attribute", "\"trace\":1.5", "ATTRIBUTE_TYPE"},
      {"33-bit attribute", "\"trace\":2147483648", "ATTRIBUTE_TYPE"},
      {"attribute with NUL", R"("trace":"\u0000")", "ATTRIBUTE_TYPE"},
      {"null attribute", "\"trace\":null", ""},
      {"data and data_base64", R"("data":1,"data_base64":"AA==")", "ENVELOPE_CONFLICT"},
      {"null data and data_base64", R"("data":null,"data_base64":"AA==")", "ENVELOPE_CONFLICT"},
      {"data and null data_base64", R"("data":1,"data_base64":null)", ""},
      {"bad base64", R"("data_base64":"A===")", "ATTRIBUTE_TYPE"},
      {"base64 with a line break", R"("data_base64":"AA\n==")", "ATTRIBUTE_TYPE"},
      {"number base64", R"("data_base64":1)", "ATTRIBUTE_TYPE"},
  };
  for (const hostile::Input& input : cases) {
    const Delivery delivery = decode_cloudevents(cloudevent(input.bytes));
    EXPECT_EQ(code_of(delivery), input.code) << input.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.event.id, "e1") << input.name << ": a person sees whose event it is";
  }
}

TEST(CloudEvents, AMissingVersionIsToldFromAnother) {
  const auto defect_with = [](const char* member) {
    return decode_cloudevents(cloudevent(member)).defect;
  };
  EXPECT_NE(defect_with("-\"specversion\"").find("specversion is missing"), std::string::npos);
  EXPECT_NE(defect_with("\"specversion\":\"0.3\"").find("another"), std::string::npos);
}

TEST(CloudEvents, ReadsEveryAttribute) {
  const Delivery good = decode_cloudevents(R"(
      {"data": {"b": 1.0,  "a":"\u00e9"} , "time":"2026-11-30T15:00:00.25+01:00", "minus":-7,
       "flag":true, "sequence":"0001", "dataschema":"urn:x", "specversion":"1.0", "id":"\u00e9",
       "type":"order.confirmed", "source":"/shop?a=b", "subject":"ord 7",
       "datacontenttype":"application/vnd.shop+json"})");
  EXPECT_EQ(good.defect, "");
  EXPECT_EQ(good.event.id, "\u00e9");
  EXPECT_EQ(good.event.source, "/shop?a=b");
  EXPECT_EQ(good.event.type, "order.confirmed");
  EXPECT_EQ(good.event.subject, "ord 7");
  ASSERT_TRUE(good.event.time);
  EXPECT_EQ(format_rfc3339(*good.event.time), "2026-11-30T14:00:00.250000Z");
  EXPECT_EQ(good.event.content_type, "application/vnd.shop+json");
  EXPECT_EQ(good.event.data, R"({"b": 1.0,  "a":"\u00e9"})");
  EXPECT_EQ(good.event.headers, (Headers{{"ce-minus", "-7"},
                                         {"ce-flag", "true"},
                                         {"ce-sequence", "0001"},
                                         {"ce-dataschema", "urn:x"}}));
}

TEST(CloudEvents, DataByContentType) {
  const auto data = [](const std::string& members) {
    return decode_cloudevents(cloudevent(members)).event.data;
  };
  EXPECT_EQ(data(""), std::nullopt);
  EXPECT_EQ(data(R"("data":null)"), "null");
  EXPECT_EQ(data(R"("data":"")"), "\"\"");
  EXPECT_EQ(data(R"("data":"{\"a\":1}")"), R"("{\"a\":1}")");
  EXPECT_EQ(data(R"("datacontenttype":"text/xml","data":"<a b=\"c\"/>")"), R"(<a b="c"/>)");
  EXPECT_EQ(data(R"("data":"<a/>","datacontenttype":"text/xml")"), "<a/>");
  EXPECT_EQ(data(R"("datacontenttype":"text/plain","data":"")"), "");
  EXPECT_EQ(data(R"("datacontenttype":"text/plain","data":{"a": 1})"), R"({"a": 1})");
  EXPECT_EQ(data(R"("datacontenttype":"text/plain","data":"x\u0000y")"), "x\0y"s);
  EXPECT_EQ(data(R"("data_base64":"AP8=")"), "\0\xff"s);
  EXPECT_EQ(data(R"("data_base64":"")"), "");
  EXPECT_EQ(data(R"("data_base64":null)"), std::nullopt);
}

TEST(CloudEvents, B11_TheDataKeepsItsEscapes) {
  const Delivery delivery = decode_cloudevents(cloudevent(R"("data":{"a":"x\u0000y\\u0000"})"));
  EXPECT_EQ(delivery.defect, "");
  EXPECT_EQ(delivery.event.data, R"({"a":"x\u0000y\\u0000"})");
}

TEST(CloudEvents, LimitsAreTheCallers) {
  const DecodeLimits narrow{.event_bytes_max = 120, .id_bytes_max = 2, .json = {.depth_max = 2}};
  EXPECT_EQ(code_of(decode_cloudevents(cloudevent("\"data\":[]"), narrow)), "");
  EXPECT_EQ(code_of(decode_cloudevents(cloudevent("\"data\":[[]]"), narrow)), "TOO_DEEP");
  EXPECT_EQ(code_of(decode_cloudevents(cloudevent("\"id\":\"abc\""), narrow)), "ID_TOO_LONG");
  const std::string event = cloudevent("");
  EXPECT_EQ(code_of(decode_cloudevents(event + std::string(120 - event.size(), ' '), narrow)), "");
  EXPECT_EQ(code_of(decode_cloudevents(event + std::string(121 - event.size(), ' '), narrow)),
            "TOO_LARGE");
}

TEST(CloudEvents, DefectsNeverShowData) {
  const std::vector<std::string> texts{
      R"({"secret":secret})", R"({"secret":1,"secret":2})", R"({"id":"secret\x"})",
      R"({"specversion":"secret","id":{"secret":1},"source":"secret","type":["secret"]})"};
  for (const std::string& text : texts) {
    const Delivery delivery = decode_cloudevents(text);
    EXPECT_NE(delivery.defect, "");
    EXPECT_EQ(delivery.defect.find("secret"), std::string::npos) << delivery.defect;
  }
}

RC_GTEST_PROP(CloudEventsProperty, TheDataKeepsItsBytes, (std::uint32_t style)) {
  const generator::Tree tree = *generator::tree();
  JsonDocument document;
  const std::string text = generator::write(tree, style);
  RC_ASSERT(document.parse(text));
  const Delivery delivery = decode_cloudevents(cloudevent("\"data\":" + text));
  RC_ASSERT(delivery.defect.empty());
  RC_ASSERT(delivery.event.data == document.root().raw());
}

RC_GTEST_PROP(CloudEventsProperty, AFlippedByteIsNeverFatal, ()) {
  std::string bytes = cloudevent(R"("time":"2026-11-30T14:00:00Z","x":1,"data":{"a":["\u00e9"]})");
  const auto flips = *rc::gen::inRange(1, 4);
  for (int count = 0; count < flips; ++count)
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  Delivery delivery = decode_cloudevents(bytes);
  RC_ASSERT(delivery.raw == bytes);
  RC_ASSERT(!delivery.defect.empty() || !delivery.event.id.empty());
  RC_ASSERT(delivery.event.id.find('\0') == std::string::npos || !delivery.defect.empty());
}

}  // namespace
}  // namespace onefold
