#include "onefold/decisions.h"

#include <string_view>

namespace onefold {
namespace {

/// A value must not look like lines of its own.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\0') {
      line += "\\0";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

std::string audit_key_line(const Key& key) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string line = "key: " + std::to_string(key.scope) + ":";
  for (const std::uint8_t byte : key.bytes) {
    line += digits[byte >> 4U];
    line += digits[byte & 15U];
  }
  return line + "\n";
}

std::string audit_detail(const DeferredRecord& row, const Decision& decision) {
  std::string keys = audit_key_line(row.key);
  for (const Key& key : row.further_keys) keys += audit_key_line(key);
  return "consumer: " + on_one_line(row.consumer) + "\n" + keys +
         "event id: " + on_one_line(row.event.id) + "\n" +
         "event source: " + on_one_line(row.event.source) + "\n" +
         "set aside as: " + on_one_line(row.reason) + "\n" +
         "reason: " + on_one_line(decision.reason) + "\n";
}

std::string audit_detail(const std::string& consumer, const std::string& changes,
                         const Decision& decision) {
  return "consumer: " + on_one_line(consumer) + "\nreason: " + on_one_line(decision.reason) + "\n" +
         changes;
}

}  // namespace onefold
