#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/brokers/file/running_digest.h"

namespace onefold::file {

/// What a file is. Decided once: it is arrays if its first byte that is not white space is `[` and
/// the next one `{`, `[` or `]`. A line of text may begin with a bracket too.
enum class Layout {
  unknown,  ///< Not decided yet: only white space so far, or a bracket and nothing behind it.
  lines,    ///< One JSON value a line.
  arrays,   ///< JSON arrays, one after the other; their elements are the events.
};

enum class Fault {
  none,
  too_large,  ///< Larger than the limit: `bytes` is only its beginning.
  stray,      ///< Text after the end of an array that opens no other one.
};

/// One line, or one element of an array.
struct Element {
  std::uint64_t at = 0;     ///< Offset of its first byte.
  std::uint64_t next = 0;   ///< Where reading goes on once it is settled.
  std::uint64_t size = 0;   ///< In bytes, without the line end.
  std::string_view bytes;   ///< Valid until the splitter is called again; so is `digest`.
  std::string_view digest;  ///< If it is too large: SHA-256 of the whole, in hexadecimal digits.
  Fault fault = Fault::none;
};

/// What is left when the input ends.
enum class Ending {
  clean,
  last_line,   ///< Without a line end: complete or not, JSON alone can tell.
  cut_short,   ///< Within an element, or in text outside of the arrays.
  open_array,  ///< The closing bracket is missing.
};
struct Rest {
  Ending ending = Ending::clean;
  Element element;     ///< Of `last_line` and `cut_short`; otherwise only its offsets.
  bool stray = false;  ///< What was cut short stands outside of the arrays.
};

/// Cuts a stream of bytes into elements, in memory bounded by the buffer or the limit, whichever is
/// larger. Used by one thread:
///
///     while (auto element = splitter.next()) { ... }
///     splitter.filled(read(fd, splitter.room()));
///
/// Lines end with LF or CRLF; those of white space alone are skipped. In arrays only brackets and
/// strings are tracked, so that a malformed element costs itself and not its neighbours; commas are
/// separators and are not counted: one too many or too few loses nothing. After an element the
/// state is always the same, which is why reading can start again at every `next`.
class Splitter {
 public:
  /// Of an oversized element, so much is kept for the dead letter.
  static constexpr std::size_t kept_bytes_max = 1 << 16;

  explicit Splitter(std::size_t element_bytes_max, std::size_t buffer_bytes = 1 << 20);

  /// Forgets everything. `offset` is 0 with an unknown layout, or the `next` of an element.
  void restart(Layout layout, std::uint64_t offset);
  /// Where to put what is read next; never empty. Call it only when `next` had nothing.
  std::span<char> room();
  void filled(std::size_t count) noexcept { end_ += count; }
  /// The next complete element; absent if more bytes are needed.
  std::optional<Element> next();
  /// What remains if no more bytes come. Changes nothing: more may still come.
  Rest rest() const;

  Layout layout() const noexcept { return layout_; }
  /// The last bytes before `read_offset`, as far as they are at hand.
  std::string_view recent() const noexcept;
  /// Offset of the byte to be read next.
  std::uint64_t read_offset() const noexcept { return base_ + end_; }

 private:
  enum class Shape { nested, text, bare, stray };

  bool detect();
  bool detect_array();
  std::optional<Element> next_line();
  std::optional<Element> next_in_array();
  bool start_element();
  bool scan_element() noexcept;
  bool scan_nested() noexcept;
  bool scan_bare() noexcept;
  bool scan_stray() noexcept;
  Element take(std::size_t stop, std::size_t resume);
  void digest_rest(std::uint64_t size);
  void drop_scanned();
  Element describe(std::size_t stop) const;
  bool ends_with_carriage_return(std::size_t stop) const noexcept;

  std::size_t element_bytes_max_;
  std::size_t buffer_bytes_;
  std::vector<char> buffer_;
  std::uint64_t base_ = 0;   ///< Offset of the buffer's first byte.
  std::size_t begin_ = 0;    ///< Of the current element.
  std::size_t scanned_ = 0;  ///< Everything before has been looked at.
  std::size_t end_ = 0;      ///< Of what was read.

  Layout layout_ = Layout::unknown;
  bool inside_ = false;   ///< Of an array.
  bool started_ = false;  ///< The current element of an array has begun.
  Shape shape_ = Shape::bare;
  std::uint64_t depth_ = 0;
  bool quoted_ = false;
  bool escaped_ = false;

  std::uint64_t dropped_ = 0;  ///< Bytes of the current element that are no longer in the buffer.
  char last_dropped_ = 0;
  std::string kept_;      ///< The beginning of an element of which bytes were dropped.
  RunningDigest digest_;  ///< Over what was dropped, but for `last_dropped_`.
  std::string digest_text_;
};

}  // namespace onefold::file
