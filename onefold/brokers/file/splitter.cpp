#include "onefold/brokers/file/splitter.h"

#include <algorithm>
#include <cstring>

namespace onefold::file {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// So much white space after the first bracket is waited through; no writer of JSON leaves more.
constexpr std::size_t indent_max = 4096;
constexpr std::size_t recent_max = 256;

constexpr bool is_space(char byte) noexcept {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

bool is_blank(std::string_view text) noexcept {
  return std::ranges::all_of(text, is_space);
}

}  // namespace

Splitter::Splitter(std::size_t element_bytes_max, std::size_t buffer_bytes)
    : element_bytes_max_{element_bytes_max},
      buffer_bytes_{std::max<std::size_t>(buffer_bytes, 1)} {}

void Splitter::restart(Layout layout, std::uint64_t offset) {
  base_ = offset;
  begin_ = scanned_ = end_ = 0;
  layout_ = layout;
  inside_ = layout == Layout::arrays;
  started_ = false;
  if (dropped_ > 0) digest_ = {};
  dropped_ = 0;
  kept_.clear();
}

std::span<char> Splitter::room() {
  if (buffer_.empty()) buffer_.resize(buffer_bytes_);
  if (end_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    base_ += begin_;
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    // One element fills the buffer. The largest acceptable one needs room for CRLF behind it; what
    // is still unfinished beyond that is too large for certain.
    const std::size_t wanted = element_bytes_max_ + 2;
    if (buffer_.size() < wanted) {
      buffer_.resize(std::min(wanted, buffer_.size() * 2));
    } else {
      drop_scanned();
    }
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

void Splitter::drop_scanned() {
  if (dropped_ == 0) kept_.assign(buffer_.data(), std::min(end_, kept_bytes_max));
  // The last byte may turn out to be a part of the line end.
  if (dropped_ > 0) digest_.add({&last_dropped_, 1});
  digest_.add({buffer_.data(), end_ - 1});
  last_dropped_ = buffer_[end_ - 1];
  dropped_ += end_;
  base_ += end_;
  scanned_ = end_ = 0;
}

std::optional<Element> Splitter::next() {
  if (layout_ == Layout::unknown && !detect()) return std::nullopt;
  return layout_ == Layout::lines ? next_line() : next_in_array();
}

bool Splitter::detect() {
  if (base_ == 0 && scanned_ == 0) {
    const std::string_view start{buffer_.data(), std::min(end_, byte_order_mark.size())};
    if (start == byte_order_mark) {
      scanned_ = byte_order_mark.size();
    } else if (byte_order_mark.starts_with(start)) {
      return false;  // Perhaps a mark of which the rest has not been read yet.
    }
  }
  while (scanned_ < end_ && is_space(buffer_[scanned_])) ++scanned_;
  begin_ = scanned_;
  if (scanned_ == end_) return false;
  if (buffer_[scanned_] == '[') return detect_array();
  layout_ = Layout::lines;
  return true;
}

bool Splitter::detect_array() {
  const std::size_t limit = std::min(indent_max, element_bytes_max_);
  std::size_t second = begin_ + 1;
  while (second < end_ && is_space(buffer_[second])) ++second;
  if (second == end_ && second - begin_ <= limit) return false;
  const bool opens = second < end_ && second - begin_ <= limit &&
                     std::string_view{"{[]"}.find(buffer_[second]) != std::string_view::npos;
  layout_ = opens ? Layout::arrays : Layout::lines;
  return true;
}

std::optional<Element> Splitter::next_line() {
  while (scanned_ < end_) {
    const char* from = buffer_.data() + scanned_;
    const auto* found = static_cast<const char*>(std::memchr(from, '\n', end_ - scanned_));
    if (found == nullptr) {
      scanned_ = end_;
      break;
    }
    const auto stop = static_cast<std::size_t>(found - buffer_.data());
    const Element line = take(stop, stop + 1);
    if (line.fault != Fault::none || !is_blank(line.bytes)) return line;
  }
  return std::nullopt;
}

std::optional<Element> Splitter::next_in_array() {
  if (!started_ && !start_element()) return std::nullopt;
  if (!scan_element()) return std::nullopt;
  started_ = false;
  if (shape_ != Shape::stray) return take(scanned_, scanned_);
  // Stray text takes the opening bracket after it along, so that reading never has to start again
  // between two arrays.
  inside_ = true;
  Element element = take(scanned_, scanned_ + 1);
  if (element.fault == Fault::none) element.fault = Fault::stray;
  return element;
}

/// Skips what stands between elements. Returns false if no element begins in the buffer.
bool Splitter::start_element() {
  for (; scanned_ < end_; ++scanned_) {
    const char byte = buffer_[scanned_];
    if (is_space(byte)) continue;
    if (!inside_) {
      if (byte != '[') break;
      inside_ = true;
    } else if (byte == ']') {
      inside_ = false;
    } else if (byte != ',') {
      break;
    }
  }
  begin_ = scanned_;
  if (scanned_ == end_) return false;
  const char first = buffer_[scanned_];
  started_ = true;
  depth_ = 0;
  quoted_ = escaped_ = false;
  shape_ = !inside_                       ? Shape::stray
           : first == '{' || first == '[' ? Shape::nested
           : first == '"'                 ? Shape::text
                                          : Shape::bare;
  return true;
}

/// Moves `scanned_` behind the current element, or to the end of the buffer and returns false.
bool Splitter::scan_element() noexcept {
  switch (shape_) {
    case Shape::nested:
    case Shape::text:
      return scan_nested();
    case Shape::bare:
      return scan_bare();
    case Shape::stray:
      break;
  }
  return scan_stray();
}

bool Splitter::scan_nested() noexcept {
  // Copies, because the compiler must assume that every member may be looked at from elsewhere.
  const char* const bytes = buffer_.data();
  std::uint64_t depth = depth_;
  bool quoted = quoted_;
  bool escaped = escaped_;
  bool closed = false;
  std::size_t i = scanned_;
  for (; i < end_ && !closed; ++i) {
    const char byte = bytes[i];
    if (quoted) {
      quoted = byte != '"' || escaped;
      escaped = byte == '\\' && !escaped;
      closed = !quoted && depth == 0;
    } else if (byte == '"') {
      quoted = true;
    } else if (byte == '{' || byte == '[') {
      ++depth;
    } else if (byte == '}' || byte == ']') {
      closed = --depth == 0;
    }
  }
  scanned_ = i;
  depth_ = depth;
  quoted_ = quoted;
  escaped_ = escaped;
  return closed;
}

bool Splitter::scan_bare() noexcept {
  constexpr std::string_view stops = ",[]{\"";
  // The byte that began it belongs to it, whatever it is: a stray brace must not stand still.
  const std::size_t first = dropped_ == 0 ? begin_ : buffer_.size();
  for (; scanned_ < end_; ++scanned_) {
    const char byte = buffer_[scanned_];
    if (scanned_ != first && (is_space(byte) || stops.find(byte) != stops.npos)) return true;
  }
  return false;
}

bool Splitter::scan_stray() noexcept {
  const char* from = buffer_.data() + scanned_;
  const void* found = std::memchr(from, '[', end_ - scanned_);
  scanned_ = found == nullptr
                 ? end_
                 : scanned_ + static_cast<std::size_t>(static_cast<const char*>(found) - from);
  return found != nullptr;
}

/// The current element ends before `stop`; the next one is looked for from `resume` on.
Element Splitter::take(std::size_t stop, std::size_t resume) {
  Element element = describe(stop);
  element.next = base_ + resume;
  if (element.fault == Fault::too_large) {
    digest_rest(element.size);
    element.digest = digest_text_;
  }
  begin_ = scanned_ = resume;
  dropped_ = 0;
  return element;
}

/// Completes the digest of the current element.
void Splitter::digest_rest(std::uint64_t size) {
  std::uint64_t left = size;
  if (dropped_ > 0) {
    left -= dropped_ - 1;
    if (left > 0) {
      digest_.add({&last_dropped_, 1});
      --left;
    }
  }
  digest_.add({buffer_.data() + begin_, static_cast<std::size_t>(left)});
  digest_text_ = digest_.finish();
}

Element Splitter::describe(std::size_t stop) const {
  Element element;
  element.at = base_ + begin_ - dropped_;
  element.next = base_ + stop;
  element.size = dropped_ + stop - begin_;
  if (layout_ == Layout::lines && ends_with_carriage_return(stop)) --element.size;
  if (dropped_ > 0) {
    element.bytes = kept_;
  } else {
    element.bytes = {buffer_.data() + begin_, static_cast<std::size_t>(element.size)};
  }
  if (element.size > element_bytes_max_) {
    element.fault = Fault::too_large;
    element.bytes = element.bytes.substr(0, kept_bytes_max);
  }
  return element;
}

bool Splitter::ends_with_carriage_return(std::size_t stop) const noexcept {
  if (stop > begin_) return buffer_[stop - 1] == '\r';
  return dropped_ > 0 && last_dropped_ == '\r';
}

std::string_view Splitter::recent() const noexcept {
  const std::size_t count = std::min(end_, recent_max);
  return {buffer_.data() + end_ - count, count};
}

Rest Splitter::rest() const {
  Rest rest;
  rest.element = describe(end_);
  if (layout_ == Layout::unknown && begin_ < end_ && buffer_[begin_] == '[') {
    rest.ending = Ending::open_array;
    return rest;
  }
  if (layout_ == Layout::arrays) {
    if (started_) {
      rest.ending = Ending::cut_short;
      rest.stray = shape_ == Shape::stray;
    } else if (inside_) {
      rest.ending = Ending::open_array;
    }
    return rest;
  }
  // A byte order mark that was cut short is a line that is no JSON.
  if (rest.element.fault != Fault::none || !is_blank(rest.element.bytes)) {
    rest.ending = Ending::last_line;
  }
  return rest;
}

}  // namespace onefold::file
