#include "onefold/stores/mariadb/settings.h"

#include <gtest/gtest.h>

#include "onefold/stores/mariadb/failure.h"

namespace onefold::mariadb {
namespace {

TEST(MariadbSettings, ACommitIsDurableIfEveryPlaceThatHoldsItIsSynced) {
  EXPECT_TRUE(judge_durability("1", "1", "0", "0").durable);
  EXPECT_TRUE(judge_durability("1", "1", "1", "1").durable);
  EXPECT_TRUE(judge_durability("3", "1", "1", "1").durable);
  EXPECT_TRUE(judge_durability("1", "ON", "0", "0").durable);
  for (const char* flush : {"0", "2"}) {
    EXPECT_FALSE(judge_durability(flush, "1", "0", "0").durable) << flush;
  }
  EXPECT_FALSE(judge_durability("1", "0", "0", "0").durable);
  EXPECT_FALSE(judge_durability("1", "OFF", "0", "0").durable);
  EXPECT_FALSE(judge_durability("1", "1", "1", "0").durable);
  EXPECT_FALSE(judge_durability("1", "1", "1", "100").durable);
  EXPECT_NE(judge_durability("2", "1", "0", "0").text.find("innodb_flush_log_at_trx_commit = 2"),
            std::string::npos);
}

TEST(MariadbSettings, ATimeoutIsNeverRoundedToNone) {
  Options options;
  options.lock_timeout = std::chrono::milliseconds{1};
  options.idle_timeout = std::chrono::milliseconds{1'001};
  options.statement_timeout = std::chrono::milliseconds{250};
  const std::string sql = set_up_sql(options, Purpose::apply);
  EXPECT_NE(sql.find("innodb_lock_wait_timeout = 1,"), std::string::npos) << sql;
  EXPECT_NE(sql.find("idle_transaction_timeout = 2"), std::string::npos) << sql;
  EXPECT_NE(sql.find("max_statement_time = 0.25"), std::string::npos) << sql;
}

TEST(MariadbFailure, B04_TheNumberDecidesWhateverTheText) {
  struct Case {
    unsigned int code;
    Origin origin;
    ErrorKind kind;
  };
  using enum ErrorKind;
  for (const Case& each : {
           Case{1205, Origin::handler, contention},
           Case{1213, Origin::own, contention},
           Case{1020, Origin::handler, contention},
           Case{1317, Origin::handler, contention},
           Case{1969, Origin::handler, contention},
           Case{2006, Origin::handler, unavailable},
           Case{2013, Origin::own, unavailable},
           Case{2055, Origin::own, unavailable},
           Case{2002, Origin::opening, unavailable},
           Case{1040, Origin::opening, unavailable},
           Case{1203, Origin::opening, unavailable},
           Case{1053, Origin::own, unavailable},
           Case{1927, Origin::handler, unavailable},
           Case{1114, Origin::handler, unavailable},
           Case{1021, Origin::handler, unavailable},
           Case{1290, Origin::handler, unavailable},
           Case{1062, Origin::handler, permanent},
           Case{1452, Origin::handler, permanent},
           Case{4025, Origin::handler, permanent},
           Case{1264, Origin::handler, permanent},
           Case{1644, Origin::handler, permanent},
           Case{1146, Origin::handler, bad_configuration},
           Case{1054, Origin::handler, bad_configuration},
           Case{1142, Origin::handler, bad_configuration},
           Case{1064, Origin::text, bad_configuration},
           Case{1045, Origin::opening, bad_configuration},
           Case{1049, Origin::opening, bad_configuration},
           Case{1146, Origin::own, bad_configuration},
           Case{2014, Origin::handler, contract_violation},
       }) {
    EXPECT_EQ(kind_of(each.code, each.origin), each.kind) << each.code;
  }
}

TEST(MariadbFailure, AValueIsLeftOutWhateverItLooksLike) {
  const auto words = [](unsigned int code, const char* text) {
    return words_of({code, "23000", text}, Origin::handler);
  };
  EXPECT_EQ(words(1062, "Duplicate entry 'a' for key 'b' c' for key 'PRIMARY'"),
            "a row with the same values exists under key 'PRIMARY' (MariaDB error 1062, 23000)");
  EXPECT_EQ(words(1062, "Doppelter Eintrag 'secret' f\u00fcr Schl\u00fcssel 'PRIMARY'"),
            "a row with the same values exists (MariaDB error 1062, 23000)");
  EXPECT_EQ(words(1644, "secret"), "a trigger or procedure refuses (MariaDB error 1644, 23000)");
}

}  // namespace
}  // namespace onefold::mariadb
