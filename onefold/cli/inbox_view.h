#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onefold/cli/json_text.h"
#include "onefold/cli/list_output.h"
#include "onefold/records.h"

/// How inbox rows are shown.
namespace onefold::cli {

/// The key form of scopes that are named after a business key rule.
inline constexpr std::string_view business_key_form = "values";

/// What the numbers of scopes stand for.
class ScopeNames {
 public:
  explicit ScopeNames(const std::vector<ScopeRecord>& scopes);
  /// An empty one for a number that is not known.
  const ScopeRecord& operator[](std::int32_t number) const;

 private:
  std::map<std::int32_t, ScopeRecord> scopes_;
};

/// Everything, for programs.
Json inbox_json(const InboxRecord& record, const ScopeRecord& scope);
/// What a list shows of it.
const std::vector<ListColumn>& inbox_columns();
/// Everything, for people. Ends with a line break.
std::string inbox_text(const InboxRecord& record, const ScopeRecord& scope);

}  // namespace onefold::cli
