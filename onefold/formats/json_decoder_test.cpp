#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "onefold/error.h"
#include "onefold/formats/decoder.h"
#include "onefold/formats/hostile_inputs.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

using hostile::code_of;

const IdentityRule by_event_id{.id = "/event_id", .source = "literal:shop", .type = "/type"};

Delivery decode_json(std::string_view bytes, const IdentityRule& rule = by_event_id,
                     DecodeLimits limits = {}) {
  Delivery delivery;
  open_json_decoder(rule, limits)->decode(bytes, delivery);
  return delivery;
}

TEST(JsonDecoder, HostileIds) {
  const auto decoder = open_json_decoder(by_event_id);
  Delivery delivery;
  for (const hostile::Input& input : hostile::ids()) {
    decoder->decode("{\"type\":\"t\",\"event_id\":" + input.bytes + "}", delivery);
    EXPECT_EQ(code_of(delivery), input.code) << input.name << ": " << delivery.defect;
  }
  decoder->decode(R"({"type":"t","id":"another name"})", delivery);
  EXPECT_EQ(code_of(delivery), "ID_MISSING");
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
  const std::vector<hostile::Input> cases{
      {"no source", R"({"id":"e1","type":"t"})", "SOURCE_MISSING"},
      {"object source", R"({"id":"e1","from":{},"type":"t"})", "ATTRIBUTE_TYPE"},
      {"no type", R"({"id":"e1","from":"s"})", "TYPE_MISSING"},
      {"null type", R"({"id":"e1","from":"s","type":null})", "TYPE_MISSING"},
      {"number subject", R"({"id":"e1","from":"s","type":"t","to":1})", "ATTRIBUTE_TYPE"},
      {"bad time", R"({"id":"e1","from":"s","type":"t","at":"today"})", "TIME_FORMAT"},
  };
  for (const hostile::Input& input : cases) {
    const Delivery delivery = decode_json(input.bytes, rule);
    EXPECT_EQ(code_of(delivery), input.code) << input.name << ": " << delivery.defect;
    EXPECT_EQ(delivery.event.id, "e1") << input.name;
    EXPECT_EQ(delivery.event.data, input.bytes) << input.name;
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

TEST(JsonDecoder, AnIdFromTheBytesIsTheirDigest) {
  IdentityRule rule = by_event_id;
  rule.id = id_from_bytes;
  // printf '{"type":"t"}' | sha256sum
  EXPECT_EQ(decode_json(R"({"type":"t"})", rule).event.id,
            "2241608e8271eac800d4d4ac804b3f39352a4a383bb9c7ba12629724bc9d60ab");
  EXPECT_NE(decode_json(R"({"type":"t" })", rule).event.id,
            decode_json(R"({"type":"t"})", rule).event.id);
  EXPECT_EQ(code_of(decode_json("[1]", rule)), "NOT_AN_OBJECT");
}

TEST(JsonDecoder, AnIdFromThePositionIsLeftToTheSource) {
  IdentityRule rule = by_event_id;
  rule.id = id_from_position;
  const Delivery delivery = decode_json(R"({"type":"t","event_id":"x"})", rule);
  EXPECT_EQ(delivery.defect, "");
  EXPECT_EQ(delivery.event.id, "");
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
  EXPECT_EQ(changed([](auto& rule) { rule.id = id_from_bytes; }), "");
  EXPECT_EQ(changed([](auto& rule) {
              rule.id = id_from_position;
              rule.id_type = IdType::integer;
            }).substr(0, 11),
            "identity.id");
  EXPECT_THROW(open_json_decoder({}), Error);
}

}  // namespace
}  // namespace onefold
