#include "onefold/brokers/file/splitter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/require.h"
#include "tests/fuzz/targets.h"

namespace onefold::fuzz {
namespace {

using file::Ending;
using file::Fault;
using file::Layout;
using file::Splitter;

constexpr std::size_t head_bytes = 3;
constexpr std::size_t places_max = 4;

/// How a text is read: none of it may change what is found.
struct Reading {
  std::size_t element_bytes_max = 1 << 20;
  std::size_t buffer_bytes = 1 << 10;
  std::size_t chunk_bytes = 1 << 10;
};

/// An element that outlives the splitter's buffer. What is kept of an oversized one depends on the
/// buffer; the digest of the whole does not.
struct Piece {
  std::uint64_t at = 0;
  std::uint64_t next = 0;
  std::uint64_t size = 0;
  Fault fault = Fault::none;
  std::string bytes;
  bool operator==(const Piece&) const = default;
};

struct Cut {
  std::vector<Piece> pieces;
  Ending ending = Ending::clean;
  Piece rest;
  Layout layout = Layout::unknown;
  bool operator==(const Cut&) const = default;
};

Piece keep(const file::Element& element) {
  return {element.at, element.next, element.size, element.fault,
          std::string{element.fault == Fault::too_large ? element.digest : element.bytes}};
}

Cut cut(std::string_view text, const Reading& reading, Layout layout = Layout::unknown,
        std::uint64_t from = 0) {
  Splitter splitter{reading.element_bytes_max, reading.buffer_bytes};
  splitter.restart(layout, from);
  Cut cut;
  for (;;) {
    while (const auto element = splitter.next()) {
      require(element->next > element->at, "reading goes forward");
      cut.pieces.push_back(keep(*element));
    }
    const auto offset = std::min<std::size_t>(splitter.read_offset(), text.size());
    const std::string_view more = text.substr(offset, reading.chunk_bytes);
    if (more.empty()) break;
    const auto room = splitter.room();
    require(!room.empty(), "there is room");
    const std::size_t count = std::min(room.size(), more.size());
    std::copy_n(more.begin(), count, room.begin());
    splitter.filled(count);
  }
  const file::Rest rest = splitter.rest();
  cut.ending = rest.ending;
  cut.rest = keep(rest.element);
  // Of what has not ended there is no digest yet.
  if (rest.element.fault == Fault::too_large) cut.rest.bytes.clear();
  cut.layout = splitter.layout();
  return cut;
}

/// Everything but separators and white space is in some element.
void check_nothing_is_lost(std::string_view text, const Cut& whole) {
  std::string left{text};
  const auto blank_out = [&](const Piece& piece) {
    require(piece.at + piece.size <= left.size(), "an element is within the text");
    std::fill_n(left.begin() + static_cast<std::ptrdiff_t>(piece.at), piece.size, ' ');
  };
  std::uint64_t previous = 0;
  for (const Piece& piece : whole.pieces) {
    require(piece.at >= previous, "elements do not overlap");
    previous = piece.next;
    require(piece.fault == Fault::too_large ||
                piece.bytes == text.substr(static_cast<std::size_t>(piece.at),
                                           static_cast<std::size_t>(piece.size)),
            "an element has the bytes of the text");
    blank_out(piece);
  }
  if (whole.ending == Ending::last_line || whole.ending == Ending::cut_short) blank_out(whole.rest);
  if (left.starts_with("\xEF\xBB\xBF")) left.erase(0, 3);
  require(left.find_first_not_of(" \t\r\n,[]") == std::string::npos, "nothing is lost");
}

/// Every `next` is a place to go on from.
void check_places(std::string_view text, const Cut& whole, const Reading& reading) {
  const std::size_t count = std::min(whole.pieces.size(), places_max);
  for (std::size_t i = 0; i < count; ++i) {
    const Cut tail = cut(text, reading, whole.layout, whole.pieces[i].next);
    require(
        std::equal(tail.pieces.begin(), tail.pieces.end(),
                   whole.pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1, whole.pieces.end()),
        "reading can start again behind every element");
    require(tail.ending == whole.ending, "and ends alike");
  }
}

}  // namespace

void splitter(std::string_view bytes) {
  if (bytes.size() < head_bytes) return;
  const auto number = [&](std::size_t index) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[index]));
  };
  const std::size_t limit = 1 + number(0);
  const Reading small{
      .element_bytes_max = limit, .buffer_bytes = 1 + number(1), .chunk_bytes = 1 + number(2)};
  const std::string_view text = bytes.substr(head_bytes);
  const Cut whole = cut(text, {.element_bytes_max = limit});
  require(cut(text, small) == whole, "buffers and chunks make no difference");
  check_nothing_is_lost(text, whole);
  check_places(text, whole, small);
}

}  // namespace onefold::fuzz
