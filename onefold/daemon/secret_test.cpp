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
      {"postgres:shop:horse@localhost", "postgres:shop:***@localhost"},
      {"postgres://:horse@localhost", "postgres://:***@localhost"},
      {"postgres://localhost/shop?user=a&password=horse&sslmode=require",
       "postgres://localhost/shop?user=a&password=***&sslmode=require"},
      {"postgres://localhost/shop?SSLPassword=horse", "postgres://localhost/shop?SSLPassword=***"},
      {"host=db password=horse dbname=shop", "host=db password=*** dbname=shop"},
      {"mysql://db/shop?auth_token=horse", "mysql://db/shop?auth_token=***"},
      {"", ""},
  };
  for (const auto& each : cases) EXPECT_EQ(masked_url(each.url), each.shown) << each.url;
}

RC_GTEST_PROP(Secret, APasswordIsNeverPartOfAShownUrl, ()) {
  // Without the letters of the rest, so that finding it means that it was shown.
  const auto password = *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string{"XYZ:@/?&=% 123"})));
  RC_PRE(password.find_first_of("XYZ123") != std::string::npos);
  const std::string shown = masked_url("postgres://user:" + password + "@host/shop");
  RC_ASSERT(shown == "postgres://user:***@host/shop");
}

}  // namespace
}  // namespace onefold
