#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/decisions.h"
#include "onefold/records.h"

/// The form in which events that were set aside leave a database and come into another one: JSON
/// Lines. The first line names the form and the consumers with their rules; every other line is one
/// event, whole. Numbers of scopes and rows mean nothing elsewhere, so that names stand for them.
/// Texts that are not UTF-8 are {"base64": "…"}.
namespace onefold::cli {

/// A key with what makes its scope, and the inbox row under it, which a conflict does not have.
struct LetterKey {
  std::string handler;
  std::string source_or_rule;
  std::string key_form;
  bool always = false;
  std::array<std::uint8_t, 16> bytes{};
  std::optional<InboxRecord> claim = {};
};

struct DeadLetter {
  DeferredRecord row;           ///< Keys and `id` are not regarded.
  std::vector<LetterKey> keys;  ///< Never empty; the first is the row's own.
};

/// A line that is not what an export writes. The text says what is wrong with it, without its data.
struct LetterDefect : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string letter_head(const std::vector<ConsumerRecord>& consumers);
/// Throws `LetterDefect`.
std::vector<ConsumerRecord> consumers_in_head(std::string_view line);

std::string letter_line(const DeadLetter& letter);
/// Throws `LetterDefect`.
DeadLetter letter_from(std::string_view line);

}  // namespace onefold::cli
