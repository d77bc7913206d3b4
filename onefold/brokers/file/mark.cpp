#include "onefold/brokers/file/mark.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace onefold::file {
namespace {

constexpr std::size_t half_max = 128;
constexpr std::uint64_t window_max = 0xFFFF;
constexpr std::size_t gap_max = 2;
constexpr std::uint64_t hash_mask = (1ULL << 40) - 1;

constexpr std::uint64_t mix(std::uint64_t state, std::uint64_t word) noexcept {
  state = (state ^ word) * 0x9E3779B97F4A7C15ULL;
  return state ^ (state >> 32);
}

/// Takes the first and the last part of a window, or the whole and nothing, like one text: the
/// first part of two is a multiple of a block. Four lanes, because each step has to wait for the
/// multiplication before it.
class Hash {
 public:
  void add(std::string_view bytes) noexcept {
    std::array<std::uint64_t, 4> words{};
    for (; bytes.size() >= sizeof words; bytes.remove_prefix(sizeof words)) {
      std::memcpy(words.data(), bytes.data(), sizeof words);
      mix_in(words);
    }
    if (bytes.empty()) return;
    words = {};
    std::memcpy(words.data(), bytes.data(), bytes.size());
    mix_in(words);
  }
  std::uint64_t finish(std::uint64_t length) const noexcept {
    return mix(mix(lanes_[0], lanes_[1]) ^ length, mix(lanes_[2], lanes_[3]));
  }

 private:
  void mix_in(const std::array<std::uint64_t, 4>& words) noexcept {
    lanes_[0] = mix(lanes_[0], words[0]);
    lanes_[1] = mix(lanes_[1], words[1]);
    lanes_[2] = mix(lanes_[2], words[2]);
    lanes_[3] = mix(lanes_[3], words[3]);
  }
  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

std::uint64_t pack(std::uint64_t gap, std::uint64_t length, std::string_view first,
                   std::string_view last) noexcept {
  Hash hash;
  hash.add(first);
  hash.add(last);
  return gap << 56 | length << 40 | (hash.finish(length) & hash_mask);
}

bool has_gap(const OpenedFile& file, std::uint64_t next, std::uint64_t gap) {
  std::array<char, gap_max> room;
  const std::span<char> bytes = std::span{room}.first(static_cast<std::size_t>(gap));
  if (file.read(next - gap, bytes) != bytes.size()) return false;
  const std::string_view text{bytes.data(), bytes.size()};
  return text.empty() || text == "\n" || text == "\r\n" || text == "[";
}

/// What the mark before `next` is now; 0 if the file is too short for it.
std::uint64_t mark_in(const OpenedFile& file, std::uint64_t next, std::uint64_t gap,
                      std::uint64_t length) {
  if (length == 0 || gap > gap_max || next < gap + length) return 0;
  if (!has_gap(file, next, gap)) return 0;
  const std::uint64_t begin = next - gap - length;
  std::array<char, 2 * half_max> room;
  std::span<char> first{room};
  std::span<char> last;
  if (length <= room.size()) {
    first = first.first(static_cast<std::size_t>(length));
  } else {
    last = first.last(half_max);
    first = first.first(half_max);
  }
  if (file.read(begin, first) != first.size()) return 0;
  if (file.read(begin + length - last.size(), last) != last.size()) return 0;
  return pack(gap, length, {first.data(), first.size()}, {last.data(), last.size()});
}

}  // namespace

std::uint64_t mark_of(const Element& element, const OpenedFile& file) {
  const std::uint64_t gap = element.next - element.at - element.size;
  const std::uint64_t length = std::min(element.size, window_max);
  if (gap > gap_max || length == 0) return 0;
  if (element.bytes.size() != element.size) return mark_in(file, element.next, gap, length);
  const std::string_view window =
      element.bytes.substr(element.bytes.size() - static_cast<std::size_t>(length));
  if (length <= 2 * half_max) return pack(gap, length, window, {});
  return pack(gap, length, window.substr(0, half_max), window.substr(window.size() - half_max));
}

bool bears(const OpenedFile& file, std::uint64_t next, std::uint64_t mark) {
  if (next == 0) return true;
  if (mark != 0) return mark_in(file, next, mark >> 56, mark >> 40 & window_max) == mark;
  char before = 0;
  return file.read(next - 1, {&before, 1}) == 1 && before == '\n';
}

}  // namespace onefold::file
