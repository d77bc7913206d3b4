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
  if (name.find('%') != name.npos) return true;  // A name may be written in codes, too.
  std::string lower{name};
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      telling, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

constexpr std::string_view separators = "?&; \t\n";

/// The same for "password=..." wherever it stands. What follows without a name of its own may be
/// the rest of a password.
std::string mask_parameters(std::string_view url) {
  std::string shown;
  bool telling_before = false;
  std::size_t part = 0;
  while (part <= url.size()) {
    const std::size_t end = std::min(url.find_first_of(separators, part), url.size());
    const std::string_view piece = url.substr(part, end - part);
    const std::size_t equals = piece.find('=');
    const bool named = equals != std::string_view::npos;
    if (named) telling_before = tells(piece.substr(0, equals));
    if (telling_before) {
      shown.append(named ? piece.substr(0, equals + 1) : std::string_view{}).append(mask);
    } else {
      shown.append(piece);
    }
    if (end < url.size()) shown += url[end];
    part = end + 1;
  }
  return shown;
}

/// "db:5432", "[::1]", or several of them with commas: nothing in it can be a password.
bool is_hosts(std::string_view authority) {
  static constexpr std::size_t port_digits_max = 5;
  while (true) {
    const std::size_t end = std::min(authority.find(','), authority.size());
    const std::string_view host = authority.substr(0, end);
    const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
    const std::size_t colon = bracket == host.npos ? host.find(':') : host.find(':', bracket);
    if (colon != host.npos) {
      const std::string_view port = host.substr(colon + 1);
      if (port.empty() || port.size() > port_digits_max) return false;
      if (port.find_first_not_of("0123456789") != port.npos) return false;
    }
    if (end == authority.size()) return true;
    authority.remove_prefix(end + 1);
  }
}

/// "user:password@" becomes "user:***@". A password may hold an `@` or a `/` itself: the last `@`
/// counts. Without one, only a port may follow a colon.
std::string mask_user(std::string_view url, std::size_t begin) {
  const std::size_t colon = url.find(':', begin);
  const std::size_t at = url.rfind('@');
  if (at != url.npos && at >= begin) {
    if (colon == url.npos || colon > at) return std::string{url};
    // An `@` in a parameter's password: more of it follows.
    const bool in_parameter = !mask_parameters(url.substr(0, at + 1)).ends_with('@');
    const std::string_view rest = in_parameter ? std::string_view{} : url.substr(at);
    return std::string{url.substr(0, colon + 1)}.append(mask).append(rest);
  }
  const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
  if (colon == url.npos || is_hosts(url.substr(begin, end - begin))) return std::string{url};
  return std::string{url.substr(0, colon + 1)}.append(mask);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Secret& /*secret*/) {
  return out << mask;
}

std::string masked_url(std::string_view url) {
  if (url.starts_with("sqlite:") && url.find('@') == url.npos && !may_be_url(url)) {
    return mask_parameters(url);
  }
  const std::size_t slashes = url.find("://");
  const std::size_t colon = url.find(':');
  if (slashes != url.npos && slashes == colon) {
    return mask_parameters(mask_user(url, slashes + 3));
  }
  // No URL, but perhaps the rest of one, or "password = ...".
  if (url.find('=') != url.npos) return std::string{mask};
  if (colon == url.npos) return std::string{url};
  const std::size_t at = url.rfind('@');
  std::string shown{url.substr(0, colon + 1)};
  shown += mask;
  if (at != url.npos && at > colon) shown += url.substr(at);
  return shown;
}

bool may_be_url(std::string_view name) {
  return name.find("://") != name.npos || name.find('@') != name.npos;
}

}  // namespace onefold
