#include "onefold/cli/dead_letter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "onefold/cli/json_text.h"
#include "onefold/runtime/key_rule.h"

namespace onefold::cli {
namespace {

DeadLetter letter_with(const std::string& bytes) {
  const Timestamp time{std::chrono::microseconds{1'700'000'000'123'456}};
  DeadLetter letter;
  DeferredRecord& row = letter.row;
  row.consumer = "billing";
  row.reason = "dead";
  row.handler = "credit";
  row.errors = {"first", bytes};
  row.attempts = 3;
  row.count = 12;
  row.first_at = time;
  row.last_at = time + std::chrono::seconds{1};
  row.source = "orders";
  row.position = Position{std::make_shared<const Partition>(Partition{"orders", "abc", bytes}),
                          {.high = 5, .low = 7},
                          {.high = 0, .low = 18446744073709551615U}};
  row.event = {.id = bytes,
               .source = bytes,
               .type = bytes,
               .subject = bytes,
               .time = time,
               .content_type = bytes,
               .headers = {{"a", bytes}, {"a", ""}},
               .data = {}};
  row.fingerprint = {1, 2, 255};
  row.raw = bytes;
  LetterKey key{.handler = "credit",
                .source_or_rule = bytes,
                .key_form = "hashed",
                .always = false,
                .bytes = *key_under_form("hashed", bytes, bytes)};
  key.claim = InboxRecord{.key = {},
                          .outcome = Outcome::dead,
                          .waiting = true,
                          .event_source = bytes,
                          .event_id = bytes,
                          .event_type = bytes,
                          .event_time = {},
                          .entity = bytes,
                          .handled_by = "credit@1",
                          .fingerprint = {3},
                          .result = bytes,
                          .recorded_at = time};
  letter.keys = {key, key};
  letter.keys[1].always = true;
  return letter;
}

RC_GTEST_PROP(DeadLetter, EveryByteComesBack, (const std::string& bytes)) {
  const std::string line = letter_line(letter_with(bytes));
  RC_ASSERT(line.find('\n') == line.size() - 1);
  const DeadLetter back = letter_from(line);
  RC_ASSERT(back.row.event.id == bytes);
  RC_ASSERT(back.row.event.headers == (Headers{{"a", bytes}, {"a", ""}}));
  RC_ASSERT(back.row.raw == bytes);
  RC_ASSERT(back.row.errors.at(1) == bytes);
  RC_ASSERT(back.keys.at(0).claim->event_id == bytes);
  RC_ASSERT(back.keys.at(1).always);
  // What is written again is the same to the last byte.
  RC_ASSERT(letter_line(back) == line);
}

TEST(DeadLetter, TheHeadNamesTheConsumers) {
  const auto back = consumers_in_head(letter_head({{"billing", "a = b\nc = d\n", "optimistic"}}));
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].name, "billing");
  EXPECT_EQ(back[0].rules, "a = b\nc = d\n");
  EXPECT_EQ(back[0].mode, "optimistic");
}

std::string defect_of(const std::function<void()>& read);

TEST(DeadLetter, NonsenseIsRefusedByName) {
  const auto defect = [](const std::function<void(Json&)>& change) {
    Json json = Json::parse(letter_line(letter_with("secret")));
    change(json);
    return defect_of([&] { letter_from(json.dump()); });
  };
  EXPECT_EQ(defect([](Json&) {}), "");
  for (const char* outcome : {"applied", "duplicate", "ignored", "conflict"}) {
    EXPECT_NE(defect([&](Json& json) { json["keys"][0]["claim"]["outcome"] = outcome; }), "");
  }
  for (const char* number : {"-1", "2147483648", "1e300", "1.5", "18446744073709551615"}) {
    for (const char* member : {"attempts", "count"}) {
      const std::string text = defect([&](Json& json) { json[member] = Json::parse(number); });
      EXPECT_TRUE(text.starts_with(member)) << member << number << text;
    }
  }
  EXPECT_EQ(defect([](Json& json) { json["attempts"] = 0; }), "");
  EXPECT_NE(defect([](Json& json) { json["count"] = 0; }), "");
  const std::string other(32, '1');
  EXPECT_EQ(defect([&](Json& json) { json["keys"][1]["key"] = other; }),
            "a key is not the one that its event's id gives");
  for (const char* form : {"position", "bytes", "values", "values+uuid", "values+ulid:a_"}) {
    EXPECT_EQ(defect([&](Json& json) {
                json["keys"][1]["form"] = form;
                json["keys"][1]["key"] = other;
              }),
              "")
        << form;
  }
  for (const char* form :
       {"", "hash", "uuid:", "uuidx", "values+hashed", "uuid:\x1b", "uuid:a\n"}) {
    EXPECT_NE(defect([&](Json& json) { json["keys"][0]["form"] = form; }).find("form"),
              std::string::npos)
        << form;
  }
  EXPECT_NE(defect([](Json& json) { json["handler"] = "a\x1b[1m"; }), "");
  EXPECT_NE(defect([](Json& json) { json["keys"][0]["handler"] = "a\nb"; }), "");
}

std::string defect_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const LetterDefect& defect) {
    return defect.what();
  }
  return {};
}

TEST(DeadLetter, WhatNoExportWritesIsRefusedWithoutItsData) {
  const std::string good = letter_line(letter_with("secret"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    return line;
  };
  for (const std::string& line :
       {std::string{}, std::string{"[]"}, std::string{"secret"}, good.substr(0, good.size() / 2),
        changed("\"kind\":\"dead\"", "\"kind\":\"secret\""),
        changed("\"kind\":\"dead\"", "\"kind\":\"conflict\""),
        changed("\"attempts\":3", "\"attempts\":\"secret\""), changed("\"attempts\":3,", ""),
        changed("\"at\":\"5-7\"", "\"at\":\"secret\""), changed("\"at\":\"5-7\"", "\"at\":\"-\""),
        changed("\"raw_base64\":\"", "\"raw_base64\":\"!"),
        changed("\"first_at\":\"2", "\"first_at\":\"secret")}) {
    const std::string defect = defect_of([&] { letter_from(line); });
    EXPECT_FALSE(defect.empty()) << line;
    EXPECT_EQ(defect.find("secret"), std::string::npos) << defect;
  }
  EXPECT_NE(defect_of([&] { consumers_in_head(good); }), "");
  EXPECT_NE(defect_of([&] { consumers_in_head("{\"onefold_dead_letters\":2,\"consumers\":[]}"); }),
            "");
}

}  // namespace
}  // namespace onefold::cli
