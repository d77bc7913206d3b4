#include "onefold/stores/mariadb/statement.h"

#include <fmt/core.h>
#include <mysql.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace onefold::mariadb {
namespace {

constexpr std::size_t beginning_length = 60;
/// In the character set field of a column: these are bytes, not text.
constexpr unsigned int binary_charset = 63;

enum_field_types wire_type(bool number, bool real, bool blob) noexcept {
  if (real) return MYSQL_TYPE_DOUBLE;
  if (number) return MYSQL_TYPE_LONGLONG;
  return blob ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
}

}  // namespace

std::string beginning_of(std::string_view sql) {
  std::string text{sql.substr(0, beginning_length)};
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (sql.size() > beginning_length) text += "...";
  return text;
}

ParameterRows::Column& ParameterRows::next(Type type) {
  Column& column = columns_[cells_ % columns_.size()];
  // A column of NULLs takes the type of its first value.
  if (column.type == Type::none) column.type = type;
  ++cells_;
  return column;
}

ParameterRows& ParameterRows::null() {
  Column& column = next(Type::none);
  column.numbers.push_back(0);
  column.texts.push_back(nullptr);
  column.lengths.push_back(0);
  column.indicators.push_back(STMT_INDICATOR_NULL);
  return *this;
}

ParameterRows& ParameterRows::number(Type type, std::int64_t bits) {
  Column& column = next(type);
  column.numbers.push_back(bits);
  column.texts.push_back(nullptr);
  column.lengths.push_back(sizeof bits);
  column.indicators.push_back(STMT_INDICATOR_NONE);
  bytes_ += sizeof bits;
  return *this;
}

ParameterRows& ParameterRows::bytes(Type type, const char* data, std::size_t size) {
  Column& column = next(type);
  column.numbers.push_back(0);
  column.texts.push_back(data == nullptr ? "" : data);
  column.lengths.push_back(size);
  column.indicators.push_back(STMT_INDICATOR_NONE);
  bytes_ += size + 9;
  return *this;
}

ParameterRows& ParameterRows::integer(std::int64_t value) {
  return number(Type::integer, value);
}
ParameterRows& ParameterRows::unsigned_integer(std::uint64_t value) {
  return number(Type::unsigned_integer, std::bit_cast<std::int64_t>(value));
}
ParameterRows& ParameterRows::real(double value) {
  return number(Type::real, std::bit_cast<std::int64_t>(value));
}
ParameterRows& ParameterRows::text(std::string_view value) {
  return bytes(Type::text, value.data(), value.size());
}
ParameterRows& ParameterRows::text_or_null(std::string_view value) {
  return value.empty() ? null() : text(value);
}
ParameterRows& ParameterRows::blob(std::span<const std::uint8_t> value) {
  return bytes(Type::blob, reinterpret_cast<const char*>(value.data()), value.size());
}

void ParameterRows::clear() {
  for (Column& column : columns_) {
    column.type = Type::none;
    column.numbers.clear();
    column.texts.clear();
    column.lengths.clear();
    column.indicators.clear();
  }
  cells_ = 0;
  bytes_ = 0;
}

Statement::Statement(::st_mysql* connection, std::string_view sql, Origin origin,
                     std::string_view written)
    : handle_{mysql_stmt_init(connection)},
      origin_{origin},
      beginning_{beginning_of(written.empty() ? sql : written)} {
  if (handle_ == nullptr) throw Error{ErrorKind::unavailable, "MariaDB: out of memory"};
  const my_bool measure = 1;
  mysql_stmt_attr_set(handle_, STMT_ATTR_UPDATE_MAX_LENGTH, &measure);
  if (mysql_stmt_prepare(handle_, sql.data(), sql.size()) != 0) {
    const Reason reason = reason_of(handle_);
    mysql_stmt_close(handle_);
    const Origin whose = origin == Origin::handler ? Origin::text : origin;
    fail(reason, whose, fmt::format("preparing \"{}\"", beginning_));
  }
  try {
    describe_columns();
  } catch (...) {
    mysql_stmt_close(handle_);
    throw;
  }
}

Statement::~Statement() {
  mysql_stmt_close(handle_);
}

void Statement::fail_now() const {
  fail(reason_of(handle_), origin_, fmt::format("running \"{}\"", beginning_));
}

std::size_t Statement::parameter_count() const noexcept {
  return mysql_stmt_param_count(handle_);
}

namespace {

bool is_number(enum_field_types type) noexcept {
  switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR:
      return true;
    default:
      return false;
  }
}

/// Dates, times and decimals have the binary character set, but are texts.
bool is_bytes(const MYSQL_FIELD& field) noexcept {
  switch (field.type) {
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_STRING:
    case MYSQL_TYPE_VAR_STRING:
    case MYSQL_TYPE_VARCHAR:
      return field.charsetnr == binary_charset;
    case MYSQL_TYPE_BIT:
    case MYSQL_TYPE_GEOMETRY:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Statement::describe_columns() {
  columns_.clear();
  MYSQL_RES* const about = mysql_stmt_result_metadata(handle_);
  if (about == nullptr) return;
  const unsigned int count = mysql_num_fields(about);
  for (unsigned int i = 0; i < count; ++i) {
    const MYSQL_FIELD& field = *mysql_fetch_field_direct(about, i);
    ResultColumn& column = columns_.emplace_back();
    if (is_number(field.type)) {
      const bool positive = (field.flags & UNSIGNED_FLAG) != 0;
      column.type = positive ? Type::unsigned_integer : Type::integer;
    } else if (field.type == MYSQL_TYPE_FLOAT || field.type == MYSQL_TYPE_DOUBLE) {
      column.type = Type::real;
    } else {
      column.type = is_bytes(field) ? Type::blob : Type::text;
    }
  }
  mysql_free_result(about);
}

void Statement::bind(ParameterRows& parameters) {
  using Given = ParameterRows::Type;
  const auto rows = static_cast<unsigned int>(parameters.rows());
  if (parameters.columns_.size() != parameter_count() ||
      parameters.cells_ != rows * parameters.columns_.size()) {
    throw std::logic_error{"other parameters than \"" + beginning_ + "\" has"};
  }
  std::vector<MYSQL_BIND> binds(parameters.columns_.size());
  for (std::size_t i = 0; i < binds.size(); ++i) {
    ParameterRows::Column& column = parameters.columns_[i];
    MYSQL_BIND& bind = binds[i];
    std::memset(&bind, 0, sizeof bind);
    const bool number = column.type == Given::integer || column.type == Given::unsigned_integer;
    const bool real = column.type == Given::real;
    bind.buffer_type =
        wire_type(number, real, column.type == Given::blob || origin_ != Origin::handler);
    bind.is_unsigned = column.type == Given::unsigned_integer ? 1 : 0;
    bind.length = column.lengths.data();
    bind.u.indicator = column.indicators.data();
    if (number || real) {
      bind.buffer = column.numbers.data();
    } else if (rows > 1) {
      bind.buffer = static_cast<void*>(column.texts.data());
    } else {
      // Read only; the library has one type for both ways.
      bind.buffer =
          const_cast<char*>(column.texts[0]);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      bind.buffer_length = column.lengths[0];
    }
    if (rows == 1 && column.indicators[0] == STMT_INDICATOR_NULL) {
      bind.buffer_type = MYSQL_TYPE_NULL;
    }
  }
  // One row needs no array, which prepared statements that return rows do not take.
  const unsigned int array_size = rows > 1 ? rows : 0;
  mysql_stmt_attr_set(handle_, STMT_ATTR_ARRAY_SIZE, &array_size);
  if (!binds.empty() && mysql_stmt_bind_param(handle_, binds.data()) != 0) fail_now();
}

unsigned int Statement::execute(ParameterRows& parameters) {
  // Rows of an earlier run that nobody has read.
  mysql_stmt_free_result(handle_);
  bind(parameters);
  return mysql_stmt_execute(handle_) == 0 ? 0 : mysql_stmt_errno(handle_);
}

unsigned int Statement::run_tolerating(ParameterRows& parameters, unsigned int tolerated) {
  const unsigned int code = execute(parameters);
  if (code != 0 && code != tolerated) fail_now();
  return code;
}

std::int64_t Statement::run() {
  ParameterRows none{0};
  return run(none);
}

std::int64_t Statement::run(ParameterRows& parameters) {
  if (execute(parameters) != 0) fail_now();
  if (mysql_stmt_field_count(handle_) == 0) {
    columns_.clear();
    return static_cast<std::int64_t>(mysql_stmt_affected_rows(handle_));
  }
  receive();
  return 0;
}

void Statement::receive() {
  // Somebody may have changed the tables since, or this is the result of a procedure.
  describe_columns();
  if (mysql_stmt_store_result(handle_) != 0) fail_now();
  std::vector<MYSQL_BIND> binds(columns_.size());
  std::size_t size = 0;
  MYSQL_RES* const about = mysql_stmt_result_metadata(handle_);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto* field = mysql_fetch_field_direct(about, static_cast<unsigned int>(i));
    columns_[i].offset = size;
    columns_[i].size = field->max_length + 1;
    size += columns_[i].size;
  }
  mysql_free_result(about);
  buffer_.resize(size);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    ResultColumn& column = columns_[i];
    MYSQL_BIND& bind = binds[i];
    std::memset(&bind, 0, sizeof bind);
    const bool number = column.type == Type::integer || column.type == Type::unsigned_integer;
    const bool real = column.type == Type::real;
    bind.buffer_type = wire_type(number, real, column.type == Type::blob);
    bind.is_unsigned = column.type == Type::unsigned_integer ? 1 : 0;
    bind.is_null = &column.is_null;
    bind.length = &column.length;
    if (number) {
      bind.buffer = &column.number;
    } else if (real) {
      bind.buffer = &column.real;
    } else {
      bind.buffer = buffer_.data() + column.offset;
      bind.buffer_length = column.size;
    }
  }
  if (mysql_stmt_bind_result(handle_, binds.data()) != 0) fail_now();
}

bool Statement::step() {
  const int code = mysql_stmt_fetch(handle_);
  if (code == MYSQL_NO_DATA) {
    mysql_stmt_free_result(handle_);
    return false;
  }
  if (code == MYSQL_DATA_TRUNCATED) {
    throw Error{ErrorKind::unavailable,
                fmt::format("MariaDB: a value of \"{}\" came back shorter than it is", beginning_)};
  }
  if (code != 0) fail_now();
  return true;
}

void Statement::finish() {
  mysql_stmt_free_result(handle_);
  while (mysql_stmt_more_results(handle_)) {
    if (mysql_stmt_next_result(handle_) > 0) fail_now();
    mysql_stmt_free_result(handle_);
  }
}

bool Statement::is_null(std::size_t column) const noexcept {
  return columns_[column].is_null != 0;
}

std::int64_t Statement::integer_at(std::size_t column) const noexcept {
  return is_null(column) ? 0 : columns_[column].number;
}

std::uint64_t Statement::unsigned_at(std::size_t column) const noexcept {
  return std::bit_cast<std::uint64_t>(integer_at(column));
}

double Statement::real_at(std::size_t column) const noexcept {
  return columns_[column].real;
}

std::span<const std::uint8_t> Statement::blob_at(std::size_t column) const noexcept {
  if (is_null(column)) return {};
  const ResultColumn& found = columns_[column];
  return {reinterpret_cast<const std::uint8_t*>(buffer_.data()) + found.offset, found.length};
}

std::string Statement::text_at(std::size_t column) const {
  const auto bytes = blob_at(column);
  return {bytes.begin(), bytes.end()};
}

void Statement::copy_blob(std::size_t column, std::array<std::uint8_t, 16>& to) const noexcept {
  const auto bytes = blob_at(column);
  std::copy_n(bytes.begin(), std::min(bytes.size(), to.size()), to.begin());
}

Statement::Type Statement::type_of(std::size_t column) const noexcept {
  return columns_[column].type;
}

}  // namespace onefold::mariadb
