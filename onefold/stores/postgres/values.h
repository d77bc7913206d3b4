#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/event.h"

/// Values on their way into and out of the server, in its binary format.
namespace onefold::postgres {

/// The numbers of types; they are the same in every PostgreSQL.
namespace type {
inline constexpr ::Oid unknown = 0;  ///< The server decides by where the value stands.
inline constexpr ::Oid boolean = 16;
inline constexpr ::Oid bytes = 17;
inline constexpr ::Oid integer64 = 20;
inline constexpr ::Oid integer16 = 21;
inline constexpr ::Oid integer32 = 23;
inline constexpr ::Oid text = 25;
inline constexpr ::Oid real32 = 700;
inline constexpr ::Oid real64 = 701;
inline constexpr ::Oid time = 1184;
}  // namespace type

/// The parameters of one statement.
class Arguments {
 public:
  Arguments& boolean(bool value);
  Arguments& integer16(std::int16_t value);
  Arguments& integer32(std::int32_t value);
  Arguments& integer64(std::int64_t value);
  Arguments& real(double value);
  Arguments& bytes(std::span<const std::uint8_t> value);
  Arguments& time(Timestamp value);
  /// Any bytes; see `stored_text`.
  Arguments& text(std::string_view value);
  Arguments& text_or_null(std::string_view value);
  /// Text that the server reads as the type that it expects there.
  Arguments& literal(std::string value);
  Arguments& null(::Oid type);
  /// The elements are binary, but for texts.
  Arguments& array(::Oid type, std::string value);

  int count() const noexcept { return static_cast<int>(types_.size()); }
  const std::vector<::Oid>& types() const noexcept { return types_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// Calls `send(count, values, lengths, formats)`.
  template <class Send>
  int pass(const Send& send) const {
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values.push_back(nulls_[i] ? nullptr : values_[i].data());
      lengths.push_back(static_cast<int>(values_[i].size()));
    }
    return send(count(), values.data(), lengths.data(), formats_.data());
  }

 private:
  Arguments& add(::Oid type, std::string value, int format, bool null = false);

  std::vector<::Oid> types_;
  std::vector<std::string> values_;
  std::vector<int> formats_;
  std::vector<bool> nulls_;
  std::size_t size_bytes_ = 0;
};

/// A column of many rows as one parameter, to be unnested.
class Array {
 public:
  explicit Array(::Oid element) : element_{element} {}
  void boolean(bool value);
  void integer16(std::int16_t value);
  void integer32(std::int32_t value);
  void integer64(std::int64_t value);
  void time(Timestamp value);
  void bytes(std::span<const std::uint8_t> value);
  void text(std::string_view value);
  void text_or_null(std::string_view value);
  void null();
  void into(Arguments& arguments) const;

 private:
  void add(std::string_view value);

  ::Oid element_;
  std::string body_;
  std::int32_t count_ = 0;
  bool has_null_ = false;
};

/// One row of a result whose columns are binary.
class Row {
 public:
  Row(const ::PGresult* result, int row) : result_{result}, row_{row} {}
  bool is_null(int column) const;
  bool boolean(int column) const;
  std::int16_t integer16(int column) const;
  std::int32_t integer32(int column) const;
  std::int64_t integer64(int column) const;
  /// As it was given to `Arguments::text`; empty for NULL.
  std::string text(int column) const;
  std::span<const std::uint8_t> bytes(int column) const;
  /// Up to 16 bytes; unchanged for NULL.
  void copy_bytes(int column, std::array<std::uint8_t, 16>& into) const;
  Timestamp time(int column) const;

 private:
  std::uint64_t number(int column) const;

  const ::PGresult* result_;
  int row_;
};

/// Texts of PostgreSQL hold neither NUL nor anything that is not UTF-8: those are stored as "\x"
/// and hexadecimal digits, as is what begins so by itself. Equal texts stay equal, others differ.
std::string stored_text(std::string_view text);
std::string text_from_stored(std::string_view stored);

/// 128 unsigned bits as a decimal number, and back.
std::string decimal_of(const Offset& offset);
Offset offset_from(std::string_view decimal);

}  // namespace onefold::postgres
