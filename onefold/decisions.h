#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  std::string
      action;  ///< "discard", "import", "replay", "edit", "resume", "accept-key-change", ...
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

enum class ReplayAnswer {
  due,       ///< It is tried again as soon as `onefold run` comes to it.
  waiting,   ///< It is tried again anyway: nothing was changed.
  conflict,  ///< Its key belongs to another event: only with another id, see `edit`.
  gone,
};

/// An event whose bytes a person has changed, under another id. The bytes are decoded when it is
/// tried, and its own key claimed then.
struct EditedEvent {
  std::int64_t of = 0;  ///< The number of the row that it replaces.
  std::string raw;
  Key key;  ///< Of the bytes, until then (semantics 2.5).
  std::string new_id;
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
  /// Makes events due that are dead or in quarantine, each with all its attempts before it. They
  /// keep their identity. One answer for each id, in order.
  virtual std::vector<ReplayAnswer> replay(std::span<const std::int64_t> ids,
                                           const Decision& decision) = 0;
  /// Discards the row, and sets the edited event aside as a dead one that is due. False: the row is
  /// gone, or these very bytes wait already; nothing was changed.
  virtual bool edit(const EditedEvent& edited, const Decision& decision) = 0;
  /// Ends a consumer's pause. False: it is not paused. Throws `bad_configuration` if the database
  /// does not know the consumer.
  virtual bool resume(std::string_view consumer, const Decision& decision) = 0;
  /// In the order of their ids.
  virtual std::vector<AuditRecord> audit(const AuditFilter& filter) = 0;
};

/// The audit text about one event, and the line by which its key is found again. For stores.
std::string audit_detail(const DeferredRecord& row, const Decision& decision);
std::string audit_key_line(const Key& key);
/// Why a row cannot be made due by a replay; absent: it can.
std::optional<ReplayAnswer> objection_to_replay(const DeferredRecord& row);
/// What the inbox keeps as the result of an event that was edited.
std::string edited_result(const EditedEvent& edited);
/// The row of an edited event, as one to import.
struct EditedRow {
  EditedRow(const DeferredRecord& original, const EditedEvent& edited);
  ImportedDeferral imported;
};
/// The same about an event that was edited.
std::string audit_detail(const DeferredRecord& row, const EditedEvent& edited,
                         const Decision& decision);
/// The same about a consumer or a replay as a whole; `what` is lines "name: value".
std::string audit_detail_of(const std::string& consumer, const std::string& what,
                            const Decision& decision);
/// The same about a change of a consumer's rules; `changes` as in `MergedRules`.
std::string audit_detail(const std::string& consumer, const std::string& changes,
                         const Decision& decision);

}  // namespace onefold
