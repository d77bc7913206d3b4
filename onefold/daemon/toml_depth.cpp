#include "onefold/daemon/toml_depth.h"

#include <algorithm>
#include <string>
#include <vector>

namespace onefold {
namespace {

/// One pass over a text. Dots count until their key or value ends, at a comma or at the end of the
/// line, and within brackets on top of those in front of the bracket.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_{text} {}

  std::optional<std::uint32_t> scan() {
    while (at_ < text_.size()) {
      step(text_[at_]);
      if (dots_ > key_depth_max) {
        const auto lines = std::ranges::count(text_.substr(0, at_), '\n');
        return static_cast<std::uint32_t>(lines) + 1;
      }
    }
    return std::nullopt;
  }

 private:
  void step(char c) {
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return go_to(text_.find('\n', at_));
    ++at_;
    if (c == '.') {
      ++dots_;
    } else if (c == '[' || c == '{') {
      outside_.push_back(dots_);
    } else if ((c == ']' || c == '}') && !outside_.empty()) {
      dots_ = outside_.back();
      outside_.pop_back();
    } else if (c == ',' || c == '\n') {
      dots_ = outside_.empty() ? 0 : outside_.back();
    }
  }

  void skip_string(char quote) {
    const std::string end(text_.substr(at_).starts_with(std::string(3, quote)) ? 3 : 1, quote);
    go_to(at_ + end.size());
    while (at_ < text_.size() && !text_.substr(at_).starts_with(end)) {
      // One that does not end on its line is an error, which the parser will tell.
      if (text_[at_] == '\n' && end.size() == 1) return;
      go_to(at_ + (text_[at_] == '\\' && quote == '"' ? 2 : 1));
    }
    go_to(at_ + end.size());
  }

  void go_to(std::size_t place) { at_ = std::min(place, text_.size()); }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t dots_ = 0;
  std::vector<std::size_t> outside_;  ///< The dots in front of each open bracket.
};

}  // namespace

std::optional<std::uint32_t> line_of_too_deep_key(std::string_view text) {
  return Scanner{text}.scan();
}

}  // namespace onefold
