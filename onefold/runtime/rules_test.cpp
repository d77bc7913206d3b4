// The rules that stand in the database: which change of a consumer is a change of its keys.

#include "onefold/runtime/rules.h"

#include <gtest/gtest.h>

#include "onefold/housekeeping.h"

namespace onefold {
namespace {

const KeySpec event_key{};
const KeySpec payment_key{.rule = "payment", .values = {"/payment"}};
const KeySpec command_key{.rule = "command", .values = {"/command"}};

Answer handle(const Event& /*event*/, Context& /*context*/) {
  return Answer::done();
}

/// What is stored of two descriptions of a consumer; empty: the second is no change.
std::string changes(const Consumer& before, const Consumer& after) {
  return merge_rules(rules_of(before, {}), rules_of(after, {})).changes;
}

TEST(KeyRules, WhatChangesTheKeysOrWhatIsComparedIsAChange) {
  Consumer before{.name = "billing", .keys = {payment_key}};
  before.on(
      {.name = "credit", .type = "payment", .handle = handle, .fingerprint_of = {"/b", "/a"}});
  Consumer renamed = before;
  renamed.handlers[0].name = "credit_again";
  EXPECT_EQ(changes(before, renamed), "");
  Consumer another_parameter = renamed;
  another_parameter.handlers[0].fingerprint_of = {"/a", "/b", "/c"};
  EXPECT_EQ(changes(before, another_parameter), "type payment compares: /a,/b → /a,/b,/c\n");
  Consumer beside = before;
  beside.on({.name = "x", .type = "payment", .handle = handle, .fingerprint_of = {"/c"}});
  EXPECT_NE(changes(before, beside), "");
  Consumer overlapping = before;
  overlapping.on({.name = "x", .type = "pay*", .handle = handle, .fingerprint_of = {"/c"}});
  Consumer wider = overlapping;
  wider.on({.name = "y", .type = "p*", .handle = handle, .fingerprint_of = {"/d"}});
  EXPECT_NE(changes(overlapping, wider), "");
  Consumer grown = before;
  grown.on({.name = "refund", .type = "refund", .handle = handle});
  EXPECT_EQ(changes(before, grown), "");
  Consumer other_key = before;
  other_key.keys = {payment_key, event_key};
  EXPECT_NE(changes(before, other_key), "");
  Consumer scoped = before;
  scoped.scope = Scope::handler;
  EXPECT_NE(changes(before, scoped), "");
  Consumer own_key = scoped;
  own_key.handlers[0].keys = {command_key};
  EXPECT_NE(changes(scoped, own_key), "");
  // Under this scope the handler's name is a part of its keys.
  Consumer renamed_in_scope = scoped;
  renamed_in_scope.handlers[0].name = "credit_again";
  EXPECT_NE(changes(scoped, renamed_in_scope), "");
  Consumer grown_in_scope = scoped;
  grown_in_scope.on({.name = "refund", .type = "refund", .handle = handle});
  EXPECT_EQ(changes(scoped, grown_in_scope), "");
  EXPECT_EQ(changes(grown_in_scope, scoped), "");
  Consumer bytes = before;
  bytes.fingerprint.kind = FingerprintRule::Kind::bytes;
  EXPECT_NE(changes(before, bytes), "");
}

TEST(KeyRules, NoTwoRulesReadAlike) {
  const auto with = [](std::vector<std::string> values, std::vector<std::string> ignore) {
    Consumer consumer{.name = "billing",
                      .keys = {{.rule = "payment", .values = std::move(values)}}};
    consumer.fingerprint.ignore = std::move(ignore);
    return consumer;
  };
  EXPECT_NE(changes(with({"/a", "/n"}, {}), with({"/a,/n"}, {})), "");
  EXPECT_NE(changes(with({"/a"}, {"/a", "/n"}), with({"/a"}, {"/a,/n"})), "");
  EXPECT_NE(changes(with({"/a"}, {"/z\nkey = event"}), with({"/b"}, {"/z\nkey = event"})), "");
}

TEST(KeyRules, AKeyOfAttributesDependsOnWhereTheyAreRead) {
  SourceFactory before{.name = "s",
                       .traits = {},
                       .identity = "i",
                       .attributes = "type /type",
                       .id_prefixes = {},
                       .open = {}};
  SourceFactory after = before;
  after.attributes = "type /kind";
  Consumer plain{.name = "billing"};
  Consumer keyed{.name = "billing", .keys = {{.rule = "p", .values = {"attr:type", "/p"}}}};
  const auto change = [&](const Consumer& consumer) {
    return merge_rules(rules_of(consumer, {&before, 1}), rules_of(consumer, {&after, 1})).changes;
  };
  EXPECT_EQ(change(plain), "");
  EXPECT_NE(change(keyed), "");
}

}  // namespace
}  // namespace onefold
