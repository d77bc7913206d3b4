#include "onefold/stores/postgres/values.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <limits>

#include "onefold/stores/postgres/failure.h"
#include "onefold/stores/postgres/settings.h"

namespace onefold::postgres {
namespace {

TEST(PostgresSettings, AConnectionWhosePasswordHasNoClearEndIsRefusedWithoutShowingIt) {
  for (const char* url :
       {"postgres://u:a/horse@127.0.0.1:1/d", "postgres://u:p@horse@h/d",
        "postgresql://h/d?password=hor@se", "postgres://u:horse", "postgres://u:horse/d"}) {
    Options options;
    options.connection = url;
    try {
      require_sense(options);
      ADD_FAILURE() << url;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
      const std::string words = error.what();
      EXPECT_EQ(words.find("hor"), std::string::npos) << words;
      EXPECT_NE(words.find('%'), std::string::npos) << words;
    }
  }
  for (const char* url : {"postgres://u:a%2Fb%40c@h:1/d", "postgres:///d?host=/run", "dbname=d",
                          "postgres://[::1]:5432,h:1/d"}) {
    Options options;
    options.connection = url;
    EXPECT_NO_THROW(require_sense(options)) << url;
  }
}

TEST(PostgresValues, TextsThatAreUtf8StayReadable) {
  for (const std::string text : {"", "evt_1", "é", "\u212b", "\U0001f600", "'; --", "a\\xb"}) {
    EXPECT_EQ(stored_text(text), text);
  }
  EXPECT_EQ(stored_text(std::string{"a\0b", 3}), "\\x610062");
  EXPECT_EQ(stored_text("\xff"), "\\xff");
  EXPECT_EQ(stored_text("\xed\xa0\x80"), "\\xeda080");
  EXPECT_EQ(stored_text("\xc0\xaf"), "\\xc0af");
  EXPECT_EQ(stored_text("\xf4\x90\x80\x80"), "\\xf4908080");
  EXPECT_EQ(stored_text("\\xff"), "\\x5c786666");
}

TEST(PostgresValues, AnyTextComesBackAsItWasProperty) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const std::string stored = stored_text(text);
    RC_ASSERT(text_from_stored(stored) == text);
    RC_ASSERT(stored.find('\0') == std::string::npos);
  }));
}

TEST(PostgresValues, OffsetsHave128Bits) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(decimal_of({0, 0}), "0");
  EXPECT_EQ(decimal_of({1, 0}), "18446744073709551616");
  EXPECT_EQ(decimal_of({most, most}), "340282366920938463463374607431768211455");
  for (const Offset& each : {Offset{0, 0}, Offset{0, most}, Offset{1, 0}, Offset{most, most}}) {
    EXPECT_EQ(offset_from(decimal_of(each)), each);
  }
}

TEST(PostgresFailure, B04_CodesDecideTogetherWithTheStatement) {
  using enum ErrorKind;
  const std::vector<std::tuple<std::string, Part, ErrorKind>> rules{
      {"40001", Part::handler, contention},
      {"40P01", Part::own, contention},
      {"55P03", Part::handler, contention},
      {"57014", Part::handler, contention},
      {"23505", Part::handler, permanent},
      {"23505", Part::claim, contention},
      {"23503", Part::commit, permanent},
      {"22012", Part::handler, permanent},
      {"22012", Part::tripwire, contract_violation},
      {"22012", Part::touch, bad_configuration},
      {"22023", Part::handler, permanent},
      {"22023", Part::own, bad_configuration},
      {"55000", Part::own, bad_configuration},
      {"57P01", Part::handler, unavailable},
      {"57P03", Part::own, unavailable},
      {"53300", Part::own, unavailable},
      {"53100", Part::handler, unavailable},
      {"08006", Part::handler, unavailable},
      {"", Part::handler, unavailable},
      {"25P03", Part::handler, unavailable},
      {"42P01", Part::handler, bad_configuration},
      {"42501", Part::own, bad_configuration},
      {"28P01", Part::own, bad_configuration},
      {"3D000", Part::own, bad_configuration},
      {"P0001", Part::handler, permanent},
      {"2D000", Part::handler, contract_violation},
  };
  for (const auto& [code, part, kind] : rules) {
    EXPECT_EQ(kind_of(code, part), kind) << code << " of part " << static_cast<int>(part);
  }
}

TEST(PostgresFailure, CodesSayWhatKindOfThingFailed) {
  using enum FailureClass;
  const std::vector<std::pair<std::string, FailureClass>> rules{
      {"23505", constraint}, {"23503", constraint}, {"23514", constraint}, {"23P01", constraint},
      {"22001", data},       {"22003", data},       {"22P02", data},       {"P0001", statement},
      {"21000", statement},  {"", statement},
  };
  for (const auto& [code, failure] : rules) EXPECT_EQ(class_of(code), failure) << code;
}

TEST(PostgresSettings, WhatAPowerCutCanTakeBackIsRefusedUnlessAccepted) {
  Server server;
  server.version = 150'000;
  server.encoding = "UTF8";
  server.fsync = "on";
  server.full_page_writes = "on";
  server.synchronous_commit = "off";  // Raised in every transaction of ours.
  EXPECT_EQ(relaxed_setting(server), "");
  EXPECT_NO_THROW(require_usable(server, {}));
  server.full_page_writes = "off";
  EXPECT_EQ(relaxed_setting(server), "full_page_writes = off");
  EXPECT_THROW(require_usable(server, {}), Error);
  Options options;
  options.role = Role::visitor;
  EXPECT_NO_THROW(require_usable(server, options));
  options.role = Role::runner;
  options.accept_relaxed_durability = true;
  EXPECT_NO_THROW(require_usable(server, options));
  server.encoding = "LATIN1";
  EXPECT_THROW(require_usable(server, options), Error);
}

TEST(PostgresSettings, PlacesAndErrorsDoNotShowPasswords) {
  Options options;
  options.connection = "postgres://ada:secret@db:5433/shop";
  EXPECT_EQ(place_of(options), "db:5433/shop");
  options.connection = "postgres://ada:secret@[db/shop";
  try {
    require_sense(options);
    ADD_FAILURE() << "it makes no sense";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_configuration);
    EXPECT_EQ(std::string{error.what()}.find("secret"), std::string::npos) << error.what();
  }
  options.connection = "postgres:///";
  options.schema = "no good; DROP";
  EXPECT_THROW(require_sense(options), Error);
}

}  // namespace
}  // namespace onefold::postgres
