#include "onefold/daemon/secret.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace onefold {
namespace {

constexpr std::string_view mask = "***";
/// Parts of names of parameters whose values are never shown: password, sslpassword, passwd, ...
constexpr std::array<std::string_view, 5> telling{"pass", "pwd", "secret", "token", "credential"};

bool tells(std::string_view name) {
  std::string lower{name};
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      telling, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

/// Where the part before an `@` begins: after "scheme://", or after "scheme:".
std::size_t user_begin(std::string_view url) {
  const std::size_t slashes = url.find("://");
  if (slashes != std::string_view::npos) return slashes + 3;
  const std::size_t colon = url.find(':');
  return colon == std::string_view::npos ? 0 : colon + 1;
}

/// "user:password@" becomes "user:***@". A password may hold an `@` itself: the last one counts.
std::string mask_user(std::string_view url) {
  const std::size_t begin = user_begin(url);
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos || at < begin) return std::string{url};
  const std::size_t colon = url.find(':', begin);
  if (colon == std::string_view::npos || colon > at) return std::string{url};
  return std::string{url.substr(0, colon + 1)} + std::string{mask} + std::string{url.substr(at)};
}

constexpr std::string_view separators = "?&; \t\n";

/// The same for "password=..." wherever it stands: behind a question mark, or between blanks.
std::string mask_parameters(std::string_view url) {
  std::string shown;
  std::size_t part = 0;
  while (part <= url.size()) {
    const std::size_t end = std::min(url.find_first_of(separators, part), url.size());
    const std::string_view piece = url.substr(part, end - part);
    const std::size_t equals = piece.find('=');
    if (equals != std::string_view::npos && tells(piece.substr(0, equals))) {
      shown.append(piece.substr(0, equals + 1)).append(mask);
    } else {
      shown.append(piece);
    }
    if (end < url.size()) shown += url[end];
    part = end + 1;
  }
  return shown;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Secret& /*secret*/) {
  return out << mask;
}

std::string masked_url(std::string_view url) {
  return mask_parameters(mask_user(url));
}

}  // namespace onefold
