#include "onefold/formats/decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "onefold/error.h"
#include "onefold/formats/json_generator.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

using namespace std::string_literals;

const IdentityRule by_event_id{.id = "/event_id", .source = "literal:shop", .type = "/type"};

std::string code_of(const Delivery& delivery) {
  return delivery.defect.substr(0, delivery.defect.find(':'));
}

Delivery decode_cloudevents(std::string_view bytes, DecodeLimits limits = {}) {
  Delivery delivery;
  open_cloudevents_decoder(limits)->decode(bytes, delivery);
  return delivery;
}

Delivery decode_json(std::string_view bytes, const IdentityRule& rule = by_event_id,
                     DecodeLimits limits = {}) {
  Delivery delivery;
  open_json_decoder(rule, limits)->decode(bytes, delivery);
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

struct Hostile {
  const char* name;
  std::string bytes;
  const char* code;  ///< Empty: a valid event.
};

std::string id_of(std::size_t size) {
  return std::string(size, 'x');
}

/// What every decoder must say to an id, whatever the format: `quoted` is the id as JSON.
std::vector<Hostile> hostile_ids() {
  return {
      {"B12 empty id", "\"\"", "ID_MISSING"},
      {"B12 null id", "null", "ID_MISSING"},
      {"B12 id of spaces", "\"  \"", "ID_MISSING"},
      {"B12 id of white space", R"("\t\r\n ")", "ID_MISSING"},
      {"id of 1 byte", "\"x\"", ""},
      {"id of 512 bytes", '"' + id_of(512) + '"', ""},
      {"id of 513 bytes", '"' + id_of(513) + '"', "ID_TOO_LONG"},
      {"id of 512 characters in 1024 bytes",
       '"' +
           [] {
             std::string text;
             for (int count = 0; count < 512; ++count) text += "\u00e9";
             return text;
           }() +
           '"',
       "ID_TOO_LONG"},
      {"id of 1,000,000 bytes", '"' + id_of(1'000'000) + '"', "ID_TOO_LONG"},
      {"B29 number", "1", "ID_TYPE"},
      {"B29 number beyond 2^53", "5000000001443512100", "ID_TYPE"},
      {"B29 fraction", "1.0", "ID_TYPE"},
      {"B29 exponent", "1e0", "ID_TYPE"},
      {"B29 true", "true", "ID_TYPE"},
      {"B29 false", "false", "ID_TYPE"},
      {"array", "[\"x\"]", "ID_TYPE"},
      {"object", "{}", "ID_TYPE"},
      {"B29 number in a string", "\"1\"", ""},
      {"B11 NUL", R"("x\u0000y")", "ID_NUL"},
      {"B11 only NUL", R"("\u0000")", "ID_NUL"},
      {"B11 the text of an escape", R"("x\\u0000y")", ""},
      {"B11 lone surrogate", R"("\ud83d")", "BAD_ESCAPE"},
      {"invalid UTF-8", "\"\xff\"", "BAD_UTF8"},
      {"line breaks", R"("a\r\nb")", ""},
      {"a tab", R"("a\tb")", ""},
      {"direction override", "\"a\u202eb\"", ""},
      {"terminal escape", R"("\u001b[31m")", ""},
      {"percent sign", R"("a%00b")", ""},
      {"a space behind", R"("evt-1 ")", ""},
      {"a noncharacter", "\"\uFFFE\"", ""},
      {"SQL", R"("'); DROP TABLE inbox;--")", ""},
  };
}

std::vector<Hostile> hostile_texts() {
  std::string deep;
  for (int count = 0; count < 100'000; ++count) deep += "[";
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
  for (const Hostile& hostile : hostile_ids()) {
    const std::string bytes = cloudevent("\"id\":" + hostile.bytes);
    decoder->decode(bytes, delivery);
    EXPECT_EQ(code_of(delivery), hostile.code) << hostile.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.raw, bytes) << hostile.name;
    EXPECT_EQ(delivery.event.id.empty(), delivery.defect.starts_with("ID_TYPE") ||
                                             delivery.defect.starts_with("BAD_") ||
                                             hostile.bytes == "null" || hostile.bytes == "\"\"")
        << hostile.name;
  }
  decoder->decode(cloudevent("-\"id\""), delivery);
  EXPECT_EQ(code_of(delivery), "ID_MISSING");
}

TEST(JsonDecoder, HostileIds) {
  const auto decoder = open_json_decoder(by_event_id);
  Delivery delivery;
  for (const Hostile& hostile : hostile_ids()) {
    decoder->decode("{\"type\":\"t\",\"event_id\":" + hostile.bytes + "}", delivery);
    EXPECT_EQ(code_of(delivery), hostile.code) << hostile.name << ": " << delivery.defect;
  }
  decoder->decode(R"({"type":"t","id":"another name"})", delivery);
  EXPECT_EQ(code_of(delivery), "ID_MISSING");
}

TEST(CloudEvents, HostileTexts) {
  const auto decoder = open_cloudevents_decoder();
  Delivery delivery;
  for (const Hostile& hostile : hostile_texts()) {
    decoder->decode(hostile.bytes, delivery);
    EXPECT_EQ(code_of(delivery), hostile.code) << hostile.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.raw, hostile.bytes) << hostile.name;
    EXPECT_EQ(delivery.event.id, "") << hostile.name;
    EXPECT_FALSE(delivery.event.data) << hostile.name;
    decoder->decode(cloudevent("\"data\":1"), delivery);
    EXPECT_EQ(delivery.defect, "") << "after " << hostile.name;
    EXPECT_EQ(delivery.event.data, "1") << "after " << hostile.name;
  }
}

TEST(CloudEvents, HostileAttributes) {
  const std::vector<Hostile> cases{
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
  for (const Hostile& hostile : cases) {
    const Delivery delivery = decode_cloudevents(cloudevent(hostile.bytes));
    EXPECT_EQ(code_of(delivery), hostile.code) << hostile.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.event.id, "e1") << hostile.name << ": a person sees whose event it is";
  }
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

TEST(JsonDecoder, TheWholeObjectIsTheData) {
  const std::string object = R"({"event_id":"e1", "type":"t", "amount":9007199254740993.10})";
  const Delivery delivery = decode_json(" " + object + "\n");
  EXPECT_EQ(delivery.defect, "");
  EXPECT_EQ(delivery.event.id, "e1");
  EXPECT_EQ(delivery.event.source, "shop");
  EXPECT_EQ(delivery.event.type, "t");
  EXPECT_EQ(delivery.event.data, object);
  EXPECT_EQ(delivery.event.content_type, "");
  EXPECT_EQ(delivery.raw, " " + object + "\n");
}

TEST(JsonDecoder, ReadsEveryRule) {
  const IdentityRule rule{.id = "/meta/id",
                          .source = "/meta/from",
                          .type = "literal:push",
                          .subject = "/items/0/name",
                          .time = "/at"};
  const Delivery delivery = decode_json(
      R"({"meta":{"id":"7","from":"x"},"items":[{"name":"n"}],"at":"2026-11-30T14:00:00Z"})", rule);
  EXPECT_EQ(delivery.defect, "");
  EXPECT_EQ(delivery.event.id, "7");
  EXPECT_EQ(delivery.event.source, "x");
  EXPECT_EQ(delivery.event.type, "push");
  EXPECT_EQ(delivery.event.subject, "n");
  EXPECT_EQ(format_rfc3339(delivery.event.time.value()), "2026-11-30T14:00:00Z");
}

TEST(JsonDecoder, HostileAttributes) {
  const IdentityRule rule{
      .id = "/id", .source = "/from", .type = "/type", .subject = "/to", .time = "/at"};
  const std::vector<Hostile> cases{
      {"no source", R"({"id":"e1","type":"t"})", "SOURCE_MISSING"},
      {"object source", R"({"id":"e1","from":{},"type":"t"})", "ATTRIBUTE_TYPE"},
      {"no type", R"({"id":"e1","from":"s"})", "TYPE_MISSING"},
      {"null type", R"({"id":"e1","from":"s","type":null})", "TYPE_MISSING"},
      {"number subject", R"({"id":"e1","from":"s","type":"t","to":1})", "ATTRIBUTE_TYPE"},
      {"bad time", R"({"id":"e1","from":"s","type":"t","at":"today"})", "TIME_FORMAT"},
  };
  for (const Hostile& hostile : cases) {
    const Delivery delivery = decode_json(hostile.bytes, rule);
    EXPECT_EQ(code_of(delivery), hostile.code) << hostile.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.event.id, "e1") << hostile.name;
    EXPECT_EQ(delivery.event.data, hostile.bytes) << hostile.name;
  }
}

TEST(JsonDecoder, B29_IntegerIdsKeepTheirDigits) {
  const IdentityRule rule{
      .id = "/id", .source = "literal:s", .type = "literal:t", .id_type = IdType::integer};
  const std::vector<std::pair<std::string, std::string>> cases{
      {"0", "0"},
      {"-1", "-1"},
      {"9007199254740992", "9007199254740992"},
      {"9007199254740993", "9007199254740993"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "ID_RANGE"},
      {"18446744073709551615", "ID_RANGE"},
      {"-9223372036854775809", "ID_RANGE"},
      {"1.0", "ID_TYPE"},
      {"1.5", "ID_TYPE"},
      {"1e3", "ID_TYPE"},
      {"1e400", "ID_TYPE"},
      {"-0", "ID_TYPE"},
      {"\"7\"", "ID_TYPE"},
      {"true", "ID_TYPE"},
      {"null", "ID_MISSING"},
  };
  for (const auto& [token, expected] : cases) {
    const Delivery delivery = decode_json("{\"id\": " + token + " }", rule);
    EXPECT_EQ(delivery.defect.empty() ? delivery.event.id : code_of(delivery), expected) << token;
  }
}

TEST(JsonDecoder, B32_IdsAreNotNormalised) {
  EXPECT_EQ(decode_json("{\"type\":\"t\",\"event_id\":\"\u00e9\"}").event.id, "\u00e9");
  EXPECT_EQ(decode_json(R"({"type":"t","event_id":"e\u0301"})").event.id, "e\u0301");
  EXPECT_EQ(decode_json(R"({"type":"t","event_id":" Evt-1 "})").event.id, " Evt-1 ");
}

TEST(JsonDecoder, RulesThatCannotBeUsedAreRefused) {
  const auto changed = [](auto change) {
    IdentityRule rule = by_event_id;
    change(rule);
    return identity_defect(rule);
  };
  EXPECT_EQ(identity_defect(by_event_id), "");
  EXPECT_EQ(identity_defect({}).substr(0, 11), "identity.id");
  EXPECT_EQ(changed([](auto& rule) { rule.id = "event_id"; }).substr(0, 11), "identity.id");
  EXPECT_EQ(changed([](auto& rule) { rule.id = "literal:x"; }).substr(0, 11), "identity.id");
  EXPECT_EQ(changed([](auto& rule) { rule.source = ""; }).substr(0, 15), "identity.source");
  EXPECT_EQ(changed([](auto& rule) { rule.source = "literal:"; }).substr(0, 15), "identity.source");
  EXPECT_EQ(changed([](auto& rule) { rule.type = "/a~2"; }).substr(0, 13), "identity.type");
  EXPECT_EQ(changed([](auto& rule) { rule.subject = "x"; }).substr(0, 16), "identity.subject");
  EXPECT_EQ(changed([](auto& rule) { rule.time = "literal:now"; }).substr(0, 13), "identity.time");
  EXPECT_THROW(open_json_decoder({}), Error);
}

TEST(Decoder, LimitsAreTheCallers) {
  const DecodeLimits narrow{.event_bytes_max = 120, .id_bytes_max = 2, .json = {.depth_max = 2}};
  EXPECT_EQ(code_of(decode_cloudevents(cloudevent("\"data\":[]"), narrow)), "");
  EXPECT_EQ(code_of(decode_cloudevents(cloudevent("\"data\":[[]]"), narrow)), "TOO_DEEP");
  EXPECT_EQ(code_of(decode_cloudevents(cloudevent("\"id\":\"abc\""), narrow)), "ID_TOO_LONG");
  const std::string event = cloudevent("");
  EXPECT_EQ(code_of(decode_cloudevents(event + std::string(120 - event.size(), ' '), narrow)), "");
  EXPECT_EQ(code_of(decode_cloudevents(event + std::string(121 - event.size(), ' '), narrow)),
            "TOO_LARGE");
}

TEST(Decoder, DefectsNeverShowData) {
  const std::vector<std::string> texts{
      R"({"secret":secret})", R"({"secret":1,"secret":2})", R"({"id":"secret\x"})",
      R"({"specversion":"secret","id":{"secret":1},"source":"secret","type":["secret"]})"};
  for (const std::string& text : texts) {
    const Delivery delivery = decode_cloudevents(text);
    EXPECT_NE(delivery.defect, "");
    EXPECT_EQ(delivery.defect.find("secret"), std::string::npos) << delivery.defect;
  }
}

RC_GTEST_PROP(DecoderProperty, TheDataKeepsItsBytes, (std::uint32_t style)) {
  const generator::Tree tree = *generator::tree();
  JsonDocument document;
  const std::string text = generator::write(tree, style);
  RC_ASSERT(document.parse(text));
  const Delivery delivery = decode_cloudevents(cloudevent("\"data\":" + text));
  RC_ASSERT(delivery.defect.empty());
  RC_ASSERT(delivery.event.data == document.root().raw());
}

RC_GTEST_PROP(DecoderProperty, AFlippedByteIsNeverFatal, ()) {
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
