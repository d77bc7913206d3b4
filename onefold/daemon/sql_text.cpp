#include "onefold/daemon/sql_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t beginning_bytes_max = 60;

struct Refusal {
  std::string_view keyword;
  std::string_view why;
};

constexpr std::string_view ends_transaction =
    "a handler's statements already run in the transaction that also holds the event's claim";
constexpr std::string_view outside =
    "it works on the whole database or connection, not on rows of the event's transaction";
constexpr std::string_view changes_schema =
    "create and change tables before events are applied, not while they are";

constexpr std::array refusals{
    Refusal{"BEGIN", ends_transaction},
    Refusal{"START", ends_transaction},
    Refusal{"COMMIT", ends_transaction},
    Refusal{"END", ends_transaction},
    Refusal{"ROLLBACK", ends_transaction},
    Refusal{"ABORT", ends_transaction},
    Refusal{"SAVEPOINT", ends_transaction},
    Refusal{"RELEASE", ends_transaction},
    Refusal{"ATTACH", outside},
    Refusal{"DETACH", outside},
    Refusal{"PRAGMA", outside},
    Refusal{"VACUUM", outside},
    Refusal{"REINDEX", outside},
    Refusal{"ANALYZE", outside},
    Refusal{"CREATE", changes_schema},
    Refusal{"ALTER", changes_schema},
    Refusal{"DROP", changes_schema},
    Refusal{"TRUNCATE", changes_schema},
};

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool starts_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) noexcept {
  return starts_name(c) || (c >= '0' && c <= '9');
}

/// One pass over a statement. It knows just enough of SQL to tell code from text.
class Scanner {
 public:
  explicit Scanner(std::string_view sql) : sql_{sql} {}

  SqlText scan() {
    while (at_ < sql_.size() && found_.defect.empty()) step();
    if (found_.defect.empty() && !any_code_) refuse("there is no statement in it", 0);
    return std::move(found_);
  }

 private:
  void step() {
    const char c = sql_[at_];
    const char following = at_ + 1 < sql_.size() ? sql_[at_ + 1] : '\0';
    if (is_space(c)) {
      ++at_;
    } else if (c == '-' && following == '-') {
      at_ = std::min(sql_.find('\n', at_), sql_.size());
    } else if (c == '/' && following == '*') {
      skip_comment();
    } else if (c == ';') {
      ended_ = any_code_;
      ++at_;
    } else if (ended_) {
      refuse("there are several statements in it: write them as an array, one string each", at_);
    } else {
      any_code_ = true;
      code(c, following);
    }
  }

  void code(char c, char following) {
    if (c == '\'' || c == '"' || c == '`') {
      skip_quoted(c);
    } else if (c == '[') {
      skip_bracket();
    } else if (c == ':') {
      colon(following);
    } else if (c == '?' || (c == '@' && starts_name(following)) ||
               (c == '$' && (following == '$' || continues_name(following)))) {
      refuse("write parameters as :name, not with " + std::string(1, c), at_);
    } else if (continues_name(c)) {
      word();
    } else {
      // Anything else also ends the search for the first word: "(SELECT" has none.
      keyword_done_ = true;
      ++at_;
    }
  }

  void word() {
    const std::size_t begin = at_;
    // A dollar may continue a name (a$b): it starts no parameter there.
    while (at_ < sql_.size() && (continues_name(sql_[at_]) || sql_[at_] == '$')) ++at_;
    if (keyword_done_) return;
    keyword_done_ = true;
    for (const char c : sql_.substr(begin, at_ - begin)) {
      found_.keyword += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    for (const Refusal& refusal : refusals) {
      if (refusal.keyword != found_.keyword) continue;
      refuse(found_.keyword + " cannot be used in a handler: " + std::string{refusal.why}, begin);
    }
  }

  void colon(char following) {
    if (following == ':') {
      at_ += 2;
      return;
    }
    ++at_;
    if (!starts_name(following)) return;
    const std::size_t begin = at_;
    while (at_ < sql_.size() && continues_name(sql_[at_])) ++at_;
    std::string name{sql_.substr(begin, at_ - begin)};
    if (std::ranges::find(found_.parameters, name) == found_.parameters.end()) {
      found_.parameters.push_back(std::move(name));
    }
  }

  void skip_comment() {
    const std::size_t end = sql_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      refuse("a comment has no end", at_);
    } else {
      at_ = end + 2;
    }
  }

  /// A doubled quote inside stands for itself; it looks like the next quoted text, which is as
  /// good.
  void skip_quoted(char quote) {
    keyword_done_ = true;
    const std::size_t end = sql_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      refuse("a quote (" + std::string(1, quote) + ") has no end", at_);
    } else {
      at_ = end + 1;
    }
  }

  void skip_bracket() {
    keyword_done_ = true;
    const std::size_t end = sql_.find(']', at_ + 1);
    if (end == std::string_view::npos) {
      refuse("a bracket ([) has no end", at_);
    } else {
      at_ = end + 1;
    }
  }

  void refuse(std::string why, std::size_t where) {
    found_.defect = std::move(why);
    const auto lines = std::ranges::count(sql_.substr(0, where), '\n');
    found_.defect_line = static_cast<std::size_t>(lines) + 1;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  bool any_code_ = false;
  bool ended_ = false;  ///< A semicolon has closed the statement.
  bool keyword_done_ = false;
  SqlText found_;
};

}  // namespace

SqlText read_sql(std::string_view sql) {
  return Scanner{sql}.scan();
}

std::string sql_beginning(std::string_view sql) {
  std::string line;
  for (const char c : sql) {
    if (!is_space(c)) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return printable(line, beginning_bytes_max);
}

}  // namespace onefold
