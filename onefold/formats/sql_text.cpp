#include "onefold/formats/sql_text.h"

#include <algorithm>

namespace onefold {
namespace {

using Kind = SqlToken::Kind;

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) noexcept {
  return starts_name(c) || is_digit(c);
}

}  // namespace

char SqlLexer::peek(std::size_t ahead) const noexcept {
  return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0';
}

SqlToken SqlLexer::make(Kind kind, std::size_t end) {
  end = std::min(end, sql_.size());
  const SqlToken token{kind, at_, sql_.substr(at_, end - at_)};
  at_ = end;
  return token;
}

SqlToken SqlLexer::next() {
  while (at_ < sql_.size() && is_space(sql_[at_])) ++at_;
  if (at_ >= sql_.size()) return make(Kind::end, at_);
  const bool sqlite = dialect_ == SqlDialect::sqlite;
  const bool postgres = dialect_ == SqlDialect::postgres;
  const bool mariadb = dialect_ == SqlDialect::mariadb;
  const char c = sql_[at_];
  if (begins_line_comment()) return line_comment();
  if (c == '/' && peek(1) == '*') return comment();
  if (c == '\'') return quoted(c, Kind::text, mariadb);
  if (c == '"') return quoted(c, mariadb ? Kind::text : Kind::name, mariadb);
  if (c == '`' && !postgres) return quoted(c, Kind::name, false);
  if (c == '[' && sqlite) return bracketed();
  if (c == '$' && postgres) return dollar();
  if (c == ':') return colon();
  if (postgres && (c == 'e' || c == 'E') && peek(1) == '\'')
    return quoted('\'', Kind::text, true, 1);
  if (continues_name(c)) return word();
  return make(Kind::symbol, at_ + 1);
}

SqlToken SqlLexer::quoted(char quote, Kind kind, bool backslash, std::size_t prefix) {
  for (std::size_t i = at_ + prefix + 1; i < sql_.size(); ++i) {
    if (backslash && sql_[i] == '\\') {
      ++i;
    } else if (sql_[i] == quote) {
      // A doubled quote stands for itself.
      if (i + 1 >= sql_.size() || sql_[i + 1] != quote) return make(kind, i + 1);
      ++i;
    }
  }
  return make(Kind::unclosed, sql_.size());
}

SqlToken SqlLexer::bracketed() {
  const std::size_t end = sql_.find(']', at_);
  if (end == std::string_view::npos) return make(Kind::unclosed, sql_.size());
  return make(Kind::name, end + 1);
}

/// $$text$$, $tag$text$tag$, or a parameter of PostgreSQL's own.
SqlToken SqlLexer::dollar() {
  std::size_t tag_end = at_ + 1;
  if (tag_end < sql_.size() && starts_name(sql_[tag_end])) {
    while (tag_end < sql_.size() && continues_name(sql_[tag_end])) ++tag_end;
  }
  if (tag_end >= sql_.size() || sql_[tag_end] != '$') return make(Kind::symbol, at_ + 1);
  const std::string_view tag = sql_.substr(at_, tag_end + 1 - at_);
  const std::size_t end = sql_.find(tag, tag_end + 1);
  if (end == std::string_view::npos) return make(Kind::unclosed, sql_.size());
  return make(Kind::text, end + tag.size());
}

SqlToken SqlLexer::colon() {
  if (peek(1) == ':') return make(Kind::symbol, at_ + 2);
  if (!starts_name(peek(1))) return make(Kind::symbol, at_ + 1);
  std::size_t end = at_ + 1;
  while (end < sql_.size() && continues_name(sql_[end])) ++end;
  return make(Kind::parameter, end);
}

SqlToken SqlLexer::word() {
  std::size_t end = at_;
  // A dollar may continue a name (a$b): it starts no parameter or text there.
  while (end < sql_.size() && (continues_name(sql_[end]) || sql_[end] == '$')) ++end;
  return make(Kind::word, end);
}

bool SqlLexer::begins_line_comment() const noexcept {
  const char c = sql_[at_];
  if (dialect_ == SqlDialect::mariadb) {
    // Without a space it is two minuses: "5--3" is 8.
    const char third = peek(2);
    const bool dashes = c == '-' && peek(1) == '-';
    return c == '#' || (dashes && (at_ + 2 >= sql_.size() || is_space(third) || third < ' '));
  }
  return c == '-' && peek(1) == '-';
}

SqlToken SqlLexer::line_comment() {
  return make(Kind::comment, sql_.find('\n', at_));
}

SqlToken SqlLexer::comment() {
  if (dialect_ != SqlDialect::postgres) {
    const std::size_t end = sql_.find("*/", at_ + 2);
    if (end == std::string_view::npos) return make(Kind::unclosed, sql_.size());
    return make(Kind::comment, end + 2);
  }
  int depth = 1;
  for (std::size_t i = at_ + 2; i + 1 < sql_.size(); ++i) {
    const std::string_view pair = sql_.substr(i, 2);
    if (pair == "/*") {
      ++depth;
      ++i;
    } else if (pair == "*/") {
      if (--depth == 0) return make(Kind::comment, i + 2);
      ++i;
    }
  }
  return make(Kind::unclosed, sql_.size());
}

void collect_names(std::string_view sql, SqlDialect dialect, std::set<std::string>& names) {
  SqlLexer lexer{sql, dialect};
  for (SqlToken token = lexer.next(); token.kind != SqlToken::Kind::end; token = lexer.next()) {
    if (token.kind == SqlToken::Kind::unclosed) return;
    if (token.kind == SqlToken::Kind::name && token.text.size() > 2) {
      names.emplace(token.text.substr(1, token.text.size() - 2));
    }
    if (token.kind != SqlToken::Kind::word) continue;
    std::string word{token.text};
    if (dialect == SqlDialect::postgres) {
      for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    names.insert(std::move(word));
  }
}

bool is_executed(std::string_view comment) noexcept {
  return comment.starts_with("/*!") || comment.starts_with("/*M!");
}

NumberedSql number_parameters(std::string_view sql, SqlDialect dialect) {
  NumberedSql made;
  std::size_t copied = 0;
  SqlLexer lexer{sql, dialect};
  for (SqlToken token = lexer.next(); token.kind != Kind::end; token = lexer.next()) {
    if (token.kind != Kind::parameter) continue;
    std::string name{token.text.substr(1)};
    auto found = std::ranges::find(made.names, name);
    const bool each_use = dialect == SqlDialect::mariadb;
    if (each_use || found == made.names.end()) {
      found = made.names.insert(made.names.end(), std::move(name));
    }
    if (dialect == SqlDialect::sqlite) continue;
    made.text += sql.substr(copied, token.at - copied);
    made.text += each_use ? "?" : "$" + std::to_string(found - made.names.begin() + 1);
    copied = token.at + token.text.size();
  }
  made.text += sql.substr(copied);
  return made;
}

}  // namespace onefold
