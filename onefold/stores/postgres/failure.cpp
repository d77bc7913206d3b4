#include "onefold/stores/postgres/failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace onefold::postgres {
namespace {

bool is_one_of(std::string_view code, std::span<const std::string_view> codes) noexcept {
  return std::ranges::find(codes, code) != codes.end();
}

constexpr std::array<std::string_view, 5> contention_codes{
    "40001",   // Serialization.
    "40P01",   // Deadlock.
    "40002",   // A constraint that lost against another transaction.
    "55P03",   // A lock that took too long.
    "57014"};  // A statement that took too long, or that somebody has stopped.

/// The connection, resources, somebody's orders, the machine.
constexpr std::array<std::string_view, 4> environment_classes{"08", "53", "57", "58"};
constexpr std::array<std::string_view, 8> environment_codes{
    "25006",            // The server only reads: it has become a standby.
    "25P03",            // It took the transaction for abandoned.
    "26000",            // A prepared statement has gone: another server behind a pooler.
    "40003",            // Nobody knows whether the statement has ended.
    "42P05",            // A prepared statement of that name is there already: as 26000.
    "XX001",            // Damaged data, and a damaged index.
    "XX002", "25P04"};  // As 25P03, for the length of the whole transaction.

bool is_environment(std::string_view code) noexcept {
  return is_one_of(code, environment_codes) || is_one_of(code.substr(0, 2), environment_classes);
}

/// A handler that ends the transaction, or tries to.
constexpr std::array<std::string_view, 6> violation_codes{"0B000", "25001", "25P01",
                                                          "2D000", "3B000", "3B001"};

/// What is wrong in the text, the schema or the rights is wrong for every event.
constexpr std::array<std::string_view, 5> configuration_classes{"0A", "28", "3D", "3F", "42"};

std::string field(const ::PGresult* result, int which) {
  const char* const text = PQresultErrorField(result, which);
  return text == nullptr ? "" : text;
}

/// The server's words; its own for errors about values would show the value.
std::string words_of(const ::PGresult* result, const std::string& code) {
  std::string words = code.starts_with("22") ? "a value does not fit where it is used"
                                             : field(result, PG_DIAG_MESSAGE_PRIMARY);
  if (words.empty()) words = "the server reports an error";
  if (!code.starts_with("22")) return words;
  for (const auto& [which, label] :
       {std::pair{PG_DIAG_COLUMN_NAME, "column"}, {PG_DIAG_DATATYPE_NAME, "type"}}) {
    const std::string name = field(result, which);
    if (!name.empty()) words += fmt::format(", {} {}", label, name);
  }
  return words;
}

const char* advice(ErrorKind kind, Part part) noexcept {
  switch (kind) {
    case ErrorKind::unavailable:
      return "; check the server and the network";
    case ErrorKind::contract_violation:
      return "; a handler must leave transactions and the tables of Onefold alone";
    case ErrorKind::bad_configuration:
      return part == Part::own
                 ? "; run `onefold migrate`, or give this role the rights on the tables"
                 : "; correct the statement, or create what it names and grant the rights";
    default:
      return "";
  }
}

}  // namespace

ErrorKind kind_of(std::string_view code, Part part) noexcept {
  if (code.empty()) return ErrorKind::unavailable;
  if (part == Part::claim && code == "23505") return ErrorKind::contention;
  if (part == Part::tripwire && (code == "22012" || code == "25P01")) {
    return ErrorKind::contract_violation;
  }
  if (part == Part::touch && code == "22012") return ErrorKind::bad_configuration;
  if (is_one_of(code, contention_codes)) return ErrorKind::contention;
  if (is_environment(code)) return ErrorKind::unavailable;
  if (is_one_of(code, violation_codes)) return ErrorKind::contract_violation;
  if (is_one_of(code.substr(0, 2), configuration_classes)) return ErrorKind::bad_configuration;
  // Only what a handler has written, or a constraint that waits for COMMIT, can be an event's
  // fault.
  const bool is_theirs = part == Part::handler || part == Part::commit;
  return is_theirs ? ErrorKind::permanent : ErrorKind::bad_configuration;
}

FailureClass class_of(std::string_view code) noexcept {
  if (code.starts_with("23")) return FailureClass::constraint;
  return code.starts_with("22") ? FailureClass::data : FailureClass::statement;
}

Failure failure_of(const ::PGresult* result, Part part, std::string_view doing) {
  std::string code = field(result, PG_DIAG_SQLSTATE);
  const ErrorKind kind = kind_of(code, part);
  // The reason comes first: lists cut what is long.
  std::string message;
  if (part == Part::claim && kind == ErrorKind::contention && code == "23505") {
    message = "PostgreSQL: another worker has claimed an event of this batch in the meantime";
  } else if (part == Part::tripwire && kind == ErrorKind::contract_violation) {
    message = "PostgreSQL: a handler has ended the transaction and begun another one";
  } else if (part == Part::touch && code == "22012") {
    message =
        "PostgreSQL: there is no such consumer any more; was the database replaced? start again";
  } else if (code.empty()) {
    message = fmt::format("PostgreSQL: the connection was lost while {}", doing);
  } else {
    message = fmt::format("PostgreSQL: {} (SQLSTATE {}) while {}{}", words_of(result, code), code,
                          doing, advice(kind, part));
  }
  return {kind, message, std::move(code), part};
}

Failure lost(const ::PGconn* /*connection*/, Part part, std::string_view doing) {
  return {ErrorKind::unavailable,
          fmt::format("PostgreSQL: the connection was lost while {}", doing),
          {},
          part};
}

}  // namespace onefold::postgres
