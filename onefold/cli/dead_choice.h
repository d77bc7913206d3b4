#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "onefold/cli/opening.h"
#include "onefold/decisions.h"

namespace CLI {
class App;
}

/// Which events a person decides about: some by their numbers, or all that a filter leaves over.
namespace onefold::cli {

struct DeadChoice {
  std::vector<std::int64_t> ids = {};
  bool all = false;
  DeferredFilter filter = {};
  std::string reason = {};
  bool dry_run = false;
  bool yes = false;
};

/// The numbers, `--reason`, `--all` with its filter, `--dry-run` and `--yes`. `verb` is "discard".
void add_dead_choice(CLI::App& command, DeadChoice& choice, const std::vector<std::string>& kinds,
                     const std::string& verb);

/// Ends the command if the words choose nothing, or too much. `command` is its full name.
void require_choice(const DeadChoice& choice, const std::string& command);

/// The numbers, each once and in order. Of `--all` only those that `fits` accepts.
std::vector<std::int64_t> chosen_ids(const OpenedStore& opened, const DeadChoice& choice,
                                     const std::function<bool(const DeferredRecord&)>& fits);

/// Whether the person means it, if it is about several. Ends the command where nobody can be asked.
bool is_meant(std::size_t count, const DeadChoice& choice, const std::string& verb);

/// Calls `decide` for the numbers, few at a time: few enough that events being applied need not
/// wait long.
void decide_in_parts(std::span<const std::int64_t> ids,
                     const std::function<void(std::span<const std::int64_t>)>& decide);

/// One that was set aside, without its bytes.
std::optional<DeferredRecord> look_up(const OpenedStore& opened, std::int64_t id);

/// "3, 5 and 7"; of many only the first ones.
std::string numbers_text(const std::vector<std::int64_t>& ids);
/// Says that nothing is set aside under these numbers.
void complain_about_gone(const std::vector<std::int64_t>& gone, const OpenedStore& opened);

}  // namespace onefold::cli
