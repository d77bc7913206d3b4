#include "onefold/runtime/key_rule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onefold/error.h"
#include "onefold/formats/fingerprint.h"

namespace onefold {
namespace {

using namespace std::string_literals;
using Bytes = std::array<std::uint8_t, 16>;

constexpr std::string_view uuid_text = "8f14e45f-ceea-467f-a0e6-b1a5a1c1d001";
constexpr std::string_view ulid_text = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string uuid_of(const Bytes& bytes) {
  std::string text = hex(bytes);
  for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, "-");
  return text;
}

std::string ulid_of(const Bytes& bytes) {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string text(26, '0');
  for (std::size_t index = 0; index < text.size(); ++index) {
    unsigned value = 0;
    for (std::size_t bit = 0; bit < 5; ++bit) {
      const std::size_t position = index * 5 + bit;  // Of 130 bits, the first two of which are 0.
      const std::size_t held = position - 2;
      const bool set = position >= 2 && (bytes.at(held / 8) >> (7 - held % 8) & 1U) != 0;
      value = value << 1 | (set ? 1U : 0U);
    }
    text[index] = digits[value];
  }
  return text;
}

Position position_of(std::string source, std::string incarnation, std::string name,
                     std::uint64_t offset) {
  return {std::make_shared<Partition>(
              Partition{std::move(source), std::move(incarnation), std::move(name)}),
          {0, offset},
          {0, offset + 1}};
}

struct Golden {
  std::string form;
  std::string bytes;
  bool operator==(const Golden&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Golden& golden) {
  return out << golden.form << ' ' << golden.bytes;
}
Golden of(const DerivedKey& key) {
  return {std::string{key.form}, hex(key.bytes)};
}

// These bytes stand in databases: if this test fails, the code is wrong, not the test.
TEST(KeyRule, GoldenKeys) {
  const KeyRule rule{{"evt_", "evt_live_"}};
  EXPECT_EQ(of(rule.of_id(uuid_text)), (Golden{"uuid", "8f14e45fceea467fa0e6b1a5a1c1d001"}));
  EXPECT_EQ(of(rule.of_id("evt_"s + std::string{uuid_text})),
            (Golden{"uuid:evt_", "8f14e45fceea467fa0e6b1a5a1c1d001"}));
  EXPECT_EQ(of(rule.of_id("evt_live_"s + std::string{uuid_text})),
            (Golden{"uuid:evt_live_", "8f14e45fceea467fa0e6b1a5a1c1d001"}));
  EXPECT_EQ(of(rule.of_id(ulid_text)), (Golden{"ulid", "01563e3ab5d3d6764c61efb99302bd5b"}));
  EXPECT_EQ(of(rule.of_id("evt_"s + std::string{ulid_text})),
            (Golden{"ulid:evt_", "01563e3ab5d3d6764c61efb99302bd5b"}));
  EXPECT_EQ(of(rule.of_id("order-52")), (Golden{"hashed", "b822201b23c659d2d1fca7c290856f08"}));
  EXPECT_EQ(of(rule.of_source_and_id("/shop", "order-52")),
            (Golden{"source+hashed", "34548653f9d980a16f9670664f022f74"}));
  EXPECT_EQ(of(rule.of_position(position_of("orders", "file:1", "", 4711))),
            (Golden{"position", "dcd938c49d4a5a6c6673b9cfc89e6cbe"}));
  EXPECT_EQ(of(rule.of_bytes("not json")), (Golden{"bytes", "7ccfa1fbf3940e6f0c0375d87c0f9235"}));
}

TEST(KeyRule, OnlyCanonicalTextsKeepTheirBytes) {
  const KeyRule rule{{"evt_"}};
  for (const std::string& id :
       {"8F14E45F-CEEA-467F-A0E6-B1A5A1C1D001"s,    // Another spelling is another id.
        "8f14e45f-ceea-467f-a0e6-b1a5a1c1d00A"s,    // Mixed case.
        "8f14e45fceea467fa0e6b1a5a1c1d001"s,        // No dashes.
        "{8f14e45f-ceea-467f-a0e6-b1a5a1c1d001}"s,  // Braces.
        "8f14e45f-ceea-467f-a0e6-b1a5a1c1d001 "s,   // A space behind.
        "8f14e45f-ceea-467f-a0e6-b1a5a1c1d00"s,     // Cut.
        "8f14e45f+ceea-467f-a0e6-b1a5a1c1d001"s,    // No dash.
        "8f14e45f-ceea-467f-a0e6-b1a5a1c1d00g"s,    // No digit.
        "01arz3ndektsv4rrffq69g5fav"s,              // Lower case.
        "01ARZ3NDEKTSV4RRFFQ69G5FAI"s,              // I, L, O and U are no digits.
        "01ARZ3NDEKTSV4RRFFQ69G5FAU"s,
        "81ARZ3NDEKTSV4RRFFQ69G5FAV"s,  // Beyond 128 bits.
        "01ARZ3NDEKTSV4RRFFQ69G5FA"s,
        "Evt_8f14e45f-ceea-467f-a0e6-b1a5a1c1d001"s,
        "msg_8f14e45f-ceea-467f-a0e6-b1a5a1c1d001"s,      // No declared prefix.
        "evt_evt_8f14e45f-ceea-467f-a0e6-b1a5a1c1d001"s,  // One prefix, not two.
        "evt_"s,
        ""s,
        "x"s,
        std::string(1'000'000, 'x')}) {
    EXPECT_EQ(rule.of_id(id).form, "hashed") << id.substr(0, 60);
  }
}

TEST(KeyRule, TheLongestPrefixCounts) {
  const KeyRule rule{{"a", "ab_", "ab", "ab"}};
  EXPECT_EQ(rule.id_prefixes(), (std::vector<std::string>{"ab_", "ab", "a"}));
  const std::string uuid{uuid_text};
  EXPECT_EQ(rule.of_id("ab_" + uuid).form, "uuid:ab_");
  EXPECT_EQ(rule.of_id("ab" + uuid).form, "uuid:ab");
  EXPECT_EQ(rule.of_id("a" + uuid).form, "uuid:a");
  EXPECT_EQ(rule.of_id(uuid).form, "uuid");
}

TEST(KeyRule, AnIdThatOnlyLooksPrefixedIsStillAUuid) {
  const KeyRule rule{{"8f"}};
  EXPECT_EQ(rule.of_id(uuid_text).form, "uuid");
}

TEST(KeyRule, AnEmptyPrefixIsRefused) {
  EXPECT_THROW((KeyRule{{"evt_", ""}}), Error);
}

TEST(KeyRule, B32_BytesDecideAndNothingIsNormalised) {
  const KeyRule rule;
  const std::vector<std::string> ids{"Evt-1",    "evt-1",      "evt-1 ", " evt-1", "\u00e9",
                                     "e\u0301",  "\u00c5",     "\u212b", "\uff11", "1",
                                     "\u0131",   "i",          "a\tb",   "a\nb",   "a\rb",
                                     "a\u202eb", "a\x1b[31mb", "a%00b"};
  std::set<Bytes> keys;
  for (const std::string& id : ids) keys.insert(rule.of_id(id).bytes);
  EXPECT_EQ(keys.size(), ids.size());
}

TEST(KeyRule, PartsDoNotRunTogether) {
  const KeyRule rule;
  EXPECT_NE(rule.of_source_and_id("ab", "c").bytes, rule.of_source_and_id("a", "bc").bytes);
  EXPECT_NE(rule.of_source_and_id("", "ab").bytes, rule.of_source_and_id("ab", "").bytes);
  EXPECT_NE(rule.of_source_and_id("", "ab").bytes, rule.of_id("ab").bytes);
}

TEST(KeyRule, B16_APositionIsOneOfItsIncarnation) {
  const KeyRule rule;
  const Bytes key = rule.of_position(position_of("orders", "1", "p", 7)).bytes;
  EXPECT_EQ(rule.of_position(position_of("orders", "1", "p", 7)).bytes, key);
  EXPECT_NE(rule.of_position(position_of("orders", "2", "p", 7)).bytes, key);
  EXPECT_NE(rule.of_position(position_of("orders", "1", "q", 7)).bytes, key);
  EXPECT_NE(rule.of_position(position_of("other", "1", "p", 7)).bytes, key);
  EXPECT_NE(rule.of_position(position_of("orders", "1", "p", 8)).bytes, key);
  Position high = position_of("orders", "1", "p", 7);
  high.at.high = 1;
  EXPECT_NE(rule.of_position(high).bytes, key);
}

TEST(KeyRule, AStoredFormFindsTheKeyAgain) {
  const KeyRule rule{{"evt_"}};
  const std::string uuid{uuid_text};
  const std::string ulid{ulid_text};
  for (const std::string& id : {uuid, "evt_" + uuid, ulid, "evt_" + ulid, "order-52"s}) {
    const DerivedKey key = rule.of_id(id);
    EXPECT_EQ(key_under_form(key.form, "/shop", id), key.bytes) << id;
  }
  EXPECT_EQ(key_under_form("source+hashed", "/shop", uuid),
            rule.of_source_and_id("/shop", uuid).bytes);
  // A uuid is never hashed, but one behind a prefix is, if the prefix was not declared then.
  EXPECT_FALSE(key_under_form("hashed", "/shop", uuid));
  EXPECT_EQ(key_under_form("hashed", "/shop", "evt_" + uuid), KeyRule{}.of_id("evt_" + uuid).bytes);
  for (const char* form : {"uuid", "ulid", "uuid:evt_", "ulid:evt_", "uuid:", "uuidevt_",
                           "position", "bytes", "", "no such form"}) {
    EXPECT_FALSE(key_under_form(form, "/shop", "order-52")) << form;
  }
}

DerivedKey of_values(const KeyRule& rule, const std::vector<KeyValue>& values) {
  return rule.of_values(values);
}

TEST(KeyRule, ValuesOfABusinessKey) {
  const KeyRule rule{{"pay_"}};
  // printf '\0\0\0\0\0\0\0\5"PX-1' | sha256sum
  const DerivedKey text = of_values(rule, {{false, "PX-1"}});
  EXPECT_EQ(text.form, "values");
  EXPECT_EQ(text.bytes, sha256_128_of_parts({"\"PX-1"}));
  EXPECT_NE(of_values(rule, {{false, "1"}}).bytes, of_values(rule, {{true, "1"}}).bytes);
  EXPECT_NE(of_values(rule, {{false, "a"}, {false, "bc"}}).bytes,
            of_values(rule, {{false, "ab"}, {false, "c"}}).bytes);
  EXPECT_NE(of_values(rule, {{false, "a"}, {false, "b"}}).bytes,
            of_values(rule, {{false, "b"}, {false, "a"}}).bytes);
}

TEST(KeyRule, AValueThatIsOrderedKeepsItsBytesInAFormOfItsOwn) {
  const KeyRule rule{{"pay_"}};
  for (const std::string prefix : {"", "pay_"}) {
    const std::string mark = prefix.empty() ? "" : ":" + prefix;
    const std::string uuid = prefix + std::string{uuid_text};
    const std::string ulid = prefix + std::string{ulid_text};
    EXPECT_EQ(of_values(rule, {{false, uuid}}).form, "values+uuid" + mark);
    EXPECT_EQ(of_values(rule, {{false, uuid}}).bytes, rule.of_id(uuid).bytes);
    EXPECT_EQ(of_values(rule, {{false, ulid}}).form, "values+ulid" + mark);
    EXPECT_EQ(of_values(rule, {{false, ulid}}).bytes, rule.of_id(ulid).bytes);
  }
  EXPECT_EQ(of_values(rule, {{false, uuid_text}, {true, "1"}}).form, "values");
}

RC_GTEST_PROP(KeyRuleProperty, UuidAndUlidKeepTheirBytes, (const Bytes& bytes, bool prefixed)) {
  const KeyRule rule{{"evt_"}};
  const std::string prefix = prefixed ? "evt_" : "";
  const DerivedKey uuid = rule.of_id(prefix + uuid_of(bytes));
  RC_ASSERT(uuid.form == (prefixed ? "uuid:evt_" : "uuid"));
  RC_ASSERT(uuid.bytes == bytes);
  const DerivedKey ulid = rule.of_id(prefix + ulid_of(bytes));
  RC_ASSERT(ulid.form == (prefixed ? "ulid:evt_" : "ulid"));
  RC_ASSERT(ulid.bytes == bytes);
}

RC_GTEST_PROP(KeyRuleProperty, DifferentIdsNeverShareFormAndBytes, ()) {
  static const KeyRule rule{{"evt_", "e", "0"}};
  const auto id = rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<Bytes>(), uuid_of),
      rc::gen::map(rc::gen::arbitrary<Bytes>(), ulid_of),
      rc::gen::map(rc::gen::arbitrary<Bytes>(), [](const Bytes& b) { return "evt_" + uuid_of(b); }),
      rc::gen::map(rc::gen::arbitrary<Bytes>(), [](const Bytes& b) { return "0" + ulid_of(b); }),
      rc::gen::arbitrary<std::string>());
  const std::string one = *id;
  std::string other = *id;
  if (!one.empty() && *rc::gen::arbitrary<bool>()) {
    other = one;
    other[*rc::gen::inRange<std::size_t>(0, one.size())] = *rc::gen::arbitrary<char>();
  }
  const DerivedKey key = rule.of_id(one);
  const DerivedKey other_key = rule.of_id(other);
  const bool same = key.form == other_key.form && key.bytes == other_key.bytes;
  RC_ASSERT(same == (one == other));
}

}  // namespace
}  // namespace onefold
