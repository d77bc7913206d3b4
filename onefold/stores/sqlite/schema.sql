-- Version 1. Every statement ends with a semicolon at the end of a line.
-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE onefold_consumer (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  rules         TEXT NOT NULL,
  mode          TEXT NOT NULL CHECK (mode IN ('claim-first', 'optimistic')),
  created_at    INTEGER NOT NULL,
  last_batch_at INTEGER              -- Of the last batch that moved no position.
) STRICT;

-- Never removed: a number stands for its text in every inbox row.
CREATE TABLE onefold_scope (
  id             INTEGER PRIMARY KEY,
  consumer       INTEGER NOT NULL REFERENCES onefold_consumer (id),
  source_or_rule TEXT NOT NULL,
  handler        TEXT NOT NULL,
  key_form       TEXT NOT NULL,
  event_source   INTEGER NOT NULL,   -- 1: names an event source, and counts towards their limit.
  UNIQUE (consumer, source_or_rule, handler, key_form)
) STRICT;

-- The claims. The primary key is the only judge of who was first. There is no foreign key to
-- onefold_scope because it would be looked up for every event, and scopes are never removed.
CREATE TABLE onefold_inbox (
  scope        INTEGER NOT NULL,
  key          BLOB NOT NULL,
  outcome      INTEGER NOT NULL,     -- 0 applied, 2 stale, 3 deferred, 4 dead.
  waiting      INTEGER NOT NULL,     -- 1: an onefold_deferred row holds the bytes. 0: final.
  recorded_at  INTEGER NOT NULL,
  fingerprint  BLOB,                 -- NULL: off.
  event_id     TEXT NOT NULL,
  event_type   TEXT,
  handled_by   TEXT,
  event_time   INTEGER,
  event_source TEXT,                 -- NULL: the scope's source_or_rule.
  entity       TEXT,
  result       TEXT,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE onefold_deferred (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  scope         INTEGER NOT NULL,
  key           BLOB NOT NULL,
  fingerprint   BLOB NOT NULL,
  consumer      INTEGER NOT NULL REFERENCES onefold_consumer (id),
  reason        TEXT NOT NULL CHECK (reason IN ('dead', 'quarantine', 'conflict')),
  handler       TEXT NOT NULL,
  errors        TEXT NOT NULL,       -- JSON: an array of texts, oldest first.
  attempts      INTEGER NOT NULL,
  count         INTEGER NOT NULL DEFAULT 1,
  source        TEXT NOT NULL,
  incarnation   TEXT,                -- NULL: the delivery had no position.
  partition     TEXT,
  at_high       INTEGER,             -- Offsets are unsigned; the bits are kept.
  at_low        INTEGER,
  next_high     INTEGER,
  next_low      INTEGER,
  event_id      TEXT NOT NULL,
  event_source  TEXT NOT NULL,
  event_type    TEXT NOT NULL,
  event_subject TEXT NOT NULL,
  event_time    INTEGER,
  content_type  TEXT NOT NULL,
  headers       TEXT NOT NULL,       -- JSON: [[name, value], ...]; {"hex": "..."} if not UTF-8.
  raw           BLOB NOT NULL,
  first_at      INTEGER NOT NULL,
  last_at       INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX onefold_deferred_claim ON onefold_deferred (scope, key)
  WHERE reason <> 'conflict';

CREATE UNIQUE INDEX onefold_deferred_conflict ON onefold_deferred (scope, key, fingerprint)
  WHERE reason = 'conflict';

CREATE TABLE onefold_position (
  consumer    INTEGER NOT NULL REFERENCES onefold_consumer (id),
  source      TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  partition   TEXT NOT NULL,
  next_high   INTEGER NOT NULL,      -- Offsets are unsigned; the bits are kept.
  next_low    INTEGER NOT NULL,
  mark        INTEGER NOT NULL DEFAULT 0,  -- The source's own check value; the bits are kept.
  PRIMARY KEY (consumer, source, incarnation, partition)
) STRICT, WITHOUT ROWID;

CREATE TABLE onefold_audit (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  at     INTEGER NOT NULL,
  who    TEXT NOT NULL,
  action TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
