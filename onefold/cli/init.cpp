#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "onefold/cli/commands.h"
#include "onefold/cli/terminal.h"
#include "onefold/formats/text.h"

namespace onefold::cli {
namespace {

struct InitOptions {
  std::string folder = ".";
  std::string store = "sqlite";
  std::string source = "file";
};

constexpr const char* footer =
    "Writes a small consumer that runs at once: onefold.toml with comments, schema.sql with the\n"
    "tables that it changes, and events.jsonl with five deliveries, of which one comes twice and\n"
    "one cannot be applied. Nothing is overwritten. Prints the commands that run it.\n"
    "\n"
    "Example:\n"
    "  onefold init shop";

struct Template {
  const char* name;
  std::string_view text;
};

constexpr std::string_view config_text =
    R"toml(# A consumer of events, and what it does to a database. All keys: docs/configuration.md.
# Check it with: onefold check
config_version = 1

[store]
# Your tables and Onefold's own (onefold_...) live in one database, so that one transaction holds
# the change and the proof that the event was handled. Paths start at the folder of this file.
url = "sqlite:shop.db"

[source.orders]
kind = "file"               # or "stdin"
path = "events.jsonl"       # one JSON object a line
format = "json"             # or "cloudevents"
# follow = true             # go on waiting for more at the end of the file

# What makes two deliveries the same event: its source and its id. JSON Pointers lead to fields of
# the event, "literal:..." is a constant.
identity = { id = "/event_id", source = "literal:shop", type = "/type" }

[consumer.billing]          # part of every key: never rename it
sources = ["orders"]
# batch_max = 500           # events in one transaction
# retry.attempts = 10       # of what may go away by itself; see [consumer.NAME.retry] in the docs
# unsupported = "ignore"    # skip types without a handler; otherwise they are set aside

[[consumer.billing.handler]]
name = "credit"
type = "payment.received"   # or a beginning with a star: "payment.*"
version = 1                 # raise it when the meaning of the handler changes

# Parameters of the statements, from the event. Numbers never pass through a floating-point value.
params.account = { at = "/account", type = "int64" }
params.amount = { at = "/amount", type = "int64" }

# All of them run, in this order, in the transaction that also holds the event's claim.
sql = [
  "INSERT INTO payment (event_id, account, amount) VALUES (:event_id, :account, :amount)",
  "UPDATE account SET balance = balance + :amount WHERE id = :account",
]
expect_rows = [1, 1]        # another number of rows, and the event is set aside
)toml";

constexpr std::string_view schema_text =
    R"(-- The tables that the handlers use. They are yours: Onefold makes only its own, onefold_...
CREATE TABLE account (
  id      INTEGER PRIMARY KEY,
  balance INTEGER NOT NULL
) STRICT;

CREATE TABLE payment (
  event_id TEXT PRIMARY KEY,
  account  INTEGER NOT NULL REFERENCES account (id),
  amount   INTEGER NOT NULL
) STRICT;

INSERT INTO account (id, balance) VALUES (1, 0), (2, 0);
)";

constexpr std::string_view events_text =
    R"({"event_id":"evt_1","type":"payment.received","account":1,"amount":125}
{"event_id":"evt_2","type":"payment.received","account":2,"amount":40}
{"event_id":"evt_1","type":"payment.received","account":1,"amount":125}
{"event_id":"evt_3","type":"payment.received","account":7,"amount":10}
{"event_id":"evt_4","type":"payment.received","account":1,"amount":5}
)";

constexpr std::array templates{Template{"onefold.toml", config_text},
                               Template{"schema.sql", schema_text},
                               Template{"events.jsonl", events_text}};

[[noreturn]] void fail_to_write(const std::string& path, int reason) {
  complain("cannot write " + printable(path) + ": " + std::strerror(reason));
  throw Stopped{reason == EACCES || reason == EPERM || reason == EROFS ? ExitCode::permission
                                                                       : ExitCode::unavailable};
}

/// Never overwrites, not even what appears between a look and the write.
void write_new(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) fail_to_write(path, errno);
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      ::close(file);
      fail_to_write(path, reason);
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::close(file) != 0) fail_to_write(path, errno);
}

std::string path_of(const std::filesystem::path& folder, const Template& file) {
  return (folder / file.name).lexically_normal().string();
}

std::string next_steps(const std::string& folder) {
  std::string steps = "\nwhat to do next:\n";
  if (folder != ".") steps += "  cd " + folder + "\n";
  return steps +
         "  sqlite3 shop.db < schema.sql           # the tables that the handler changes\n"
         "  onefold check                          # is everything right?\n"
         "  onefold run --migrate --until-idle     # apply the events\n"
         "  onefold status                         # what became of them\n"
         "  onefold inbox why evt_1                # the evidence for one\n"
         "  onefold dead list                      # what was set aside, and why\n";
}

ExitCode init(const InitOptions& options) {
  const std::filesystem::path folder{options.folder};
  std::vector<std::string> there;
  for (const Template& each : templates) {
    std::error_code error;
    const auto status = std::filesystem::symlink_status(folder / each.name, error);
    if (std::filesystem::exists(status)) there.push_back(printable(path_of(folder, each)));
  }
  if (!there.empty()) {
    complain(joined(there) + (there.size() == 1 ? " is" : " are") +
                 " there already: nothing was written",
             "name another folder: onefold init FOLDER");
    return ExitCode::problems;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_to_write(options.folder, error.value());
  std::string text;
  for (const Template& each : templates) {
    const std::string path = path_of(folder, each);
    write_new(path, each.text);
    text += "wrote " + printable(path) + "\n";
  }
  print(text + next_steps(options.folder));
  return ExitCode::ok;
}

}  // namespace

void add_init(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("init", "Write an example configuration that runs");
  auto options = std::make_shared<InitOptions>();
  command
      ->add_option("folder", options->folder, "Where; made if it is not there; here unless given")
      ->type_name("FOLDER");
  add_choice(*command, "--store", options->store, {"sqlite"}, "databases", "The kind of database");
  add_choice(*command, "--source", options->source, {"file"}, "sources", "The kind of source");
  command->footer(footer);
  command->callback([options, &chosen] { chosen = [options] { return init(*options); }; });
}

}  // namespace onefold::cli
