#include "onefold/brokers/file/splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace onefold::file {
namespace {

/// An element that outlives the splitter's buffer.
struct Piece {
  std::uint64_t at = 0;
  std::uint64_t next = 0;
  std::uint64_t size = 0;
  std::string bytes;
  Fault fault = Fault::none;
  bool operator==(const Piece&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Piece& piece) {
  return out << piece.at << ".." << piece.next << " (" << piece.size << ") '"
             << piece.bytes.substr(0, 60) << "' fault " << static_cast<int>(piece.fault);
}

Piece keep(const Element& element) {
  return {element.at, element.next, element.size, std::string{element.bytes}, element.fault};
}

struct Cut {
  std::vector<Piece> pieces;
  Ending ending = Ending::clean;
  Piece rest;
  bool operator==(const Cut&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Cut& cut) {
  for (const Piece& piece : cut.pieces) out << piece << '\n';
  return out << "ending " << static_cast<int>(cut.ending) << ' ' << cut.rest;
}

/// Feeds `text` from the splitter's own offset on, at most `chunk` bytes at a time.
Cut run(Splitter& splitter, std::string_view text, std::size_t chunk) {
  Cut cut;
  for (;;) {
    while (const auto element = splitter.next()) cut.pieces.push_back(keep(*element));
    const auto from = text.substr(static_cast<std::size_t>(splitter.read_offset()), chunk);
    if (from.empty()) break;
    const auto room = splitter.room();
    const std::size_t count = std::min(room.size(), from.size());
    std::copy_n(from.begin(), count, room.begin());
    splitter.filled(count);
  }
  const Rest rest = splitter.rest();
  cut.ending = rest.ending;
  cut.rest = keep(rest.element);
  return cut;
}

Cut cut(std::string_view text, std::size_t limit = 1 << 20, std::size_t buffer = 1 << 20,
        std::size_t chunk = 1 << 20) {
  Splitter splitter{limit, buffer};
  return run(splitter, text, chunk);
}

std::vector<std::string> texts(const Cut& cut) {
  std::vector<std::string> result;
  for (const Piece& piece : cut.pieces) result.push_back(piece.bytes);
  return result;
}
using Texts = std::vector<std::string>;

TEST(Splitter, LinesHaveTheirOffsets) {
  const Cut result = cut("{\"a\":1}\n{\"b\":2}\n");
  ASSERT_EQ(result.pieces.size(), 2U);
  EXPECT_EQ(result.pieces[0], (Piece{0, 8, 7, "{\"a\":1}"}));
  EXPECT_EQ(result.pieces[1], (Piece{8, 16, 7, "{\"b\":2}"}));
  EXPECT_EQ(result.ending, Ending::clean);
}

TEST(Splitter, LineEndsMayBeCarriageReturnLineFeed) {
  const Cut result = cut("{\"a\":1}\r\n{\"b\":2}\r\n");
  EXPECT_EQ(texts(result), (Texts{"{\"a\":1}", "{\"b\":2}"}));
  EXPECT_EQ(result.pieces[1].at, 9U);
  EXPECT_EQ(result.pieces[1].next, 18U);
}

TEST(Splitter, BlankLinesAreNoElements) {
  EXPECT_EQ(texts(cut("\n \t\r\n{}\n\n  \n{}\n\n")), (Texts{"{}", "{}"}));
  EXPECT_EQ(cut(" \n\r\n\t ").pieces.size(), 0U);
  EXPECT_EQ(cut(" \n\r\n\t ").ending, Ending::clean);
  EXPECT_EQ(cut("").ending, Ending::clean);
}

TEST(Splitter, TheByteOrderMarkIsSkipped) {
  EXPECT_EQ(cut("\xEF\xBB\xBF{}\n").pieces.at(0), (Piece{3, 6, 2, "{}"}));
  EXPECT_EQ(cut("\xEF\xBB\xBF[{}]").pieces.at(0), (Piece{4, 6, 2, "{}"}));
  EXPECT_EQ(cut("\xEF\xBB\xBF").ending, Ending::clean);
  EXPECT_EQ(cut("\xEF\xBB").ending, Ending::last_line);
  // Only at the start: elsewhere it is a part of the line.
  EXPECT_EQ(texts(cut("{}\n\xEF\xBB\xBF{}\n")), (Texts{"{}", "\xEF\xBB\xBF{}"}));
}

TEST(Splitter, TheLastLineWithoutLineEndIsTheRest) {
  const Cut result = cut("{}\n{\"a\":1}");
  EXPECT_EQ(texts(result), (Texts{"{}"}));
  EXPECT_EQ(result.ending, Ending::last_line);
  EXPECT_EQ(result.rest, (Piece{3, 10, 7, "{\"a\":1}"}));
}

TEST(Splitter, ElementsOfAnArrayHaveTheirOffsets) {
  const Cut result = cut(" [ {\"a\":1} , {\"b\":[2,3]},\n{}]\n");
  ASSERT_EQ(texts(result), (Texts{"{\"a\":1}", "{\"b\":[2,3]}", "{}"}));
  EXPECT_EQ(result.pieces[0].at, 3U);
  EXPECT_EQ(result.pieces[0].next, 10U);
  EXPECT_EQ(result.pieces[1].at, 13U);
  EXPECT_EQ(result.ending, Ending::clean);
}

TEST(Splitter, StringsMayHoldBracketsCommasAndEscapedQuotes) {
  const std::string first = R"({"a":"]},{[","b":"\"}","c":"\\"})";
  const std::string second = R"(["\\\"]", "}"])";
  EXPECT_EQ(texts(cut("[" + first + "," + second + R"(,"x,]","\"" ])")),
            (Texts{first, second, "\"x,]\"", R"("\"")"}));
}

TEST(Splitter, ArraysMayFollowOneAnother) {
  const Cut result = cut("[{}]\n[]\n[1,[{}]]");
  EXPECT_EQ(texts(result), (Texts{"{}", "1", "[{}]"}));
  EXPECT_EQ(result.ending, Ending::clean);
}

TEST(Splitter, AMalformedElementCostsItselfAndNotItsNeighbours) {
  EXPECT_EQ(texts(cut(R"([{"a":1},{"a":]},{"b":nul},x y,{"c":1}])")),
            (Texts{R"({"a":1})", R"({"a":])", "}", R"({"b":nul})", "x", "y", R"({"c":1})"}));
  EXPECT_EQ(texts(cut("[{} junk {}]")), (Texts{"{}", "junk", "{}"}));
  EXPECT_EQ(texts(cut("[{}junk{}\"t\"1[2]]")), (Texts{"{}", "junk", "{}", "\"t\"", "1", "[2]"}));
  EXPECT_EQ(texts(cut("[[1],,{},]")), (Texts{"[1]", "{}"}));
}

TEST(Splitter, ALineMayBeginWithABracket) {
  EXPECT_EQ(texts(cut("[2026-11-30] started\n{}\n")), (Texts{"[2026-11-30] started", "{}"}));
  EXPECT_EQ(texts(cut("[\"a\"]\n[1]\n")), (Texts{"[\"a\"]", "[1]"}));
  EXPECT_EQ(texts(cut("[ \n\t {}]")), (Texts{"{}"}));
  EXPECT_EQ(texts(cut("[]\n[{}]")), (Texts{"{}"}));
  EXPECT_EQ(texts(cut("[" + std::string(5000, ' ') + "\n{}\n")).back(), "{}");
}

TEST(Splitter, AfterABracketAloneItIsNotDecidedYet) {
  for (const char* text : {"[", " [\n", "[  \r\n\t"}) {
    Splitter splitter{100, 1};
    const Cut result = run(splitter, text, 1);
    EXPECT_TRUE(result.pieces.empty());
    EXPECT_EQ(splitter.layout(), Layout::unknown);
    EXPECT_EQ(result.ending, Ending::open_array);
  }
}

TEST(Splitter, TheDigestOfAnOversizedElementIsOfAllItsBytes) {
  // printf 'yyyy...' | sha256sum, 5000 times the same letter.
  const std::string line(5000, 'y');
  const std::string digest = "3c45db29c8ef328025296a2b8b1db1afe7229eedd84a62f5290a1f60c47c6ee6";
  for (const std::size_t buffer : {std::size_t{16}, std::size_t{1} << 20}) {
    for (const std::size_t limit : {std::size_t{100}, std::size_t{4998}, std::size_t{4999}}) {
      for (const char* end : {"\n", "\r\n"}) {
        Splitter splitter{limit, buffer};
        const std::string text = line + end + line + end;
        std::size_t found = 0;
        while (splitter.read_offset() < text.size()) {
          const auto room = splitter.room();
          const auto from =
              text.substr(splitter.read_offset(), std::min<std::size_t>(room.size(), 7));
          std::ranges::copy(from, room.begin());
          splitter.filled(from.size());
          while (const auto element = splitter.next()) {
            EXPECT_EQ(element->digest, digest) << buffer << ' ' << limit;
            ++found;
          }
        }
        EXPECT_EQ(found, 2U);
      }
    }
  }
}

TEST(Splitter, TextOutsideOfTheArraysIsStray) {
  const Cut result = cut("[{}] {\"a\":1}\n [{}]");
  ASSERT_EQ(result.pieces.size(), 3U);
  EXPECT_EQ(result.pieces[1].fault, Fault::stray);
  EXPECT_EQ(result.pieces[1].bytes, "{\"a\":1}\n ");
  EXPECT_EQ(result.pieces[2].bytes, "{}");
  EXPECT_EQ(result.ending, Ending::clean);
}

TEST(Splitter, ACutArrayIsNoticed) {
  EXPECT_EQ(cut("[{},{\"a\":").ending, Ending::cut_short);
  EXPECT_EQ(cut("[{},{\"a\":").rest.at, 4U);
  EXPECT_EQ(cut("[{},\"a").ending, Ending::cut_short);
  EXPECT_EQ(cut("[{},12").ending, Ending::cut_short);
  EXPECT_EQ(cut("[{}").ending, Ending::open_array);
  EXPECT_EQ(cut("[{},").ending, Ending::open_array);
  EXPECT_EQ(cut("[").ending, Ending::open_array);
  EXPECT_EQ(cut("[{}] x").ending, Ending::cut_short);
}

TEST(Splitter, P12_AnOversizedLineIsSkippedAndItsBeginningKept) {
  const std::size_t limit = 200'000;
  const std::string exact(limit, 'x');
  const std::string large(limit + 1, 'y');
  const std::string text = exact + "\r\n" + large + "\r\n" + std::string(3 * limit, 'z') + "\n{}\n";
  for (const std::size_t buffer : {std::size_t{16}, std::size_t{4096}, std::size_t{1} << 20}) {
    const Cut result = cut(text, limit, buffer);
    ASSERT_EQ(result.pieces.size(), 4U);
    EXPECT_EQ(result.pieces[0], (Piece{0, limit + 2, limit, exact}));
    EXPECT_EQ(result.pieces[1],
              (Piece{limit + 2, 2 * limit + 5, limit + 1, large.substr(0, Splitter::kept_bytes_max),
                     Fault::too_large}));
    EXPECT_EQ(result.pieces[2].size, 3 * limit);
    EXPECT_EQ(result.pieces[2].fault, Fault::too_large);
    EXPECT_EQ(result.pieces[3].bytes, "{}");
  }
}

TEST(Splitter, P12_TheBufferDoesNotOutgrowTheLimit) {
  Splitter splitter{1000, 64};
  std::size_t largest = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(splitter.next().has_value());
    const auto room = splitter.room();
    ASSERT_GT(room.size(), 0U);
    largest = std::max(largest, room.size());
    std::ranges::fill(room, 'x');
    splitter.filled(room.size());
  }
  EXPECT_LE(largest, 1002U);
  EXPECT_EQ(splitter.rest().element.fault, Fault::too_large);
}

TEST(Splitter, P12_AnOversizedElementOfAnArrayIsSkipped) {
  const std::string large = "{\"a\":\"" + std::string(100'000, ']') + "\\\"\"}";
  const Cut result = cut("[[]," + large + ",{\"b\":2}]", 500, 64);
  ASSERT_EQ(result.pieces.size(), 3U);
  EXPECT_EQ(result.pieces[1].fault, Fault::too_large);
  EXPECT_EQ(result.pieces[1].size, large.size());
  EXPECT_EQ(result.pieces[1].bytes, large.substr(0, 502));
  EXPECT_EQ(result.pieces[2].bytes, "{\"b\":2}");
}

TEST(Splitter, ADeeplyNestedElementNeedsNoStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const Cut result = cut("[" + deep + ",{}]", 1 << 22);
  ASSERT_EQ(result.pieces.size(), 2U);
  EXPECT_EQ(result.pieces[0].size, deep.size());
}

/// Text made of what is significant here, so that every state is met often.
rc::Gen<std::string> texts_of_signs() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                          "{", "}", "[", "]", ",", "\"", "\\", "\n", "\r\n", " ", "a", "{\"a\":1}",
                          "{\"b\":[]}", "\"\\\"\"", "xxxxxxxxxxxx", "\xEF\xBB\xBF", "\r")),
                      [](const std::vector<std::string>& parts) {
                        std::string text;
                        for (const std::string& part : parts) text += part;
                        return text;
                      });
}

rc::Gen<std::string> inputs() {
  return rc::gen::apply([](const char* start, const std::string& text) { return start + text; },
                        rc::gen::element("", "[", "\xEF\xBB\xBF", " [ "), texts_of_signs());
}

/// How much of an oversized element is kept depends on the buffer; that it is oversized does not.
Cut without_kept(Cut cut) {
  for (Piece& piece : cut.pieces) {
    if (piece.fault == Fault::too_large) piece.bytes.clear();
  }
  if (cut.rest.fault == Fault::too_large) cut.rest.bytes.clear();
  return cut;
}

RC_GTEST_PROP(SplitterProperty, ChunksAndBuffersMakeNoDifference, ()) {
  const auto text = *inputs();
  const auto limit = *rc::gen::inRange<std::size_t>(1, 20);
  const auto buffer = *rc::gen::inRange<std::size_t>(1, 40);
  const auto chunk = *rc::gen::inRange<std::size_t>(1, 10);
  RC_ASSERT(without_kept(cut(text, limit, buffer, chunk)) == without_kept(cut(text, limit)));
}

RC_GTEST_PROP(SplitterProperty, EveryNextIsAPlaceToGoOnFrom, ()) {
  const auto text = *inputs();
  const auto buffer = *rc::gen::inRange<std::size_t>(1, 40);
  const Cut whole = cut(text);
  Splitter reference{1 << 20};
  run(reference, text, 1 << 20);
  for (std::size_t i = 0; i < whole.pieces.size(); ++i) {
    Splitter splitter{1 << 20, buffer};
    splitter.restart(reference.layout(), whole.pieces[i].next);
    const Cut tail = run(splitter, text, 7);
    const auto from = whole.pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    RC_ASSERT(tail.pieces == std::vector<Piece>(from, whole.pieces.end()));
    RC_ASSERT(tail.ending == whole.ending);
  }
}

RC_GTEST_PROP(SplitterProperty, NothingButSeparatorsIsLost, ()) {
  const auto text = *inputs();
  std::string left = text;
  const Cut whole = cut(text);
  const auto blank_out = [&](const Piece& piece) {
    std::fill_n(left.begin() + static_cast<std::ptrdiff_t>(piece.at), piece.size, ' ');
  };
  std::uint64_t previous = 0;
  for (const Piece& piece : whole.pieces) {
    RC_ASSERT(piece.at >= previous);
    RC_ASSERT(piece.next > piece.at);
    previous = piece.next;
    blank_out(piece);
  }
  if (whole.ending == Ending::last_line || whole.ending == Ending::cut_short) blank_out(whole.rest);
  if (left.starts_with("\xEF\xBB\xBF")) left.erase(0, 3);
  RC_ASSERT(left.find_first_not_of(" \t\r\n,[]") == std::string::npos);
}

}  // namespace
}  // namespace onefold::file
