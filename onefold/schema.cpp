#include "onefold/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "onefold/error.h"

namespace onefold {
namespace {

std::string label_of(const SchemaStep& step) {
  return "version " + std::to_string(step.version) + " (" + std::string{step.name} + ")";
}

}  // namespace

std::string schema_checksum(std::string_view sql) {
  // FNV-1a.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : sql) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  return std::string(digits.size() - count, '0') + std::string{digits.data(), count};
}

std::vector<SchemaStep> missing_steps(std::span<const SchemaStep> steps,
                                      std::span<const AppliedStep> applied) {
  const int known = steps.empty() ? 0 : steps.back().version;
  for (const AppliedStep& each : applied) {
    if (each.version <= known) continue;
    throw Error{ErrorKind::bad_configuration, "the schema of the database is version " +
                                                  std::to_string(each.version) +
                                                  ", this program knows up to " +
                                                  std::to_string(known) + ": use a newer program"};
  }
  std::vector<SchemaStep> missing;
  for (const SchemaStep& step : steps) {
    const auto found = std::ranges::find(applied, step.version, &AppliedStep::version);
    if (found == applied.end()) {
      missing.push_back(step);
    } else if (const std::string checksum = schema_checksum(step.sql);
               found->checksum != checksum) {
      throw Error{ErrorKind::bad_configuration,
                  "schema " + label_of(step) + " of the database has checksum " + found->checksum +
                      ", this program has " + checksum + ": it was made by a program that differs"};
    }
  }
  return missing;
}

void require_schema(std::span<const SchemaStep> steps, std::span<const AppliedStep> applied) {
  const auto missing = missing_steps(steps, applied);
  if (missing.empty()) return;
  throw Error{ErrorKind::bad_configuration, "the database lacks schema " +
                                                label_of(missing.front()) +
                                                ": run `onefold migrate`, or "
                                                "`onefold run --migrate`"};
}

}  // namespace onefold
