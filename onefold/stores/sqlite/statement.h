#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/stores/sqlite/failure.h"

struct sqlite3_stmt;

namespace onefold::sqlite {

/// A prepared statement. Bound texts and blobs are not copied: they must live until the statement
/// is run or reset, and are bound anew before every run.
class Statement {
 public:
  Statement(::sqlite3* database, std::string_view sql, Origin origin);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  ::sqlite3_stmt* handle() const noexcept { return handle_; }
  /// The beginning of the text, for messages.
  std::string beginning() const;

  Statement& null(int index);
  Statement& integer(int index, std::int64_t value);
  Statement& real(int index, double value);
  Statement& text(int index, std::string_view value);
  Statement& text_or_null(int index, std::string_view value);
  Statement& blob(int index, std::span<const std::uint8_t> value);

  /// SQLITE_ROW, SQLITE_DONE, or the extended code of a failure.
  int step_code() noexcept;
  /// True if there is a row. Throws `Error` for everything else but the end, and is reset then.
  bool step();
  /// Runs to the end, ignoring rows, and resets.
  void run();
  void reset() noexcept;
  /// Resets and throws.
  [[noreturn]] void fail_with(int code);

  bool is_null(int column) const noexcept;
  std::int64_t integer_at(int column) const noexcept;
  std::string text_at(int column) const;
  std::span<const std::uint8_t> blob_at(int column) const noexcept;
  /// Copies 16 bytes; NULL leaves `to` as it is.
  void copy_blob(int column, std::array<std::uint8_t, 16>& to) const noexcept;

 private:
  void check(int code);
  /// SQLite prepares by itself again what another process has changed the schema of, and answers
  /// then as if the statement had failed. Throws if it is the text that does not fit any more.
  void require_preparable() const;

  ::sqlite3* database_;
  ::sqlite3_stmt* handle_ = nullptr;
  Origin origin_;
};

/// Resets a statement at the end of a block, so that no read stays open.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) noexcept : statement_{statement} {}
  ~ResetAtEnd() { statement_.reset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement& statement_;
};

}  // namespace onefold::sqlite
