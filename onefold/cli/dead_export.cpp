#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/dead_filter.h"
#include "onefold/cli/dead_letter.h"
#include "onefold/cli/opening.h"
#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

struct ExportOptions {
  std::vector<std::string> config_paths;
  DeferredFilter filter;
};

constexpr const char* footer =
    "Writes what was set aside as JSON Lines to standard output: identity, bytes, headers, errors\n"
    "and times, with the names of consumers and keys. onefold dead import reads it, also into\n"
    "another database. Nothing is changed here.\n"
    "\n"
    "Example:\n"
    "  onefold dead export -c shop.toml > dead.jsonl\n"
    "  onefold dead export --kind conflict --since 1d > conflicts.jsonl";

class Export {
 public:
  explicit Export(const OpenedStore& opened) : records_{*opened.records} {}

  std::int64_t write(DeferredFilter filter) {
    print(letter_head(consumers(filter.consumer)));
    std::int64_t count = 0;
    filter.with_raw = false;
    filter.limit = 500;
    for (;;) {
      const auto page = records_.deferred(filter);
      for (const DeferredRecord& each : page) count += write_one(each.id) ? 1 : 0;
      if (page.size() < filter.limit) return count;
      filter.after = page.back().id;
    }
  }

 private:
  std::vector<ConsumerRecord> consumers(const std::string& only) {
    auto all = records_.consumers();
    if (!only.empty()) {
      std::erase_if(all, [&](const ConsumerRecord& each) { return each.name != only; });
    }
    return all;
  }

  /// One at a time, so that only its bytes are in memory. False if it has been settled meanwhile.
  bool write_one(std::int64_t id) {
    DeferredFilter this_one;
    this_one.id = id;
    auto rows = records_.deferred(this_one);
    if (rows.empty()) return false;
    DeadLetter letter{.row = std::move(rows.front()), .keys = {}};
    if (!add_key(letter, letter.row.key)) return false;
    for (const Key& each : letter.row.further_keys) {
      if (!add_key(letter, each)) return false;
    }
    print_piece(letter_line(letter));
    return true;
  }

  bool add_key(DeadLetter& letter, const Key& key) {
    const ScopeRecord& scope = scope_of(key.scope);
    std::optional<InboxRecord> claim;
    if (letter.row.reason != to_string(DeferralReason::conflict)) {
      claim = records_.evidence(key);
      if (!claim || !claim->waiting) return false;
    }
    letter.keys.push_back({.handler = scope.handler,
                           .source_or_rule = scope.source_or_rule,
                           .key_form = scope.key_form,
                           .always = scope.always,
                           .bytes = key.bytes,
                           .claim = std::move(claim)});
    return true;
  }

  const ScopeRecord& scope_of(std::int32_t number) {
    if (!scopes_.contains(number)) {
      for (ScopeRecord& each : records_.scopes()) scopes_[each.scope] = std::move(each);
    }
    return scopes_[number];
  }

  Records& records_;
  std::map<std::int32_t, ScopeRecord> scopes_;
};

ExitCode export_letters(const ExportOptions& options) {
  const OpenedStore opened = open_to_look(options.config_paths);
  require_consumer(opened, options.filter.consumer);
  const std::int64_t count = Export{opened}.write(options.filter);
  note("exported " + counted(count, "event"));
  return ExitCode::ok;
}

}  // namespace

void add_dead_export(CLI::App& dead, Action& chosen) {
  CLI::App* command = dead.add_subcommand("export", "Write what was set aside, with all its bytes");
  auto options = std::make_shared<ExportOptions>();
  add_config_option(*command, options->config_paths);
  add_dead_filter(*command, options->filter);
  command->footer(footer);
  command->callback(
      [options, &chosen] { chosen = [options] { return export_letters(*options); }; });
}

}  // namespace onefold::cli
