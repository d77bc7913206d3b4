#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/stores/mariadb/failure.h"

struct st_mysql;
struct st_mysql_stmt;

namespace onefold::mariadb {

/// What is to be bound: one row of parameters, or several for a statement that runs for each.
/// Texts and blobs are not copied: they must live until the statement has run. In statements of
/// ours, texts are bytes: no character set touches them.
class ParameterRows {
 public:
  explicit ParameterRows(std::size_t columns) : columns_(columns) {}

  /// The values of a row, in order of its columns.
  ParameterRows& null();
  ParameterRows& integer(std::int64_t value);
  ParameterRows& unsigned_integer(std::uint64_t value);
  ParameterRows& real(double value);
  ParameterRows& text(std::string_view value);
  ParameterRows& text_or_null(std::string_view value);
  ParameterRows& blob(std::span<const std::uint8_t> value);

  std::size_t rows() const noexcept { return columns_.empty() ? 1 : cells_ / columns_.size(); }
  /// About what is sent.
  std::size_t bytes() const noexcept { return bytes_; }
  void clear();

 private:
  friend class Statement;
  enum class Type { none, integer, unsigned_integer, real, text, blob };
  struct Column {
    Type type = Type::none;
    std::vector<std::int64_t> numbers;
    std::vector<const char*> texts;
    std::vector<unsigned long> lengths;
    std::vector<char> indicators;
  };
  Column& next(Type type);
  ParameterRows& number(Type type, std::int64_t bits);
  ParameterRows& bytes(Type type, const char* data, std::size_t size);

  std::vector<Column> columns_;
  std::size_t cells_ = 0;
  std::size_t bytes_ = 0;
};

/// A prepared statement. Its rows are fetched whole when it runs, so that the connection is free
/// for others while they are read.
class Statement {
 public:
  /// `written`: the text before its parameters became `?`, for messages.
  Statement(::st_mysql* connection, std::string_view sql, Origin origin,
            std::string_view written = {});
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  ::st_mysql_stmt* handle() const noexcept { return handle_; }
  std::size_t parameter_count() const noexcept;
  /// The beginning of the text, for messages.
  const std::string& beginning() const noexcept { return beginning_; }

  /// Runs once, or once for each row of parameters, in one round trip; either way as one
  /// statement: a failure undoes all of it. Returns the rows that were changed, or 0 if there are
  /// rows to read. Throws `Error`.
  std::int64_t run(ParameterRows& parameters);
  std::int64_t run();
  /// The same, but returns the server's number of an error that is `tolerated`, or 0.
  unsigned int run_tolerating(ParameterRows& parameters, unsigned int tolerated);

  /// The next row; false at the end.
  bool step();
  /// Forgets rows that were not read, and further results of a procedure.
  void finish();
  std::size_t column_count() const noexcept { return columns_.size(); }
  bool is_null(std::size_t column) const noexcept;
  std::int64_t integer_at(std::size_t column) const noexcept;
  std::uint64_t unsigned_at(std::size_t column) const noexcept;
  double real_at(std::size_t column) const noexcept;
  std::string text_at(std::size_t column) const;
  std::span<const std::uint8_t> blob_at(std::size_t column) const noexcept;
  /// Copies 16 bytes; NULL leaves `to` as it is.
  void copy_blob(std::size_t column, std::array<std::uint8_t, 16>& to) const noexcept;

  enum class Type { integer, unsigned_integer, real, text, blob };
  Type type_of(std::size_t column) const noexcept;

 private:
  /// Where the values of a column are put.
  struct ResultColumn {
    Type type = Type::text;
    std::int64_t number = 0;
    double real = 0;
    std::size_t offset = 0;  ///< Into the buffer.
    std::size_t size = 0;    ///< Of its place in the buffer.
    unsigned long length = 0;
    char is_null = 0;
  };

  unsigned int execute(ParameterRows& parameters);
  void bind(ParameterRows& parameters);
  void describe_columns();
  void receive();
  [[noreturn]] void fail_now() const;

  ::st_mysql_stmt* handle_ = nullptr;
  Origin origin_;
  std::string beginning_;
  std::vector<ResultColumn> columns_;
  std::vector<char> buffer_;
};

/// The beginning of a text of SQL on one line.
std::string beginning_of(std::string_view sql);

}  // namespace onefold::mariadb
