#include "onefold/brokers/file/incarnation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace onefold::file {
namespace {

TEST(Incarnation, ItsTextIsAFileFormat) {
  // SHA-256("abc") = ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 ...
  EXPECT_EQ(Incarnation{"abc"}.text(), "3-ba7816bf8f01cfea414140de5dae2223");
  EXPECT_EQ((Incarnation{"abc", 7}.text()), "3-ba7816bf8f01cfea414140de5dae2223.7");
}

TEST(Incarnation, OnlyTheFirstBytesCount) {
  const std::string start(Incarnation::bytes_max, 'x');
  const Incarnation incarnation{start + "one"};
  EXPECT_EQ(incarnation.bytes(), Incarnation::bytes_max);
  EXPECT_EQ(incarnation.text(), Incarnation{start + "another"}.text());
  EXPECT_TRUE(incarnation.matches(start));
  EXPECT_FALSE(incarnation.matches(start.substr(1)));
}

TEST(Incarnation, AFileThatGrewIsStillTheSame) {
  EXPECT_TRUE(Incarnation{"abc"}.matches("abcdef"));
  EXPECT_FALSE(Incarnation{"abc"}.matches("abdef"));
  EXPECT_FALSE(Incarnation{"abc"}.matches("ab"));
}

TEST(Incarnation, WhatItDidNotWriteItDoesNotRead) {
  const std::string hex = "ba7816bf8f01cfea414140de5dae2223";
  EXPECT_TRUE(Incarnation::parse("3-" + hex).has_value());
  EXPECT_TRUE(Incarnation::parse("3-" + hex + ".2").has_value());
  for (const std::string& text : {std::string{},
                                  std::string{"-"},
                                  std::string{"3-"},
                                  "3" + hex,
                                  "-" + hex,
                                  "0-" + hex,
                                  "03-" + hex,
                                  "4097-" + hex,
                                  "-3-" + hex,
                                  "3-" + hex + "00",
                                  "3-" + hex.substr(2),
                                  "3-" + hex + ".",
                                  "3-" + hex + ".0",
                                  "3-" + hex + ".1",
                                  "3-" + hex + ".02",
                                  "3-" + hex + ".x",
                                  "3-" + hex + ".2.2",
                                  "3-B" + hex.substr(1),
                                  "3-+" + hex.substr(1),
                                  "99999999999999999999-" + hex,
                                  "3-" + hex + ".99999999999"}) {
    EXPECT_FALSE(Incarnation::parse(text).has_value()) << text;
  }
}

RC_GTEST_PROP(IncarnationProperty, ReadsWhatItWrites, (const std::string& text)) {
  RC_PRE(!text.empty());
  const Incarnation written{text, *rc::gen::inRange<std::uint32_t>(1, 1000)};
  const auto read = Incarnation::parse(written.text());
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->text() == written.text());
  RC_ASSERT(read->matches(text));
  RC_ASSERT(read->generation() == written.generation());
}

}  // namespace
}  // namespace onefold::file
