#include "onefold/daemon/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace onefold {
namespace {

const std::vector<std::string> keys{"batch_max", "sources", "key", "url"};

TEST(Nearest, FindsDroppedAddedReplacedAndSwappedLetters) {
  EXPECT_EQ(nearest("batchmax", keys), "batch_max");
  EXPECT_EQ(nearest("batch__max", keys), "batch_max");
  EXPECT_EQ(nearest("batch-max", keys), "batch_max");
  EXPECT_EQ(nearest("soruces", keys), "sources");
  EXPECT_EQ(nearest("ulr", keys), "url");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("password", keys), std::nullopt);
  EXPECT_EQ(nearest("", keys), std::nullopt);
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1000, 'a'), keys), std::nullopt);
}

TEST(Nearest, HintListsWhatThereIs) {
  EXPECT_EQ(nearest_hint("soures", keys, "keys"), "did you mean \"sources\"?");
  EXPECT_EQ(nearest_hint("zzz", keys, "keys"), "the keys here are batch_max, sources, key, url");
  EXPECT_EQ(nearest_hint("zzz", {}, "keys"), "");
}

RC_GTEST_PROP(Nearest, OneWrongLetterIsFound, ()) {
  const auto which = *rc::gen::elementOf(keys);
  std::string word = which;
  const auto at = *rc::gen::inRange<std::size_t>(0, word.size());
  word[at] = 'Q';
  RC_ASSERT(nearest(word, keys) == which);
}

}  // namespace
}  // namespace onefold
