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

/// A URL as it may be shown: what stands between the first `:` after "scheme://" and the last `@`,
/// and every parameter that is named like a password, are "***". In doubt more is hidden: what
/// follows a `:` and is no port, and what is no URL. Not yet escaped for terminals.
std::string masked_url(std::string_view url);

/// Whether the name of a variable or a file may be a URL that was written in the wrong place. Such
/// a name is not shown, for it may hold a password.
bool may_be_url(std::string_view name);

}  // namespace onefold
