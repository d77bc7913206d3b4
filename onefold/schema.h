#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How a store keeps its tables up to date. For stores; what people call is in housekeeping.h.
namespace onefold {

/// One step of a schema. A step that was released is never edited: its checksum is stored.
struct SchemaStep {
  int version = 0;  ///< From 1, without gaps.
  std::string_view name;
  std::string_view sql;
};

/// A step as the database remembers it.
struct AppliedStep {
  int version = 0;
  std::string checksum;
};

/// It finds an edit by mistake, not by malice.
std::string schema_checksum(std::string_view sql);

/// The steps that the database lacks, in order. Throws `bad_configuration` if it has one that is
/// newer than all of `steps`, or of another checksum.
std::vector<SchemaStep> missing_steps(std::span<const SchemaStep> steps,
                                      std::span<const AppliedStep> applied);

/// Throws `bad_configuration` unless the database has exactly `steps`.
void require_schema(std::span<const SchemaStep> steps, std::span<const AppliedStep> applied);

}  // namespace onefold
