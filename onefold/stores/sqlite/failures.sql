-- Version 3: what waits. The table is made anew, because its check of reasons cannot be changed.

DROP INDEX main.onefold_deferred_claim;
DROP INDEX main.onefold_deferred_conflict;

CREATE TABLE main.onefold_deferred_3 (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  scope         INTEGER NOT NULL,
  key           BLOB NOT NULL,
  fingerprint   BLOB NOT NULL,
  consumer      INTEGER NOT NULL REFERENCES onefold_consumer (id),
  reason        TEXT NOT NULL
    CHECK (reason IN ('retry', 'gap', 'behind', 'dead', 'quarantine', 'conflict')),
  failure       TEXT NOT NULL,       -- What failed, as 'constraint'; '': see errors.
  handler       TEXT NOT NULL,
  entity        TEXT,
  errors        TEXT NOT NULL,       -- JSON: an array of texts, oldest first.
  attempts      INTEGER NOT NULL,    -- That have failed, of the round that it is in.
  turn          INTEGER NOT NULL,    -- Grows with each hand-over: who raises it has the event.
  due_at        INTEGER,             -- When it is tried again; NULL: at no time.
  replay        TEXT,                -- The replay that has made it due.
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
  first_at      INTEGER NOT NULL,
  last_at       INTEGER NOT NULL,
  further_keys  BLOB,
  decoded       INTEGER NOT NULL,    -- 0: raw is no event, or data is not known; it is read anew.
  data          BLOB,                -- NULL: the event has none.
  raw           BLOB NOT NULL
) STRICT;

INSERT INTO main.onefold_deferred_3 (id, scope, key, fingerprint, consumer, reason, failure,
  handler, errors, attempts, turn, count, source, incarnation, partition, at_high, at_low,
  next_high, next_low, event_id, event_source, event_type, event_subject, event_time, content_type,
  headers, first_at, last_at, further_keys, decoded, raw)
SELECT id, scope, key, fingerprint, consumer, reason, '', handler, errors, attempts, 0, count,
  source, incarnation, partition, at_high, at_low, next_high, next_low, event_id, event_source,
  event_type, event_subject, event_time, content_type, headers, first_at, last_at, further_keys, 0,
  raw
FROM main.onefold_deferred;

-- Numbers are not used again.
DELETE FROM main.sqlite_sequence WHERE name = 'onefold_deferred_3';

INSERT INTO main.sqlite_sequence (name, seq)
SELECT 'onefold_deferred_3', seq FROM main.sqlite_sequence WHERE name = 'onefold_deferred';

DROP TABLE main.onefold_deferred;

ALTER TABLE main.onefold_deferred_3 RENAME TO onefold_deferred;

CREATE UNIQUE INDEX main.onefold_deferred_claim ON onefold_deferred (scope, key)
  WHERE reason <> 'conflict';

CREATE UNIQUE INDEX main.onefold_deferred_conflict ON onefold_deferred (scope, key, fingerprint)
  WHERE reason = 'conflict';

CREATE INDEX main.onefold_deferred_due ON onefold_deferred (consumer, due_at)
  WHERE due_at IS NOT NULL;

CREATE INDEX main.onefold_deferred_entity ON onefold_deferred (consumer, reason, entity)
  WHERE reason IN ('retry', 'gap', 'behind');

CREATE TABLE main.onefold_pause (
  consumer INTEGER PRIMARY KEY REFERENCES onefold_consumer (id),
  who      TEXT NOT NULL,
  reason   TEXT NOT NULL,
  failure  TEXT NOT NULL,
  since    INTEGER NOT NULL,
  probes   INTEGER NOT NULL,         -- That failed.
  probe_at INTEGER NOT NULL
) STRICT;

CREATE TABLE main.onefold_replay (
  id          TEXT PRIMARY KEY,
  consumer    INTEGER NOT NULL REFERENCES onefold_consumer (id),
  filter      TEXT NOT NULL,         -- JSON: an array of texts 'name=value'.
  up_to       INTEGER NOT NULL,      -- Rows with greater ids are not part of it.
  passed      INTEGER NOT NULL,      -- Rows up to this one have had their turn.
  rate        INTEGER NOT NULL,      -- Events a second; 0: as fast as they are applied.
  ramp        TEXT NOT NULL,
  who         TEXT NOT NULL,
  reason      TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
  note        TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  made_due_at INTEGER NOT NULL,
  selected    INTEGER NOT NULL,
  due         INTEGER NOT NULL,
  applied     INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  gone        INTEGER NOT NULL,
  source_range TEXT NOT NULL,    -- JSON: an array of texts 'name=value'; empty: none.
  duplicate   INTEGER NOT NULL,
  stale       INTEGER NOT NULL,
  deferred    INTEGER NOT NULL,
  conflict    INTEGER NOT NULL,
  ignored     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE main.onefold_run (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  consumer        INTEGER NOT NULL REFERENCES onefold_consumer (id),
  source          TEXT NOT NULL,
  host            TEXT NOT NULL,
  process         INTEGER NOT NULL,
  process_started INTEGER NOT NULL,
  positions       INTEGER NOT NULL,  -- A digest; the bits are kept.
  seen_at         INTEGER NOT NULL,
  size            INTEGER NOT NULL,  -- Events in hand in careful mode.
  scope           INTEGER,           -- The one event in hand.
  key             BLOB
) STRICT;

CREATE TABLE main.onefold_careful (
  consumer INTEGER NOT NULL REFERENCES onefold_consumer (id),
  source   TEXT NOT NULL,
  size     INTEGER NOT NULL,
  PRIMARY KEY (consumer, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE main.onefold_suspect (
  scope    INTEGER NOT NULL,
  key      BLOB NOT NULL,
  consumer INTEGER NOT NULL REFERENCES onefold_consumer (id),
  deaths   INTEGER NOT NULL,
  how      TEXT NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
