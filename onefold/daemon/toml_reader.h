#pragma once

// toml++ 3.3 asserts what a malformed file such as "[[[a]]]" contradicts (marzer/tomlplusplus, pull
// request 301). Without its assertions it reports a syntax error there, as it should. Under NDEBUG
// it would turn them into promises to the compiler, which are worse: so it does not see NDEBUG.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config.h"

namespace onefold {

/// Collects what is wrong with a configuration, so that a person can mend all of it at once.
class ConfigProblems {
 public:
  void add(const toml::source_region& region, std::string text, std::string hint = {});
  void add(const ConfigPlace& place, std::string text, std::string hint = {});
  /// All problems, in the order of the file.
  std::vector<ConfigProblem> take();

 private:
  std::vector<ConfigProblem> problems_;
};

ConfigPlace place_of(const toml::source_region& region) noexcept;

/// Text with the place where it stands.
struct PlacedText {
  std::string text;
  ConfigPlace place;
};

/// Reads one table, key by key. What was never asked for is unknown: `finish` reports it. A value
/// that is absent or wrong reads as the given default, so that the search for problems goes on.
class TableReader {
 public:
  /// `label` names the table in messages, for example "[consumer.billing]".
  TableReader(const toml::table& table, std::string label, ConfigProblems& problems);

  /// The value at a key, whatever it is; null if absent.
  const toml::node* find(std::string_view key);
  /// The same; its absence is a problem, with `example` as the hint.
  const toml::node* require(std::string_view key, std::string_view example);

  std::optional<std::string> text(std::string_view key);
  std::optional<std::string> require_text(std::string_view key, std::string_view example);
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t min,
                       std::int64_t max);
  bool boolean(std::string_view key, bool otherwise);
  /// The place of the text in `choices`.
  std::size_t choice(std::string_view key, std::initializer_list<std::string> choices,
                     std::size_t otherwise);
  const toml::table* table(std::string_view key);
  /// A string, or an array of strings: at least one.
  std::vector<PlacedText> require_texts(std::string_view key, std::string_view example);

  /// A key that is known, but makes no sense here.
  void refuse(std::string_view key, std::string_view why);
  void problem(std::string_view key, std::string text, std::string hint = {});
  void problem_here(std::string text, std::string hint = {});
  /// Reports the keys that nobody asked for.
  void finish();

  const std::string& label() const noexcept { return label_; }
  ConfigPlace place() const noexcept { return place_of(table_.source()); }

 private:
  void wrong_type(std::string_view key, std::string_view wanted, const toml::node& found);

  const toml::table& table_;
  std::string label_;
  ConfigProblems& problems_;
  std::vector<std::string> known_;
};

/// "a string", "an integer", ...
std::string_view describe(const toml::node& node) noexcept;

/// Reports a name that is not one to 64 of a-z, 0-9, `_` and `-`. Names are part of keys and of
/// evidence, so they are kept plain. `what` is for example "source name".
void check_name(std::string_view name, std::string_view what, const ConfigPlace& place,
                ConfigProblems& problems);

}  // namespace onefold
