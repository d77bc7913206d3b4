#include "onefold/cli/options.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "onefold/cli/json_text.h"
#include "onefold/cli/terminal.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

/// The whole text as a number.
std::optional<std::int64_t> number_from(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) return {};
  return number;
}

std::optional<std::chrono::seconds> unit_of(char letter) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  using std::chrono::weeks;
  switch (letter) {
    case 's':
      return seconds{1};
    case 'm':
      return minutes{1};
    case 'h':
      return hours{1};
    case 'd':
      return days{1};
    case 'w':
      return weeks{1};
    default:
      return std::nullopt;
  }
}

std::string choice_type(const std::vector<std::string>& choices) {
  return CLI::detail::join(choices, "|");
}

}  // namespace

void add_config_option(CLI::App& command, std::vector<std::string>& paths) {
  command
      .add_option(
          "-c,--config", paths,
          "The configuration, onefold.toml unless given; a folder stands for its *.toml, and "
          "several are read as one")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

CLI::Option* add_choice(CLI::App& command, const std::string& names, std::string& value,
                        const std::vector<std::string>& choices, std::string_view plural,
                        const std::string& description) {
  return command.add_option(names, value, description)
      ->type_name(choice_type(choices))
      ->check(one_of(choices, std::string{plural}), "");
}

void add_output_option(CLI::App& command, std::string& format,
                       const std::vector<std::string>& formats) {
  format = formats.front();
  add_choice(command, "-o,--output", format, formats, "formats",
             "The form of the answer; " + formats.front() + " unless given");
}

void add_list_options(CLI::App& command, ListOptions& options,
                      const std::vector<std::string>& columns,
                      const std::vector<std::string>& formats) {
  add_output_option(command, options.format, formats);
  command
      .add_option("--columns", options.columns,
                  "Only these columns, in this order, with commas between: " +
                      CLI::detail::join(columns, ", "))
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of(columns, "columns"), "");
  command.add_flag("--no-headers", options.no_headers, "No line with the names of the columns");
}

void add_limit_option(CLI::App& command, std::size_t& limit) {
  command.add_option("--limit", limit, "At most so many; 100 unless given")
      ->type_name("COUNT")
      ->check(number_between(1, 10'000), "");
}

void add_since_option(CLI::App& command, std::optional<Timestamp>& since, std::string_view what) {
  const auto check = [](const std::string& word) -> std::string {
    if (time_from(word, now())) return {};
    return "\"" + printable(word) +
           "\" is no time: write 90s, 15m, 1h or 7d for so long ago, or a "
           "time like 2026-11-30T14:00:00Z";
  };
  command
      .add_option_function<std::string>(
          "--since", [&since](const std::string& word) { since = time_from(word, now()); },
          std::string{what})
      ->type_name("TIME")
      ->check(check, "");
}

std::optional<Timestamp> time_from(std::string_view text, Timestamp now) {
  if (const auto time = parse_rfc3339(text)) return time;
  if (text.size() < 2 || text.front() == '-' || text.front() == '+') return std::nullopt;
  const auto unit = unit_of(text.back());
  const auto number = number_from(text.substr(0, text.size() - 1));
  constexpr std::int64_t longest = 1'000'000;  // Of the largest unit, far beyond any database.
  if (!unit || !number || *number > longest) return std::nullopt;
  return now - *unit * *number;
}

Check one_of(std::vector<std::string> choices, std::string plural) {
  return [choices = std::move(choices),
          plural = std::move(plural)](const std::string& word) -> std::string {
    if (std::ranges::find(choices, word) != choices.end()) return {};
    const std::string none = "\"" + printable(word) + "\" is none of the " + plural + " here";
    if (const auto meant = nearest(word, choices))
      return none + "; did you mean \"" + *meant + "\"?";
    return none + ", which are " + joined(choices);
  };
}

Check number_between(std::int64_t least, std::int64_t most) {
  return [least, most](const std::string& word) -> std::string {
    const auto number = number_from(word);
    if (number && *number >= least && *number <= most) return {};
    return "\"" + printable(word) + "\" is no number from " + std::to_string(least) + " to " +
           std::to_string(most);
  };
}

std::string is_dead_id(const std::string& word) {
  const auto number = number_from(word);
  if (number && *number >= 0) return {};
  return "\"" + printable(word) + "\" is no number from onefold dead list";
}

std::string is_inbox_key(const std::string& word) {
  if (key_from(word)) return {};
  return "\"" + printable(word) +
         "\" is no key from onefold inbox list, such as 1:" + std::string(32, '0');
}

std::string is_reason(const std::string& text) {
  const bool says_something = text.find_first_not_of(" \t\r\n") != std::string::npos;
  return says_something ? "" : "the reason is empty: say why, for whoever reads the audit";
}

Timestamp now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string user_at_host() {
  const passwd* user = ::getpwuid(::geteuid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::string name = user == nullptr ? std::to_string(::geteuid()) : user->pw_name;
  // Whoever became root to do this is still a person.
  const char* person = std::getenv("SUDO_USER");
  if (person != nullptr && *person != '\0' && name != person) {
    name = printable(person, 64) + " as " + name;
  }
  return name + "@" + host.data();
}

}  // namespace onefold::cli
