#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/daemon/config_reading.h"
#include "onefold/daemon/config_schema.h"

namespace onefold {

/// Text with the place where it stands.
struct PlacedText {
  std::string text;
  ConfigPlace place;
  bool usable = true;  ///< Otherwise it is no text, which has been reported, or unknown.
};

/// Reads one table, key by key, as the schema says: defaults, ranges and choices come from there. A
/// value that is absent or wrong reads as its default, so that the search for problems goes on.
///
/// A key that is asked for must be in the schema (`std::logic_error`).
class TableReader {
 public:
  /// `label` names the table in messages, for example "[consumer.billing]". Reports its keys that
  /// the schema does not know.
  TableReader(const toml::table& table, const TableSchema& schema, std::string label,
              ConfigReading& reading);

  /// The value at a key, whatever it is; null if absent.
  const toml::node* find(std::string_view key) const;
  /// The same; its absence is a problem, with the example of the schema as the hint.
  const toml::node* require(std::string_view key) const;

  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::string> require_text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  /// With or without a fraction.
  double number(std::string_view key) const;
  bool boolean(std::string_view key) const;
  /// The place of the text among the choices; their number if there is none, and no default.
  std::size_t choice(std::string_view key) const;
  /// In bytes.
  std::int64_t size(std::string_view key) const;
  /// In milliseconds.
  std::int64_t duration(std::string_view key) const;
  /// What the schema lists.
  const std::vector<std::string>& choices(std::string_view key) const;
  const toml::table* table(std::string_view key) const;
  /// A string, or an array of strings: at least one.
  std::vector<PlacedText> require_texts(std::string_view key) const;
  /// An array of words of the schema; others are reported and left out. Absent if it is.
  std::optional<std::vector<std::string>> words(std::string_view key) const;
  /// An array of JSON Pointers; those that are none are reported and left out.
  std::vector<std::string> pointers(std::string_view key) const;
  /// A JSON Pointer into an event's data; empty if absent or wrong.
  std::string pointer(std::string_view key) const;
  /// A text that may hold a password: at the key, in the file that `KEY_file` names, or in the
  /// variable that `KEY_env` names. Exactly one of them must be there; relative file names start at
  /// the folder of their configuration file. Absent if none is usable, which has been reported, or
  /// if it is unknown without the environment.
  std::optional<Secret> secret(const std::string& key) const;
  /// The one of `secret`'s three keys that is there; the key itself if none is.
  std::string secret_key(const std::string& key) const;

  /// A key that is known, but makes no sense here.
  void refuse(std::string_view key, std::string_view why) const;
  void problem(std::string_view key, std::string text, std::string hint = {}) const;
  void problem_here(std::string text, std::string hint = {}) const;

  const std::string& label() const noexcept { return label_; }
  ConfigReading& reading() const noexcept { return reading_; }
  /// The folder of the file in which the value of a key stands.
  std::string folder(std::string_view key) const;

 private:
  struct Quantity;  ///< How texts such as "1MiB" and "30s" are read.
  std::int64_t quantity(std::string_view key, const Quantity& kind) const;
  const KeySchema& schema(std::string_view key) const;
  /// A value that there is something to say about: null if absent or unknown.
  const toml::node* known(std::string_view key) const;
  void report_unknown_keys() const;
  void wrong_type(std::string_view key, std::string_view wanted, const toml::node& found) const;
  PlacedText element(std::string_view key, const toml::node& node) const;

  const toml::table& table_;
  const TableSchema& schema_;
  std::string label_;
  ConfigReading& reading_;
};

/// "a string", "an integer", ...
std::string_view describe(const toml::node& node) noexcept;

/// Reports a name that is not one to 64 of a-z, 0-9, `_` and `-`. Names are part of keys and of
/// evidence, so they are kept plain. `what` is for example "source name".
void check_name(std::string_view name, std::string_view what, const ConfigPlace& place,
                ConfigReading& reading);

/// Reports a text that is no JSON Pointer; returns whether it is one.
bool check_pointer(const std::string& pointer, const ConfigPlace& place, ConfigReading& reading);

/// `path` as seen from the working directory, if it was written relative to `folder`.
std::string relative_to(const std::string& folder, const std::string& path);

}  // namespace onefold
