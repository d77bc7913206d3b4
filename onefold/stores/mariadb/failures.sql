-- Version 2: what waits. Every statement can be run again, as in version 1.

ALTER TABLE onefold_deferred MODIFY reason VARCHAR(16) NOT NULL
  CHECK (reason IN ('retry', 'gap', 'behind', 'dead', 'quarantine', 'conflict'));

ALTER TABLE onefold_deferred
  -- What failed, as 'constraint'; '': see errors.
  ADD COLUMN IF NOT EXISTS failure VARCHAR(16) NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS entity BLOB,
  -- Grows with each hand-over: who raises it has the event.
  ADD COLUMN IF NOT EXISTS turn BIGINT NOT NULL DEFAULT 0,
  -- When it is tried again; NULL: at no time.
  ADD COLUMN IF NOT EXISTS due_at BIGINT,
  -- The replay that has made it due.
  ADD COLUMN IF NOT EXISTS replay VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
  -- 0: raw is no event, or data is not known; it is read anew.
  ADD COLUMN IF NOT EXISTS decoded TINYINT NOT NULL DEFAULT 0,
  -- NULL: the event has none.
  ADD COLUMN IF NOT EXISTS data LONGBLOB;

-- Entities may be long; what is indexed must not be.
ALTER TABLE onefold_deferred
  ADD COLUMN IF NOT EXISTS entity_hash BINARY(16)
    AS (UNHEX(LEFT(SHA2(entity, 256), 32))) PERSISTENT;

ALTER TABLE onefold_deferred
  ADD KEY IF NOT EXISTS deferred_due (consumer, due_at),
  ADD KEY IF NOT EXISTS deferred_entity (consumer, reason, entity_hash);

CREATE TABLE IF NOT EXISTS onefold_pause (
  consumer INT NOT NULL PRIMARY KEY,
  who      BLOB NOT NULL,
  reason   BLOB NOT NULL,
  failure  VARCHAR(16) NOT NULL,
  since    BIGINT NOT NULL,
  probes   INT NOT NULL,             -- That failed.
  probe_at BIGINT NOT NULL,
  CONSTRAINT onefold_pause_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_replay (
  id          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  consumer    INT NOT NULL,
  filter      LONGBLOB NOT NULL,     -- JSON: an array of texts 'name=value'.
  up_to       BIGINT NOT NULL,       -- Rows with greater ids are not part of it.
  passed      BIGINT NOT NULL,       -- Rows up to this one have had their turn.
  rate        BIGINT NOT NULL,       -- Events a second; 0: as fast as they are applied.
  ramp        BLOB NOT NULL,
  who         BLOB NOT NULL,
  reason      BLOB NOT NULL,
  state       VARCHAR(16) NOT NULL
    CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
  note        BLOB NOT NULL,
  started_at  BIGINT NOT NULL,
  ended_at    BIGINT,
  made_due_at BIGINT NOT NULL,
  selected    BIGINT NOT NULL,
  due         BIGINT NOT NULL,
  applied     BIGINT NOT NULL,
  failed      BIGINT NOT NULL,
  gone        BIGINT NOT NULL,
  source_range LONGBLOB NOT NULL,    -- JSON: an array of texts 'name=value'; empty: none.
  duplicate   BIGINT NOT NULL,
  stale       BIGINT NOT NULL,
  deferred    BIGINT NOT NULL,
  conflict    BIGINT NOT NULL,
  ignored     BIGINT NOT NULL,
  KEY replay_state (consumer, state),
  CONSTRAINT onefold_replay_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_run (
  id              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  consumer        INT NOT NULL,
  source          BLOB NOT NULL,
  host            BLOB NOT NULL,
  process         BIGINT NOT NULL,
  process_started BIGINT NOT NULL,
  positions       BIGINT UNSIGNED NOT NULL,  -- A digest.
  seen_at         BIGINT NOT NULL,
  size            INT NOT NULL,              -- Events in hand in careful mode.
  scope           INT,                       -- The one event in hand.
  event_key       BINARY(16),
  CONSTRAINT onefold_run_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_careful (
  consumer INT NOT NULL,
  place    BINARY(16) NOT NULL,      -- SHA-256 of the source, cut: it may be long.
  size     INT NOT NULL,
  PRIMARY KEY (consumer, place),
  CONSTRAINT onefold_careful_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_suspect (
  scope     INT NOT NULL,
  event_key BINARY(16) NOT NULL,
  consumer  INT NOT NULL,
  deaths    INT NOT NULL,
  how       BLOB NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (scope, event_key),
  CONSTRAINT onefold_suspect_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
