#include "onefold/brokers/file/mark.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "onefold/brokers/file/temporary_file.h"

namespace onefold::file {
namespace {

class Mark : public testing::Test {
 protected:
  /// The mark of the first line of `text`.
  std::uint64_t mark(const std::string& text, std::size_t limit = 1 << 20) {
    write(path, text);
    Splitter splitter{limit, 1 << 10};
    const OpenedFile file = opened();
    for (;;) {
      if (const auto element = splitter.next()) {
        next = element->next;
        return mark_of(*element, file);
      }
      const std::size_t count = file.read(splitter.read_offset(), splitter.room());
      if (count == 0) return 0;
      splitter.filled(count);
    }
  }
  OpenedFile opened() const { return OpenedFile::open(path.string()).value(); }
  bool is_borne_by(const std::string& text, std::uint64_t mark) {
    write(path, text);
    return bears(opened(), next, mark);
  }

  TemporaryFolder folder;
  std::filesystem::path path = folder / "file";
  std::uint64_t next = 0;
};

TEST_F(Mark, ItsValueIsAFileFormat) {
  EXPECT_EQ(mark("abc\n") >> 40, 0x01'0003U);
  EXPECT_EQ(mark("abc\r\n") >> 40, 0x02'0003U);
  EXPECT_EQ(mark(std::string(100'000, 'x') + "\n") >> 40, 0x01'FFFFU);
  EXPECT_EQ(mark("abc\n"), 72061610633716947U);
  EXPECT_EQ(mark(std::string(100'000, 'x') + "\n"), 144114207674085182U);
}

TEST_F(Mark, EveryByteOfAnElementCountsAndNoneBehindIt) {
  for (const std::size_t size : {1U, 33U, 256U}) {
    const std::string line(size, 'x');
    const std::uint64_t first = mark(line + "\n");
    EXPECT_TRUE(is_borne_by(line + "\nmore", first));
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = line;
      other[i] = 'y';
      EXPECT_FALSE(is_borne_by(other + "\n", first)) << size << ' ' << i;
    }
    EXPECT_FALSE(is_borne_by(line + "x\n", first));
    EXPECT_FALSE(is_borne_by(line, first));
    EXPECT_FALSE(is_borne_by("", first));
  }
}

TEST_F(Mark, OfALongElementBothEndsCount) {
  const std::string line(5000, 'x');
  const std::uint64_t first = mark(line + "\n");
  EXPECT_TRUE(is_borne_by(line + "\n", first));
  for (const std::size_t i : {0U, 127U, 4872U, 4999U}) {
    std::string other = line;
    other[i] = 'y';
    EXPECT_FALSE(is_borne_by(other + "\n", first)) << i;
  }
}

TEST_F(Mark, OfACutElementItIsReadBack) {
  const std::string line = std::string(70'000, 'x') + "end";
  const std::uint64_t whole = mark(line + "\r\n");
  EXPECT_EQ(mark(line + "\r\n", 1000), whole);
  EXPECT_TRUE(is_borne_by(line + "\r\n", whole));
  EXPECT_FALSE(is_borne_by(std::string(70'001, 'x') + "nd\r\n", whole));
}

TEST_F(Mark, WithoutOneAPositionMustFollowALineEnd) {
  next = 4;
  EXPECT_TRUE(is_borne_by("abc\n", 0));
  EXPECT_FALSE(is_borne_by("abcd\n", 0));
  EXPECT_FALSE(is_borne_by("abc", 0));
  next = 0;
  EXPECT_TRUE(is_borne_by("", 0));
}

RC_GTEST_FIXTURE_PROP(Mark, PropertyIsFoundAgainInTheSameFile, (const std::string& bytes)) {
  std::string line = "a" + bytes + std::string(*rc::gen::inRange<std::size_t>(0, 400), 'x');
  std::erase(line, '\n');
  std::erase(line, '\r');
  const std::uint64_t first = mark(line + "\n");
  RC_ASSERT(first != 0U);
  RC_ASSERT(bears(opened(), next, first));
}

}  // namespace
}  // namespace onefold::file
