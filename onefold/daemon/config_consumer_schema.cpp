#include <algorithm>
#include <iterator>
#include <limits>

#include "onefold/daemon/config_schema.h"

// What may stand in [consumer.NAME], and below it.

namespace onefold {
namespace {

using Kind = KeyKind;

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
       {.name = "attempts",
        .kind = Kind::integer,
        .meaning = "How often an event whose handler answers `retry` is run in place. Only "
                   "handlers in C++ do: the failure of an SQL handler is final, or nobody's "
                   "fault.",
        .example = "attempts = 5",
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
  return {"consumer.*.handler",
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
                       "that may change any number. Another number makes the event dead. One "
                       "number may stand without brackets if there is one statement, and "
                       "`\"any\"` always.",
            .example = "expect_rows = [1]"},
           {.name = "result",
            .kind = Kind::result,
            .meaning = "What is kept as evidence of the effect: parameters, and columns of the "
                       "last statement's `RETURNING` row, see below.",
            .example = "result = { account = \":account\" }"}}};
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
  return {consumer(), handler(), parameter(), invariant()};
}

}  // namespace onefold
