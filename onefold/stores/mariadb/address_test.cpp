#include "onefold/stores/mariadb/address.h"

#include <gtest/gtest.h>

#include "onefold/error.h"

namespace onefold::mariadb {
namespace {

TEST(MariadbAddress, HasUserHostPortAndDatabase) {
  const Address address = parse_address("mariadb://ada:se%63ret%40x@db.example:3307/shop");
  EXPECT_EQ(address.user, "ada");
  EXPECT_EQ(address.password, "secret@x");
  EXPECT_EQ(address.host, "db.example");
  EXPECT_EQ(address.port, 3307U);
  EXPECT_EQ(address.database, "shop");
  EXPECT_EQ(address.tls, Tls::offered);
  EXPECT_EQ(address.place(), "shop at db.example:3307");
}

TEST(MariadbAddress, LeavesOutWhatHasADefault) {
  const Address address = parse_address("mariadb://localhost/my%20shop");
  EXPECT_EQ(address.user, "");
  EXPECT_EQ(address.password, "");
  EXPECT_EQ(address.port, 3306U);
  EXPECT_EQ(address.database, "my shop");
  EXPECT_EQ(parse_address("mariadb://ada@db/shop").user, "ada");
  EXPECT_EQ(parse_address("mariadb://ada:@db/shop").password, "");
  EXPECT_EQ(parse_address("mariadb://ada:a@b@db/shop").password, "a@b");
}

TEST(MariadbAddress, TakesIPv6Addresses) {
  EXPECT_EQ(parse_address("mariadb://[::1]/shop").host, "::1");
  EXPECT_EQ(parse_address("mariadb://ada@[fe80::2]:33/shop").port, 33U);
}

TEST(MariadbAddress, TakesASocketAndTls) {
  const Address local = parse_address("mariadb://ada@/shop?socket=%2Frun%2Fmysqld.sock&tls=off");
  EXPECT_EQ(local.socket, "/run/mysqld.sock");
  EXPECT_EQ(local.tls, Tls::off);
  EXPECT_EQ(local.place(), "shop at /run/mysqld.sock");
  const Address far =
      parse_address("mariadb://db/shop?tls=verify&tls_ca=/ca.pem&tls_cert=c&tls_key=k");
  EXPECT_EQ(far.tls, Tls::verified);
  EXPECT_EQ(far.tls_ca, "/ca.pem");
  EXPECT_EQ(far.tls_cert, "c");
  EXPECT_EQ(far.tls_key, "k");
  EXPECT_EQ(parse_address("mariadb://db/shop?tls=required").tls, Tls::required);
}

TEST(MariadbAddress, ADefectIsRefusedWithoutTheAddress) {
  for (const char* url :
       {"mysql://a:secret@db/shop", "mariadb://a:secret@db", "mariadb://a:secret@db/",
        "mariadb://a:secret@/shop", "mariadb://a:secret@db:0/shop", "mariadb://a:secret@db:x/shop",
        "mariadb://a:secret@db:65536/shop", "mariadb://a:secret%4@db/shop",
        "mariadb://a:secret%zz@db/shop", "mariadb://a:secret%00@db/shop",
        "mariadb://a:secret@[::1/shop", "mariadb://a:secret@[::1]x/shop",
        "mariadb://a:secret@db/shop?tls", "mariadb://a:secret@db/shop?tls=maybe",
        "mariadb://a:secret@db/shop?", "mariadb://a:secret@db/shop?timeout=5", ""}) {
    try {
      parse_address(url);
      ADD_FAILURE() << url << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration) << url;
      EXPECT_EQ(std::string{error.what()}.find("secret"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace onefold::mariadb
