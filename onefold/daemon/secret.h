#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace onefold {

/// A text that may hold a password. It never prints itself: who needs it asks for it by name.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_{std::move(text)} {}
  /// The text itself: for those who connect with it, never for a message.
  const std::string& reveal() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }

 private:
  std::string text_;
};

/// Always "***".
std::ostream& operator<<(std::ostream& out, const Secret& secret);

/// A URL as it may be shown: the password before an `@`, and every parameter that is named like a
/// password, are "***". A URL without either is shown as it is. Not yet escaped for terminals.
std::string masked_url(std::string_view url);

}  // namespace onefold
