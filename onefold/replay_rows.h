#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/replays.h"

/// What a store brings so that `Replays` works on it: rows, and no decisions. For stores.
namespace onefold {

struct StoredReplay {
  ReplayRecord replay;
  std::int64_t passed = 0;               ///< Rows up to this one have had their turn.
  std::chrono::microseconds elapsed{0};  ///< Since rows were last made due, by the database.
};

struct ReplayQuery {
  std::string_view id = {};        ///< Empty: any.
  std::string_view consumer = {};  ///< Empty: any.
  ConsumerId consumer_id = 0;      ///< 0: any.
  bool open = false;               ///< Only those that have not ended.
  bool locked = false;             ///< Nobody else may change them until the transaction ends.
};

/// Where subscriptions stand, and replays of ranges.
class ReplayPositions {
 public:
  virtual ~ReplayPositions() = default;
  /// What is committed of a subscription.
  virtual std::vector<Position> positions(std::string_view consumer, std::string_view source) = 0;
  /// Removes the positions of a replay of a range, and what careful mode knows of it.
  virtual void forget_positions(const ReplayRecord& replay) = 0;
};

/// One connection, used by one thread. Throws `Error`. All but `transact` is called within one.
class ReplayRows : public ReplayPositions {
 public:
  /// Calls `work` in a transaction, which is committed unless it throws. With a consumer's name the
  /// row of the consumer is locked first; throws `bad_configuration` if there is none.
  virtual void transact(std::string_view consumer, const std::function<void()>& work) = 0;
  /// The rows that fit, are dead or in quarantine, and not due.
  virtual ReplayPreview preview(const DeferredFilter& filter) = 0;
  /// The newest first, at most 1,000.
  virtual std::vector<StoredReplay> list(const ReplayQuery& query) = 0;
  /// Inserts or rewrites the row. Rows were last made due `elapsed` ago; an end is now.
  virtual void put(const StoredReplay& stored, bool is_new) = 0;
  /// Makes the next rows due that `preview` would count, behind `passed` and up to `up_to`: at most
  /// `limit`, in the order of their ids, with all attempts before them. Rows that somebody else
  /// changes just then may be left out. Returns how many, and sets `passed` to the last.
  virtual std::int64_t make_due(StoredReplay& stored, std::int64_t limit) = 0;
  /// Rows of the replay that are dead or in quarantine are not due any more, and not of it.
  virtual std::int64_t take_back(std::string_view id) = 0;
  virtual void audit(const std::string& who, const char* action, const std::string& detail) = 0;
};

std::unique_ptr<Replays> replays_over(std::unique_ptr<ReplayRows> rows);

/// A filter in words, for the audit: "handler=ship, class=data"; "all" without a restriction.
std::string words_of_filter(const DeferredFilter& filter);
bool is_same_filter(const DeferredFilter& one, const DeferredFilter& other);

}  // namespace onefold
