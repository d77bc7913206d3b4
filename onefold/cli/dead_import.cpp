#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/dead_letter.h"
#include "onefold/cli/json_text.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"
#include "onefold/housekeeping.h"

namespace onefold::cli {
namespace {

constexpr std::size_t imported_together = 100;
constexpr std::size_t bytes_together = 16U << 20U;
/// The largest event that a source may hand over takes less, with everything around it.
constexpr std::size_t line_bytes_max = 128U << 20U;

struct ImportOptions {
  std::vector<std::string> config_paths;
  std::string format;
  std::string path;
  std::string reason;
  bool dry_run = false;
};

constexpr const char* footer =
    "Reads what onefold dead export has written, from a file or, as -, from standard input. An\n"
    "event whose key is free is claimed and set aside again, byte for byte; one that the database\n"
    "knows is skipped and counted, so that importing twice changes nothing. A consumer that the\n"
    "database does not know is registered with its rules. Every event leaves an audit row.\n"
    "\n"
    "Example:\n"
    "  onefold dead import dead.jsonl -c shop.toml --dry-run\n"
    "  onefold dead export -c old.toml | onefold dead import - -c new.toml";

/// The lines of a file that may be broken, each of a bounded length.
class Lines {
 public:
  explicit Lines(const std::string& path) {
    if (path == "-") return;
    file_.open(path, std::ios::binary);
    if (file_.is_open()) return;
    const int reason = errno;
    complain("cannot read " + printable(path) + ": " + std::strerror(reason));
    throw Stopped{reason == EACCES ? ExitCode::permission : ExitCode::data};
  }

  /// False at the end. Throws `LetterDefect` for a line that is too long.
  bool next(std::string& line) {
    std::istream& input = file_.is_open() ? static_cast<std::istream&>(file_) : std::cin;
    line.clear();
    ++number_;
    std::streambuf& buffer = *input.rdbuf();
    for (int c = buffer.sbumpc(); c != std::char_traits<char>::eof(); c = buffer.sbumpc()) {
      if (c == '\n') return true;
      if (line.size() == line_bytes_max) throw LetterDefect{"it is longer than any export"};
      line += static_cast<char>(c);
    }
    return !line.empty();
  }
  std::int64_t number() const noexcept { return number_; }

 private:
  std::ifstream file_;
  std::int64_t number_ = 0;
};

class Import {
 public:
  Import(const OpenedStore& opened, const ImportOptions& options)
      : opened_{opened}, options_{options}, decisions_{opened.store->decisions()} {}

  /// Throws `LetterDefect`; what was imported before that stays.
  void read(Lines& lines) {
    std::string line;
    if (!lines.next(line)) throw LetterDefect{"it is empty"};
    for (const ConsumerRecord& each : consumers_in_head(line)) require_rules(each);
    while (lines.next(line)) {
      add(letter_from(line));
      if (waiting_.size() == imported_together || waiting_bytes_ > bytes_together) import_waiting();
    }
    import_waiting();
  }
  /// Also what stands before a line that cannot be read.
  void import_waiting() {
    const Decision decision{.who = user_at_host(), .reason = options_.reason};
    for (const ImportAnswer answer :
         decisions_->import_deferred(waiting_, decision, options_.dry_run)) {
      ++(answer == ImportAnswer::imported ? imported_ : known_);
    }
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  std::int64_t imported() const noexcept { return imported_; }
  std::int64_t known() const noexcept { return known_; }

 private:
  using ClaimedKey =
      std::tuple<std::string, std::string, std::string, std::string, std::array<std::uint8_t, 16>>;

  /// The same event must have the same key here as there.
  void require_rules(const ConsumerRecord& wanted) {
    const auto all = opened_.records->consumers();
    const auto known = std::ranges::find(all, wanted.name, &ConsumerRecord::name);
    if (known == all.end()) {
      strangers_.insert(wanted.name);
      if (!options_.dry_run) adopt(wanted);
      return;
    }
    const std::string changes = merge_rules(known->rules, wanted.rules).changes;
    if (changes.empty()) return;
    complain("the consumer " + printable(wanted.name) +
                 " makes its keys by other rules here than where the export comes from:\n" +
                 printable_lines(changes) + "nothing was imported",
             "the same event would have two keys; import it where the rules are the same");
    throw Stopped{ExitCode::data};
  }

  static std::string printable_lines(const std::string& text) {
    std::string lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines += "  " + printable(std::string_view{text}.substr(at, end - at), 500) + "\n";
      at = end + 1;
    }
    return lines;
  }

  /// Registers a consumer, or only finds its number.
  ConsumerId adopt(const ConsumerRecord& wanted) {
    const ClaimMode mode =
        wanted.mode == "optimistic" ? ClaimMode::optimistic : ClaimMode::claim_first;
    return opened_.store->housekeeping()->adopt({wanted.name, wanted.rules, mode}, {});
  }

  /// A key can be claimed once, so that a second claim of it was not written by an export.
  void require_new_keys(const DeadLetter& letter) {
    std::set<ClaimedKey> its;
    for (const LetterKey& each : letter.keys) {
      ClaimedKey key{letter.row.consumer, each.handler, each.source_or_rule, each.key_form,
                     each.bytes};
      if ((each.claim && claimed_.contains(key)) || !its.insert(std::move(key)).second) {
        throw LetterDefect{"it has a key that stands in this file already"};
      }
    }
    // Any number of conflicts may stand under one key.
    if (letter.keys.front().claim) claimed_.merge(its);
  }

  void add(DeadLetter letter) {
    require_new_keys(letter);
    if (options_.dry_run && strangers_.contains(letter.row.consumer)) {
      ++imported_;  // Nothing of it can be known.
      return;
    }
    ImportedDeferral row{.deferred = std::move(letter.row), .claims = {}};
    for (std::size_t i = 0; i < letter.keys.size(); ++i) {
      LetterKey& each = letter.keys[i];
      const auto scope = scope_of(row.deferred.consumer, each);
      // Only a trial finds none, and then the key must be free: any number that nobody has will do.
      const Key key{.scope = scope.value_or(-1), .bytes = each.bytes};
      if (i == 0) {
        row.deferred.key = key;
      } else {
        row.deferred.further_keys.push_back(key);
      }
      if (!each.claim) continue;
      each.claim->key = key;
      row.claims.push_back(std::move(*each.claim));
    }
    waiting_bytes_ += row.deferred.raw.size();
    waiting_.push_back(std::move(row));
  }

  /// The number of a scope here, which is allotted if it has to be, unless it is a trial.
  std::optional<std::int32_t> scope_of(const std::string& consumer, const LetterKey& key) {
    const auto name = std::tuple{consumer, key.handler, key.source_or_rule, key.key_form};
    if (const auto known = scopes_.find(name); known != scopes_.end()) return known->second;
    for (const ScopeRecord& each : opened_.records->scopes()) {
      scopes_[{each.consumer, each.handler, each.source_or_rule, each.key_form}] = each.scope;
    }
    if (const auto known = scopes_.find(name); known != scopes_.end()) return known->second;
    if (options_.dry_run) return std::nullopt;
    const auto number = allot(consumer, key);
    scopes_[name] = number;
    return number;
  }

  std::int32_t allot(const std::string& consumer, const LetterKey& key) {
    const auto all = opened_.records->consumers();
    const auto known = std::ranges::find(all, consumer, &ConsumerRecord::name);
    if (known == all.end()) throw LetterDefect{"its consumer does not stand in the first line"};
    const ConsumerId id = adopt(*known);
    if (!session_) session_ = opened_.store->connect();
    const auto number = session_->scope({.consumer = id,
                                         .handler = key.handler,
                                         .source_or_rule = key.source_or_rule,
                                         .key_form = key.key_form,
                                         .always = key.always});
    if (number) return *number;
    throw LetterDefect{"the consumer has as many event sources here as it may have"};
  }

  const OpenedStore& opened_;
  const ImportOptions& options_;
  std::unique_ptr<Decisions> decisions_;
  std::unique_ptr<Session> session_;
  std::set<std::string> strangers_;  ///< Consumers that were not known here.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::int32_t> scopes_;
  std::set<ClaimedKey> claimed_;  ///< What this file has had so far.
  std::vector<ImportedDeferral> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::int64_t imported_ = 0;
  std::int64_t known_ = 0;
};

void print_answer(const Import& import, const ImportOptions& options) {
  if (options.format == "json") {
    print(dumped_line({{"imported", import.imported()},
                       {"known", import.known()},
                       {"dry_run", options.dry_run}}));
    return;
  }
  std::string text =
      (options.dry_run ? "would import " : "imported ") + counted(import.imported(), "event");
  if (import.known() > 0) {
    text += "; " + grouped(import.known()) + (import.known() == 1 ? " was" : " were") +
            " known already and skipped";
  }
  print(text + "\n");
}

ExitCode import_letters(ImportOptions options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  if (options.reason.empty()) options.reason = "imported from " + printable(options.path);
  Lines lines{options.path};
  Import import{opened, options};
  try {
    import.read(lines);
  } catch (const LetterDefect& defect) {
    import.import_waiting();
    print_answer(import, options);
    complain(printable(options.path) + ":" + std::to_string(lines.number()) + ": " + defect.what(),
             "what stands before this line is done; mend the file and import it again: what is "
             "known is skipped");
    return ExitCode::data;
  }
  print_answer(import, options);
  return ExitCode::ok;
}

}  // namespace

void add_dead_import(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("import", "Set exported events aside again");
  auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("file", options->path,
                   "What onefold dead export has written; - reads it from "
                   "standard input")
      ->type_name("FILE")
      ->required();
  add_config_option(*command, options->config_paths);
  command->add_option("--reason", options->reason, "Why; kept in the audit")->type_name("TEXT");
  command->add_flag("--dry-run", options->dry_run, "Say how many it would be, and change nothing");
  add_output_option(*command, options->format, {"text", "json"});
  command->footer(footer);
  command->callback(
      [options, &chosen] { chosen = [options] { return import_letters(*options); }; });
}

}  // namespace onefold::cli
