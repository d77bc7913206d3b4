#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onefold/records.h"

/// What only a person may decide about events. Each act leaves an audit row in its transaction.
namespace onefold {

/// Who decides, and why.
struct Decision {
  std::string who;
  std::string reason;
};

/// An audit row.
struct AuditRecord {
  std::int64_t id = 0;
  Timestamp at;
  std::string who;
  std::string action;  ///< "discard", "import", "accept-key-change".
  std::string detail;  ///< What it was about and why, one "name: value" a line.
};

struct AuditFilter {
  std::optional<Key> key = {};  ///< Decisions about the event under this key only.
  std::int64_t after = 0;       ///< Rows with a larger id only.
  std::size_t limit = 100;
};

enum class DiscardAnswer {
  discarded,
  gone,  ///< There is no such row: somebody else has settled it. Nothing was changed.
};

/// A deferred row as it was exported, with the inbox rows of all its keys. All keys have the scope
/// numbers of the database that takes them in; `id` is not regarded.
struct ImportedDeferral {
  DeferredRecord deferred;
  std::vector<InboxRecord> claims;  ///< None for a conflict, which has no claim of its own.
};

enum class ImportAnswer {
  imported,
  known,  ///< A key is in the inbox already, or the conflict is kept already: nothing was changed.
};

/// Writes on a connection of its own, used by one thread, also while events are being applied.
/// Every call is one transaction: all or nothing. Throws `Error`.
class Decisions {
 public:
  virtual ~Decisions() = default;
  /// Gives events up for good: the deferred row goes, with its bytes, and the claims become final,
  /// so that a redelivery stays a duplicate. A conflict has no claim: its row goes. One answer for
  /// each id, in order.
  virtual std::vector<DiscardAnswer> discard(std::span<const std::int64_t> ids,
                                             const Decision& decision) = 0;
  /// Puts exported rows back: claims them, waiting, and keeps their bytes. Throws
  /// `bad_configuration` if the database does not know the consumer. A trial answers the same and
  /// changes nothing. One answer for each, in order.
  virtual std::vector<ImportAnswer> import_deferred(std::span<const ImportedDeferral> rows,
                                                    const Decision& decision, bool trial) = 0;
  /// In the order of their ids.
  virtual std::vector<AuditRecord> audit(const AuditFilter& filter) = 0;
};

/// The audit text about one event, and the line by which its key is found again. For stores.
std::string audit_detail(const DeferredRecord& row, const Decision& decision);
std::string audit_key_line(const Key& key);
/// The same about a change of a consumer's rules; `changes` as in `MergedRules`.
std::string audit_detail(const std::string& consumer, const std::string& changes,
                         const Decision& decision);

}  // namespace onefold
