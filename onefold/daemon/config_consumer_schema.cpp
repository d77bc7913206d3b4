#include <algorithm>
#include <iterator>
#include <limits>

#include "onefold/daemon/config_schema.h"
#include "onefold/daemon/quantity.h"

// What may stand in [consumer.NAME], and below it.

namespace onefold {
namespace {

using Kind = KeyKind;

constexpr std::int64_t day_milliseconds = std::int64_t{24} * 60 * minute_milliseconds;

std::vector<KeySchema> consumer_keys() {
  return {{.name = "scope",
           .kind = Kind::choice,
           .meaning = "What succeeds or fails as one: all handlers of an event together, or "
                      "each `\"handler\"` by itself, with its own claims and outcome.",
           .example = "scope = \"handler\"",
           .otherwise = "\"consumer\"",
           .choices = {"consumer", "handler"}},
          {.name = "key",
           .kind = Kind::keys,
           .meaning = "What must happen once: the event, or what it speaks of.",
           .example = "key = { payment = \"/payment_id\" }",
           .otherwise = "\"event\""},
          {.name = "fingerprint",
           .kind = Kind::choice,
           .meaning = "How a second delivery of a key is compared with the first: JSON by its "
                      "content, all data by its bytes, or not at all.",
           .example = "fingerprint = \"bytes\"",
           .otherwise = "\"canonical\"",
           .choices = {"canonical", "bytes", "off"}},
          {.name = "fingerprint_ignore",
           .kind = Kind::pointers,
           .meaning = "Pointers to what may differ between deliveries of one event. Only with "
                      "`fingerprint = \"canonical\"`.",
           .example = "fingerprint_ignore = [\"/attempt\", \"/sent_at\"]"}};
}

std::vector<KeySchema> consumer_effects() {
  return {{.name = "on_conflict",
           .kind = Kind::choice,
           .meaning = "What happens with a used key that has other data. Its only value today.",
           .example = "on_conflict = \"dead-letter\"",
           .otherwise = "\"dead-letter\"",
           .choices = {"dead-letter"}},
          {.name = "claim",
           .kind = Kind::choice,
           .meaning = "`\"first\"` claims each key before its handler runs. `\"optimistic\"` "
                      "claims it last: quicker unless processes have the same events. `\"auto\"` "
                      "is optimistic for logs with one owner, such as files, on a database with "
                      "several writers. SQLite always claims first.",
           .example = "claim = \"first\"",
           .otherwise = "\"auto\"",
           .choices = {"auto", "first", "optimistic"}},
          {.name = "retry",
           .kind = Kind::table,
           .meaning = "When an event that failed is tried again, and how often: see below.",
           .example = "retry = { attempts = 10, max = \"1h\" }"},
          {.name = "breaker",
           .kind = Kind::table,
           .meaning = "When so many events fail that the consumer pauses: see below.",
           .example = "breaker = { failures = 100, window = 200 }"},
          {.name = "order",
           .kind = Kind::table,
           .meaning = "What must not overtake what: see below. Without it, nothing waits for "
                      "anything.",
           .example = "order = { entity = \"/account_id\", policy = \"none\" }"},
          {.name = "handler",
           .kind = Kind::table_array,
           .meaning = "What is done: `[[consumer.NAME.handler]]`, in the order of the file.",
           .example = "[[consumer.billing.handler]]",
           .required = true},
          {.name = "invariant",
           .kind = Kind::named,
           .meaning = "What must hold after every commit, as `[consumer.NAME.invariant.NAME]`; "
                      "asked by `onefold lab` alone.",
           .example = "[consumer.billing.invariant.no_debt]"}};
}

TableSchema consumer() {
  TableSchema table{
      "consumer.*",
      "[consumer.NAME]",
      {{.name = "sources",
        .kind = Kind::texts,
        .meaning = "Names of sources; one may stand without brackets.",
        .example = "sources = [\"orders\"]",
        .required = true},
       {.name = "batch_max",
        .kind = Kind::integer,
        .meaning = "Events in one transaction. After a failing handler at most 64, until the "
                   "batch is done.",
        .example = "batch_max = 100",
        .otherwise = "500",
        .least = 1,
        .most = 10'000},
       {.name = "crashes_max",
        .kind = Kind::integer,
        .meaning = "An event that has killed the process so often is dead; see "
                   "[failures](failures.md).",
        .example = "crashes_max = 5",
        .otherwise = "3",
        .least = 1,
        .most = 100},
       {.name = "unsupported",
        .kind = Kind::choice,
        .meaning = "What happens with a type that no handler matches; `\"ignore\"` counts it "
                   "as ignored and keeps nothing.",
        .example = "unsupported = \"ignore\"",
        .otherwise = "\"dead-letter\"",
        .choices = {"dead-letter", "ignore"}}}};
  for (auto part : {consumer_keys(), consumer_effects()}) {
    std::ranges::move(part, std::back_inserter(table.keys));
  }
  return table;
}

TableSchema handler() {
  return {
      "consumer.*.handler",
      "[[consumer.NAME.handler]]",
      {{.name = "name",
        .kind = Kind::text,
        .meaning = "Recorded as evidence; one of its kind in the consumer.",
        .example = "name = \"credit\"",
        .required = true},
       {.name = "type",
        .kind = Kind::text,
        .meaning = "An event type, or a beginning followed by `*`.",
        .example = "type = \"payment.received\"",
        .required = true},
       {.name = "version",
        .kind = Kind::integer,
        .meaning = "Recorded as evidence; raise it when the meaning changes.",
        .example = "version = 2",
        .otherwise = "1",
        .least = 1,
        .most = std::numeric_limits<int>::max()},
       {.name = "retry",
        .kind = Kind::table,
        .meaning = "As `retry` of the consumer, for this handler alone; what it does not say "
                   "is as there.",
        .example = "retry = { attempts = 1 }"},
       {.name = "entity",
        .kind = Kind::pointer,
        .meaning = "Pointer to what the event is about; recorded as evidence.",
        .example = "entity = \"/account_id\""},
       {.name = "key",
        .kind = Kind::keys,
        .meaning = "What this handler must do once. Only with `scope = \"handler\"`; without "
                   "it, the `key` of the consumer.",
        .example = "key = { payment = \"/payment_id\" }"},
       {.name = "params",
        .kind = Kind::named,
        .meaning = "The parameters of the statements, see below.",
        .example = "params.account = { at = \"/account_id\", type = \"int64\" }"},
       {.name = "sql",
        .kind = Kind::texts,
        .meaning = "The statements, one string each; one may stand without brackets.",
        .example = "sql = [\"UPDATE account SET balance = 0 WHERE id = :account\"]",
        .required = true},
       {.name = "expect_rows",
        .kind = Kind::counts,
        .meaning = "The number of rows that each statement must change, or `\"any\"` for one "
                   "that may change any number. Another number is a failure of the class "
                   "`rows`. One number may stand without brackets if there is one statement, and "
                   "`\"any\"` always.",
        .example = "expect_rows = [1]"},
       {.name = "result",
        .kind = Kind::result,
        .meaning = "What is kept as evidence of the effect: parameters, and columns of the "
                   "last statement's `RETURNING` row, see below.",
        .example = "result = { account = \":account\" }"}}};
}

std::vector<KeySchema> retry_keys() {
  return {{.name = "attempts",
           .kind = Kind::integer,
           .meaning = "How often in all; then the event is dead. What is the database's or the "
                      "network's fault does not count.",
           .example = "attempts = 10",
           .otherwise = "5",
           .least = 1,
           .most = 1000},
          {.name = "initial",
           .kind = Kind::duration,
           .meaning = "The pause before the second attempt.",
           .example = "initial = \"500ms\"",
           .otherwise = "\"1s\"",
           .least = 1,
           .most = day_milliseconds},
          {.name = "factor",
           .kind = Kind::number,
           .meaning = "By which each pause is longer than the one before.",
           .example = "factor = 1.5",
           .otherwise = "2",
           .least = 1,
           .most = 100},
          {.name = "max",
           .kind = Kind::duration,
           .meaning = "The longest pause.",
           .example = "max = \"1h\"",
           .otherwise = "\"5m\"",
           .least = 1,
           .most = day_milliseconds},
          {.name = "jitter",
           .kind = Kind::number,
           .meaning = "By what part pauses are shortened at random, so that not all come back at "
                      "once.",
           .example = "jitter = 0.5",
           .otherwise = "0.2",
           .least = 0,
           .most = 1},
          {.name = "permanent",
           .kind = Kind::words,
           .meaning = "The classes of failures after which an event is dead at once; see "
                      "[failures](failures.md).",
           .example = "permanent = [\"data\", \"rows\"]",
           .otherwise = R"(["constraint", "data", "rows", "statement"])",
           .choices = {"transient", "constraint", "data", "rows", "statement", "crash"}}};
}

/// What a handler does not say is as its consumer says.
std::vector<KeySchema> retry_keys_of_handler() {
  std::vector<KeySchema> keys = retry_keys();
  for (KeySchema& key : keys) key.otherwise.clear();
  return keys;
}

TableSchema breaker() {
  return {"consumer.*.breaker",
          "[consumer.NAME.breaker]",
          {{.name = "failures",
            .kind = Kind::integer,
            .meaning = "If more events than this failed for the same class, the consumer pauses.",
            .example = "failures = 40",
            .otherwise = "25",
            .least = 1,
            .most = 999},
           {.name = "window",
            .kind = Kind::integer,
            .meaning = "Of how many of the last different events; 0: there is no breaker.",
            .example = "window = 200",
            .otherwise = "50",
            .least = 0,
            .most = 1000},
           {.name = "probe",
            .kind = Kind::duration,
            .meaning = "How long after the pause began, and between two tries, one event is tried; "
                       "when it works, the consumer goes on.",
            .example = "probe = \"5s\"",
            .otherwise = "\"30s\"",
            .least = 10,
            .most = day_milliseconds}}};
}

TableSchema order() {
  return {"consumer.*.order",
          "[consumer.NAME.order]",
          {{.name = "entity",
            .kind = Kind::pointer,
            .meaning = "Pointer to what an event is about. While an event of it waits for another "
                       "try, later ones wait behind it.",
            .example = "entity = \"/account_id\"",
            .required = true},
           {.name = "policy",
            .kind = Kind::choice,
            .meaning = "`\"none\"`: events are applied as they come, without a version.",
            .example = "policy = \"none\"",
            .required = true,
            .choices = {"none"}}}};
}

TableSchema invariant() {
  return {"consumer.*.invariant.*",
          "[consumer.NAME.invariant.NAME]",
          {{.name = "sql",
            .kind = Kind::text,
            .meaning = "A SELECT that returns no row as long as all is right, without parameters.",
            .example = "sql = \"SELECT id FROM account WHERE balance < 0\"",
            .required = true}}};
}

TableSchema parameter() {
  return {"consumer.*.handler.params.*",
          "params.NAME",
          {{.name = "at",
            .kind = Kind::pointer,
            .meaning = "Where the value is.",
            .example = "at = \"/account_id\"",
            .required = true},
           {.name = "type",
            .kind = Kind::choice,
            .meaning = "What it must be, see below.",
            .example = "type = \"int64\"",
            .required = true,
            .choices = {"int64", "text", "decimal", "double", "bool", "timestamp", "uuid", "bytes",
                        "json"}},
           {.name = "required",
            .kind = Kind::boolean,
            .meaning = "With `false`, a missing or null value is SQL NULL; otherwise the event "
                       "is dead.",
            .example = "required = false",
            .otherwise = "true"}}};
}

}  // namespace

std::vector<TableSchema> consumer_schema() {
  return {consumer(),  {"consumer.*.retry", "[consumer.NAME.retry]", retry_keys()},
          breaker(),   order(),
          handler(),   {"consumer.*.handler.retry", "retry", retry_keys_of_handler()},
          parameter(), invariant()};
}

}  // namespace onefold
