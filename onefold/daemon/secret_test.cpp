#include "onefold/daemon/secret.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>
#include <string>

namespace onefold {
namespace {

TEST(Secret, NeverPrintsItself) {
  std::ostringstream out;
  out << Secret{"correct horse"};
  EXPECT_EQ(out.str(), "***");
  EXPECT_EQ(Secret{"correct horse"}.reveal(), "correct horse");
}

TEST(Secret, UrlsAreShownWithoutTheirPasswords) {
  const struct {
    const char* url;
    const char* shown;
  } cases[] = {
      {"sqlite:shop.db", "sqlite:shop.db"},
      {"postgres://localhost/shop", "postgres://localhost/shop"},
      {"postgres://shop@localhost/shop", "postgres://shop@localhost/shop"},
      {"postgres://shop:horse@localhost:5432/shop", "postgres://shop:***@localhost:5432/shop"},
      {"postgres://shop:h@r:se@localhost/shop", "postgres://shop:***@localhost/shop"},
      {"postgres://shop:h/r?s e@localhost/shop", "postgres://shop:***@localhost/shop"},
      {"postgres:shop:horse@localhost", "postgres:***@localhost"},
      {"postgres://:horse@localhost", "postgres://:***@localhost"},
      {"postgres://localhost/shop?user=a&password=horse&sslmode=require",
       "postgres://localhost/shop?user=a&password=***&sslmode=require"},
      {"postgres://localhost/shop?SSLPassword=horse", "postgres://localhost/shop?SSLPassword=***"},
      {"host=db password=horse dbname=shop", "***"},
      {"mysql://db/shop?auth_token=horse", "mysql://db/shop?auth_token=***"},
      {"postgres://u:a/horse@127.0.0.1:1/d", "postgres://u:***@127.0.0.1:1/d"},
      {"postgres://u:p@horse@h/d", "postgres://u:***@h/d"},
      {"postgres://u:horse", "postgres://u:***"},
      {"postgres://u:1/horse@h", "postgres://u:***@h"},
      {"postgres://u:123456/d", "postgres://u:***"},
      {"postgres://a:1,[::1]:2,b/d", "postgres://a:1,[::1]:2,b/d"},
      {"postgres://[::1/d", "postgres://[:***"},
      {"u:horse@h/d", "u:***@h/d"},
      {"u:horse", "u:***"},
      {"u:a://horse@h", "u:***@h"},
      {"host=db password = 'hor se'", "***"},
      {"postgres://h/d?password=hor&se&user=u", "postgres://h/d?password=***&***&user=u"},
      {"postgres://h/d?password=hor@se", "postgres://h/d?password=***"},
      {"postgres://u:x@h/d?password=hor@se", "postgres://u:***"},
      {"postgres://h/d?p%61ssword=horse", "postgres://h/d?p%61ssword=***"},
      {"", ""},
  };
  for (const auto& each : cases) EXPECT_EQ(masked_url(each.url), each.shown) << each.url;
}

TEST(Secret, ANameThatMayBeAUrlIsKnown) {
  EXPECT_TRUE(may_be_url("postgres://u"));
  EXPECT_TRUE(may_be_url("u:horse@h"));
  EXPECT_FALSE(may_be_url("DATABASE_URL"));
  EXPECT_FALSE(may_be_url("/etc/onefold/url"));
}

RC_GTEST_PROP(Secret, APasswordIsNeverPartOfAShownUrl, ()) {
  // Without the letters of the rest, so that finding it means that it was shown.
  const auto password = *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string{"XYZ:@/?&=% 123"})));
  RC_PRE(password.find_first_of("XYZ123") != std::string::npos);
  const std::string shown = masked_url("postgres://user:" + password + "@host/shop");
  RC_ASSERT(shown.starts_with("postgres://user:***"));
  RC_ASSERT(shown.find_first_of("XYZ123") == std::string::npos);
}

}  // namespace
}  // namespace onefold
