#include "onefold/daemon/config_schema.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "onefold/daemon/quantity.h"

namespace onefold {
namespace {

using Kind = KeyKind;

TableSchema root() {
  return {"",
          "the file",
          {{.name = "config_version",
            .kind = Kind::integer,
            .meaning = "The version of this format.",
            .example = "config_version = 1",
            .required = true,
            .least = 1,
            .most = 1},
           {.name = "state_folder",
            .kind = Kind::text,
            .meaning = "Where the process leaves word of how it has died, so that the event that "
                       "kills it is found at once; see [failures](failures.md). Default: "
                       "`$STATE_DIRECTORY`, which systemd sets; without either there is none.",
            .example = "state_folder = \"/var/lib/onefold\""},
           {.name = "store",
            .kind = Kind::table,
            .meaning = "The database.",
            .example = "store.url = \"sqlite:shop.db\"",
            .required = true},
           {.name = "source",
            .kind = Kind::named,
            .meaning = "Where events come from.",
            .example = "[source.orders]",
            .required = true},
           {.name = "consumer",
            .kind = Kind::named,
            .meaning = "What is done with them: each consumer applies each event once.",
            .example = "[consumer.billing]",
            .required = true}}};
}

/// How long to wait for something, so that no wait is without an end.
KeySchema timeout(const std::string& name, const std::string& meaning, const std::string& usual) {
  return {.name = name,
          .kind = Kind::duration,
          .meaning = "Servers only, how long to wait for: " + meaning,
          .example = name + " = \"" + usual + "\"",
          .otherwise = "\"" + usual + "\"",
          .least = 100,
          .most = 10 * minute_milliseconds,
          .stores = StoreKinds::servers};
}

TableSchema store() {
  return {"store",
          "[store]",
          {{.name = "url",
            .kind = Kind::secret,
            .meaning = "The database: `sqlite:PATH`, "
                       "`postgres://USER:PASSWORD@HOST:PORT/DATABASE` or `mariadb://…` likewise. "
                       "Exactly one of `url`, `url_file` and "
                       "`url_env` must stand here.",
            .example = "url = \"sqlite:shop.db\""},
           {.name = "url_file",
            .kind = Kind::text,
            .meaning = "A file that holds the URL, and that nobody else may read or write "
                       "(`chmod 600`). A new line at its end is not part of it.",
            .example = "url_file = \"store-url\""},
           {.name = "url_env",
            .kind = Kind::text,
            .meaning = "The environment variable that holds the URL.",
            .example = "url_env = \"SHOP_STORE_URL\""},
           timeout("connect_timeout", "Opening a connection.", "5s"),
           timeout("statement_timeout", "One statement of a handler, or of Onefold.", "20s"),
           timeout("lock_timeout", "A row that another session has locked.", "10s"),
           timeout("idle_timeout",
                   "A process that stands still inside a transaction: the server cuts it off, so "
                   "that others can go on with its events. Longer than a handler ever takes.",
                   "30s"),
           timeout("network_timeout", "Bytes on their way that nobody confirms.", "15s"),
           {.name = "accept_relaxed_durability",
            .kind = Kind::boolean,
            .meaning = "Servers only. `run` refuses a server whose settings let a power cut take "
                       "back what was committed; `true` accepts it.",
            .example = "accept_relaxed_durability = true",
            .otherwise = "false",
            .stores = StoreKinds::servers},
           {.name = "schema",
            .kind = Kind::text,
            .meaning = "PostgreSQL only: the schema that holds Onefold's tables.",
            .example = "schema = \"onefold\"",
            .otherwise = "\"onefold\"",
            .stores = StoreKinds::postgres},
           {.name = "pgbouncer",
            .kind = Kind::boolean,
            .meaning = "PostgreSQL only: PgBouncer in transaction mode; noticed in most cases.",
            .example = "pgbouncer = true",
            .otherwise = "false",
            .stores = StoreKinds::postgres}}};
}

TableSchema source() {
  return {
      "source.*",
      "[source.NAME]",
      {{.name = "kind",
        .kind = Kind::choice,
        .meaning = "What it is.",
        .example = "kind = \"file\"",
        .required = true,
        .choices = {"file", "stdin"}},
       {.name = "path",
        .kind = Kind::text,
        .meaning = "Files only, required there: a regular file of events, one JSON text a "
                   "line, or one or more JSON arrays.",
        .example = "path = \"orders.jsonl\""},
       {.name = "format",
        .kind = Kind::choice,
        .meaning = "`\"json\"`: plain objects, with an `identity`; `\"cloudevents\"`: "
                   "CloudEvents 1.0 in the JSON format, single or as a batch.",
        .example = "format = \"json\"",
        .required = true,
        .choices = {"cloudevents", "json"}},
       {.name = "follow",
        .kind = Kind::boolean,
        .meaning = "Files only: wait for more at the end, through rotation and truncation.",
        .example = "follow = true",
        .otherwise = "false"},
       {.name = "identity",
        .kind = Kind::table,
        .meaning = "Where an event's identity is. Required for `format = \"json\"`.",
        .example = R"(identity = { id = "/event_id", source = "literal:shop", type = "/type" })"},
       {.name = "event_max",
        .kind = Kind::size,
        .meaning = "The largest event, as it came. A larger one is dead, `TOO_LARGE`: its "
                   "first 64 KiB are kept, with the size and digest of the whole.",
        .example = "event_max = \"4MiB\"",
        .otherwise = "\"1MiB\"",
        .least = 64 * kibibyte,
        .most = 64 * mebibyte},
       {.name = "id_max",
        .kind = Kind::integer,
        .meaning = "Bytes of the longest id. An event with a longer one is dead, "
                   "`ID_TOO_LONG`.",
        .example = "id_max = 256",
        .otherwise = "512",
        .least = 1,
        .most = 4096},
       {.name = "depth_max",
        .kind = Kind::integer,
        .meaning = "Levels of nested arrays and objects. An event with more is dead, "
                   "`TOO_DEEP`.",
        .example = "depth_max = 128",
        .otherwise = "64",
        .least = 1,
        .most = 512}}};
}

TableSchema identity() {
  return {"source.*.identity",
          "identity",
          {{.name = "id",
            .kind = Kind::rule,
            .meaning = "The JSON Pointer of the event's id; or `\"position\"` (files only: its "
                       "place in the file), or `\"body-hash\"` (its bytes) for events without one. "
                       "Required for `json`.",
            .example = "id = \"/event_id\""},
           {.name = "source",
            .kind = Kind::rule,
            .meaning = "Who says so: a pointer or a constant. Required for `json`.",
            .example = "source = \"literal:shop\""},
           {.name = "type",
            .kind = Kind::rule,
            .meaning = "What selects the handlers: a pointer or a constant. Required for `json`.",
            .example = "type = \"/type\""},
           {.name = "subject",
            .kind = Kind::rule,
            .meaning = "What it is about: a pointer or a constant.",
            .example = "subject = \"/order_id\""},
           {.name = "time",
            .kind = Kind::rule,
            .meaning = "When it happened: a pointer to an RFC 3339 string.",
            .example = "time = \"/created_at\""},
           {.name = "id_type",
            .kind = Kind::choice,
            .meaning = "`\"integer\"`: ids are 64-bit integers, kept as their digits. Otherwise "
                       "only strings are ids.",
            .example = "id_type = \"integer\"",
            .otherwise = "\"string\"",
            .choices = {"string", "integer"}},
           {.name = "id_prefix",
            .kind = Kind::text,
            .meaning = "A constant prefix of all ids. What follows it is stored in 16 bytes if it "
                       "is a canonical UUID or ULID. Also for `cloudevents`, which has no other "
                       "identity key.",
            .example = "id_prefix = \"evt_\""}}};
}

}  // namespace

const KeySchema* TableSchema::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(keys, name, &KeySchema::name);
  return found == keys.end() ? nullptr : &*found;
}

const std::vector<TableSchema>& config_schema() {
  static const std::vector<TableSchema> tables = [] {
    std::vector<TableSchema> all{root(), store(), source(), identity()};
    std::ranges::move(consumer_schema(), std::back_inserter(all));
    return all;
  }();
  return tables;
}

const TableSchema& table_schema(std::string_view path) {
  const auto found = std::ranges::find(config_schema(), path, &TableSchema::path);
  if (found == config_schema().end()) {
    throw std::logic_error{"the schema of the configuration has no table " + std::string{path}};
  }
  return *found;
}

bool is_scalar(KeyKind kind) noexcept {
  switch (kind) {
    case Kind::text:
    case Kind::secret:
    case Kind::integer:
    case Kind::number:
    case Kind::boolean:
    case Kind::choice:
    case Kind::size:
    case Kind::duration:
    case Kind::pointer:
    case Kind::rule:
      return true;
    default:
      return false;
  }
}

}  // namespace onefold
