#include "onefold/daemon/sql_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "onefold/daemon/nearest.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

constexpr std::size_t beginning_bytes_max = 60;

/// Why a kind of statement is refused, and what to do instead.
struct Refusal {
  std::string_view keyword;
  std::string_view why;
  std::string_view hint;
};

constexpr std::string_view ends_transaction =
    "a handler's statements already run in the transaction that also holds the event's claim";
constexpr std::string_view leave_out = "leave it out: all of the handler commits, or none of it";
constexpr std::string_view outside =
    "it works on the whole database or connection, not on rows of the event's transaction";
constexpr std::string_view by_hand = "run it by hand, or in a program of your own";
constexpr std::string_view changes_schema =
    "create and change tables before events are applied, not while they are";
constexpr std::string_view before = "run it with the tool of your database, before onefold run";

constexpr std::array refusals{
    Refusal{"BEGIN", ends_transaction, leave_out},
    Refusal{"START", ends_transaction, leave_out},
    Refusal{"COMMIT", ends_transaction, leave_out},
    Refusal{"END", ends_transaction, leave_out},
    Refusal{"ROLLBACK", ends_transaction, leave_out},
    Refusal{"ABORT", ends_transaction, leave_out},
    Refusal{"SAVEPOINT", ends_transaction, leave_out},
    Refusal{"RELEASE", ends_transaction, leave_out},
    Refusal{"ATTACH", outside, by_hand},
    Refusal{"DETACH", outside, by_hand},
    Refusal{"PRAGMA", outside, by_hand},
    Refusal{"SET", outside, by_hand},
    Refusal{"VACUUM", outside, by_hand},
    Refusal{"REINDEX", outside, by_hand},
    Refusal{"ANALYZE", outside, by_hand},
    Refusal{"CREATE", changes_schema, before},
    Refusal{"ALTER", changes_schema, before},
    Refusal{"DROP", changes_schema, before},
    Refusal{"RENAME", changes_schema, before},
    Refusal{"TRUNCATE", changes_schema, "write DELETE FROM, which counts its rows"},
    Refusal{"GRANT", changes_schema, before},
    Refusal{"REVOKE", changes_schema, before},
};

/// What a handler's statement can begin with.
const std::vector<std::string>& allowed() {
  static const std::vector<std::string> words{"INSERT", "UPDATE", "DELETE", "REPLACE",
                                              "MERGE",  "SELECT", "VALUES", "WITH"};
  return words;
}

bool starts_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) noexcept {
  return starts_name(c) || (c >= '0' && c <= '9');
}

std::string upper(std::string_view word) {
  std::string made{word};
  std::ranges::transform(made, made.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return made;
}

/// Listens to the tokens of a statement for the columns of its RETURNING.
class Returning {
 public:
  void word(std::string_view text) {
    if (depth_ == 0 && upper(text) == "RETURNING") {
      columns_.clear();
      begin_item();
      inside_ = true;
    } else {
      add({std::string{text}, starts_name(text.front())});
    }
  }
  void identifier(std::string_view text) { add({std::string{text}, true}); }
  void symbol(char c) {
    if (c == '(') ++depth_;
    if (c == ')') --depth_;
    if (c == ',' && depth_ == 0) {
      end_item();
    } else {
      add({std::string(1, c), false});
    }
  }
  std::vector<std::string> columns() {
    end_item();
    return std::move(columns_);
  }

 private:
  struct Token {
    std::string text;
    bool name = false;
  };

  void add(Token token) {
    // Three are enough to see a name at the end; the first tells whether it stands alone.
    if (!inside_) return;
    ++item_size_;
    plain_ = plain_ && (item_size_ % 2 == 0 ? token.text == "." : token.name || token.text == "*");
    if (item_.size() == 3) item_.erase(item_.begin());
    item_.push_back(std::move(token));
  }

  void end_item() {
    if (!inside_) return;
    if (item_size_ > 0) columns_.push_back(name_of_item());
    begin_item();
  }

  void begin_item() {
    item_.clear();
    item_size_ = 0;
    plain_ = true;
  }

  /// "balance", "account.balance" and "... AS balance" have one.
  std::string name_of_item() const {
    const Token& last = item_.back();
    if (plain_ && item_size_ % 2 == 1) return last.text;
    const bool renamed =
        item_.size() >= 2 && last.name && upper(item_[item_.size() - 2].text) == "AS";
    return renamed ? last.text : std::string{};
  }

  bool inside_ = false;
  int depth_ = 0;
  bool plain_ = true;  ///< Names and dots in turn.
  std::size_t item_size_ = 0;
  std::vector<Token> item_;  ///< Its last tokens.
  std::vector<std::string> columns_;
};

/// One pass over the tokens of a statement.
class Scanner {
 public:
  Scanner(std::string_view sql, SqlDialect dialect)
      : sql_{sql}, dialect_{dialect}, lexer_{sql, dialect} {}

  SqlText scan() {
    if (const std::size_t nul = sql_.find('\0'); nul != std::string_view::npos) {
      refuse("a NUL character stands in it, and databases stop reading there", nul);
    }
    for (SqlToken token = lexer_.next(); token.kind != SqlToken::Kind::end && found_.defect.empty();
         token = lexer_.next()) {
      take(token);
    }
    if (found_.defect.empty() && !any_code_) {
      refuse("there is no statement in it", 0, "write one, or remove the string");
    }
    if (found_.defect.empty()) found_.returning = returning_.columns();
    return std::move(found_);
  }

 private:
  void take(const SqlToken& token) {
    if (token.kind == SqlToken::Kind::comment) {
      check_comment(token);
    } else if (token.text == ";") {
      ended_ = any_code_;
    } else if (token.text.starts_with("/*")) {
      refuse("a comment has no end", token.at, "write */ where it should end");
    } else if (ended_) {
      refuse("there are several statements in it", token.at,
             R"(write an array, one string each: sql = ["…", "…"])");
    } else {
      any_code_ = true;
      code(token);
      // "(SELECT" has no first word.
      keyword_done_ = true;
    }
  }

  void code(const SqlToken& token) {
    switch (token.kind) {
      case SqlToken::Kind::word:
        return word(token);
      case SqlToken::Kind::parameter:
        return parameter(token);
      case SqlToken::Kind::text:
        return returning_.symbol('\'');
      case SqlToken::Kind::name:
        return returning_.identifier(token.text.substr(1, token.text.size() - 2));
      case SqlToken::Kind::unclosed:
        return unclosed(token);
      default:
        return symbol(token);
    }
  }

  void word(const SqlToken& token) {
    returning_.word(token.text);
    if (keyword_done_) return;
    found_.keyword = upper(token.text);
    check_keyword(token.at);
  }

  void check_keyword(std::size_t begin) {
    if (std::ranges::find(allowed(), found_.keyword) != allowed().end()) return;
    for (const Refusal& refusal : refusals) {
      if (refusal.keyword != found_.keyword) continue;
      return refuse(found_.keyword + " cannot be used in a handler: " + std::string{refusal.why},
                    begin, std::string{refusal.hint});
    }
    refuse("\"" + printable(found_.keyword) + "\" does not begin a statement of a handler", begin,
           nearest_hint(found_.keyword, allowed(), "beginnings"));
  }

  void parameter(const SqlToken& token) {
    returning_.symbol(':');
    std::string name{token.text.substr(1)};
    if (std::ranges::find(found_.parameters, name) == found_.parameters.end()) {
      found_.parameters.push_back(std::move(name));
    }
  }

  void symbol(const SqlToken& token) {
    const char c = token.text.front();
    const std::size_t end = token.at + token.text.size();
    const char following = end < sql_.size() ? sql_[end] : '\0';
    // In PostgreSQL "?" and "@" are operators.
    const bool operators = dialect_ == SqlDialect::postgres;
    if ((c == '?' && !operators) || (c == '@' && starts_name(following) && !operators) ||
        (c == '$' && (following == '$' || continues_name(following)))) {
      refuse("write parameters as :name, not with " + std::string(1, c), token.at,
             R"(for example: "UPDATE account SET balance = 0 WHERE id = :account")");
    } else {
      returning_.symbol(c);
    }
  }

  void check_comment(const SqlToken& token) {
    if (is_executed(token.text)) {
      refuse("a comment begins with /*!, which some databases execute", token.at, "remove it");
    } else if (token.text.starts_with("/*") && token.text.find("/*", 2) != token.text.npos) {
      refuse("a comment stands in a comment, and databases disagree about where that ends",
             token.at, "remove the inner one");
    }
  }

  void unclosed(const SqlToken& token) {
    const std::size_t quote = token.text.find_first_of("'\"`[$");
    const std::string mark{token.text.substr(quote == token.text.npos ? 0 : quote, 1)};
    if (mark == "[") {
      refuse("a bracket ([) has no end", token.at, "write ] where the name ends");
    } else {
      refuse("a quote (" + mark + ") has no end", token.at,
             "a quote within a quoted text is written twice");
    }
  }

  void refuse(std::string why, std::size_t where, std::string hint = {}) {
    found_.defect = std::move(why);
    found_.hint = std::move(hint);
    const auto lines = std::ranges::count(sql_.substr(0, where), '\n');
    found_.defect_line = static_cast<std::size_t>(lines) + 1;
  }

  std::string_view sql_;
  SqlDialect dialect_;
  SqlLexer lexer_;
  bool any_code_ = false;
  bool ended_ = false;  ///< A semicolon has closed the statement.
  bool keyword_done_ = false;
  Returning returning_;
  SqlText found_;
};

}  // namespace

SqlText read_sql(std::string_view sql, SqlDialect dialect) {
  return Scanner{sql, dialect}.scan();
}

std::string sql_beginning(std::string_view sql) {
  return printable(single_spaced(sql), beginning_bytes_max);
}

}  // namespace onefold
