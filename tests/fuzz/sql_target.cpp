#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "onefold/daemon/sql_text.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/targets.h"

namespace onefold::fuzz {
namespace {

struct Close {
  void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

/// What a handler's statement must not do (semantics 3.5), by SQLite's own account.
bool is_forbidden(int action) {
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_PRAGMA:
    case SQLITE_ALTER_TABLE:
    case SQLITE_REINDEX:
    case SQLITE_ANALYZE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_TRIGGER:
    case SQLITE_DROP_TEMP_VIEW:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_VTABLE:
      return true;
    default:
      return false;
  }
}

int authorize(void* forbidden, int action, const char* /*third*/, const char* /*fourth*/,
              const char* /*database*/, const char* /*trigger*/) {
  if (!is_forbidden(action)) return SQLITE_OK;
  *static_cast<bool*>(forbidden) = true;
  return SQLITE_DENY;
}

/// SQLite with a few tables, which nothing here ever changes.
class Judge {
 public:
  Judge() {
    sqlite3* opened = nullptr;
    require(sqlite3_open(":memory:", &opened) == SQLITE_OK, "there is a database");
    database_.reset(opened);
    require(sqlite3_exec(opened,
                         "CREATE TABLE a (b, c, id INTEGER PRIMARY KEY);"
                         "CREATE TABLE t (x, y, UNIQUE (x));",
                         nullptr, nullptr, nullptr) == SQLITE_OK,
            "it has tables");
    sqlite3_set_authorizer(opened, authorize, &forbidden_);
  }

  /// Compiles the text, as far as SQLite takes it for the first statement.
  void read(std::string_view text) {
    statement_.reset();
    forbidden_ = false;
    sqlite3_stmt* compiled = nullptr;
    const char* tail = nullptr;
    code_ = sqlite3_prepare_v2(database_.get(), text.data(), static_cast<int>(text.size()),
                               &compiled, &tail);
    statement_.reset(compiled);
    rest_ =
        text.substr(tail == nullptr ? text.size() : static_cast<std::size_t>(tail - text.data()));
  }

  bool prepared() const { return code_ == SQLITE_OK && statement_ != nullptr; }
  bool forbidden() const { return forbidden_; }
  std::string_view rest() const { return rest_; }
  std::vector<std::string> parameters() const {
    std::vector<std::string> names;
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement_.get()); ++i) {
      const char* name = sqlite3_bind_parameter_name(statement_.get(), i);
      names.emplace_back(name == nullptr ? "?" : name);
    }
    return names;
  }

 private:
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;
  bool forbidden_ = false;
  int code_ = SQLITE_OK;
  std::string_view rest_;
};

/// A parameter as SQLite has it, that is no ":name" (":a::b", ":1"): `onefold check` refuses it.
bool is_strange(std::string_view parameter) {
  const auto plain = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte >= '0' && byte <= '9') || static_cast<unsigned char>(byte) >= 0x80;
  };
  return parameter.size() < 2 || parameter.front() != ':' ||
         (parameter[1] >= '0' && parameter[1] <= '9') ||
         !std::ranges::all_of(parameter.substr(1), plain);
}

void check_parameters(const SqlText& read, const std::vector<std::string>& parameters) {
  if (std::ranges::any_of(parameters, is_strange)) return;
  require(std::ranges::equal(parameters, read.parameters,
                             [](std::string_view judged, std::string_view ours) {
                               return judged.substr(1) == ours;
                             }),
          "the parameters are those that SQLite finds");
}

}  // namespace

void sql(std::string_view bytes) {
  static Judge judge;
  const SqlText read = read_sql(bytes);
  require((read.defect_line == 0) == read.defect.empty(), "a defect has its line");
  require(std::ranges::all_of(
              sql_beginning(bytes),
              [](char byte) { return static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F; }),
          "the beginning of a statement can be shown");
  judge.read(bytes);
  if (!read.defect.empty()) return;
  // EXPLAIN shows how SQLite would do it, and does nothing.
  require(!judge.forbidden() || read.keyword == "EXPLAIN", "what is forbidden is refused");
  if (!judge.prepared()) return;
  require(!read_sql(judge.rest()).defect.empty(), "there is no second statement");
  check_parameters(read, judge.parameters());
}

}  // namespace onefold::fuzz
