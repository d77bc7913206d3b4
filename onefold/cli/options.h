#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Options that several commands have, and what may stand in them. Checks answer in our own words:
/// empty if the word will do, otherwise what is wrong with it.
namespace onefold::cli {

/// `-c FILE`, any number of times. Without it: onefold.toml.
void add_config_option(CLI::App& command, std::vector<std::string>& paths);

/// `-o FORMAT`; the first format is taken unless another is given. What its help and its completion
/// offer is what it accepts.
void add_output_option(CLI::App& command, std::string& format,
                       const std::vector<std::string>& formats);

/// How a list is printed.
struct ListOptions {
  std::string format;
  std::vector<std::string> columns;  ///< Empty: those that the format shows.
  bool no_headers = false;
};
/// `-o table|json|jsonl|csv`, or other formats; `--columns`, `--no-headers`.
void add_list_options(CLI::App& command, ListOptions& options,
                      const std::vector<std::string>& columns,
                      const std::vector<std::string>& formats = {"table", "json", "jsonl", "csv"});

/// `--limit COUNT`.
void add_limit_option(CLI::App& command, std::size_t& limit);

/// `--since`: "90s", "15m", "1h", "7d", "2w" ago, or an RFC 3339 time.
void add_since_option(CLI::App& command, std::optional<Timestamp>& since, std::string_view what);
/// Absent if the text is neither.
std::optional<Timestamp> time_from(std::string_view text, Timestamp now);

/// An option whose value is one of a few words.
CLI::Option* add_choice(CLI::App& command, const std::string& names, std::string& value,
                        const std::vector<std::string>& choices, std::string_view plural,
                        const std::string& description);

using Check = std::function<std::string(const std::string&)>;
Check one_of(std::vector<std::string> choices, std::string plural);
Check number_between(std::int64_t least, std::int64_t most);
/// A number of `dead list`.
std::string is_dead_id(const std::string& word);
/// A key of `inbox list`.
std::string is_inbox_key(const std::string& word);

/// A reason that says something.
std::string is_reason(const std::string& text);

/// By the clock of this machine.
Timestamp now();

/// Who decides, for the audit: the login and the machine.
std::string user_at_host();

}  // namespace onefold::cli
