-- Version 1. Every statement ends with a semicolon at the end of a line, and can be run again:
-- MariaDB commits each by itself.
-- Times are microseconds since 1970-01-01T00:00:00Z. What comes from events is stored as bytes:
-- collations would make different ids equal, and pad or cut them.

CREATE TABLE IF NOT EXISTS onefold_consumer (
  id            INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name          VARBINARY(255) NOT NULL,
  rules         MEDIUMBLOB NOT NULL,
  mode          VARCHAR(16) NOT NULL CHECK (mode IN ('claim-first', 'optimistic')),
  created_at    BIGINT NOT NULL,
  UNIQUE KEY consumer_name (name)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Of batches that moved no position: a commit that acknowledges has to write (semantics 3.7). Each
-- connection has a row, or the consumer's workers would wait for each other.
CREATE TABLE IF NOT EXISTS onefold_batch (
  consumer INT NOT NULL,
  slot     SMALLINT NOT NULL,        -- The connection's number modulo 1000.
  batches  BIGINT NOT NULL,
  last_at  BIGINT NOT NULL,
  PRIMARY KEY (consumer, slot),
  CONSTRAINT onefold_batch_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Never removed: a number stands for its text in every inbox row.
CREATE TABLE IF NOT EXISTS onefold_scope (
  id             INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  consumer       INT NOT NULL,
  words          BINARY(16) NOT NULL,  -- SHA-256 of the three texts, cut: they may be long.
  source_or_rule MEDIUMBLOB NOT NULL,
  handler        MEDIUMBLOB NOT NULL,
  key_form       VARBINARY(64) NOT NULL,
  event_source   TINYINT NOT NULL,     -- 1: names an event source, and counts towards their limit.
  UNIQUE KEY scope_words (consumer, words),
  CONSTRAINT onefold_scope_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The claims. The primary key is the only judge of who was first. There is no foreign key to
-- onefold_scope because it would be looked up, and locked, for every event.
CREATE TABLE IF NOT EXISTS onefold_inbox (
  scope        INT NOT NULL,
  event_key    BINARY(16) NOT NULL,
  outcome      TINYINT NOT NULL,     -- 0 applied, 2 stale, 3 deferred, 4 dead.
  waiting      TINYINT NOT NULL,     -- 1: an onefold_deferred row holds the bytes. 0: final.
  recorded_at  BIGINT NOT NULL,
  fingerprint  BINARY(16),           -- NULL: off.
  event_id     BLOB NOT NULL,
  event_type   BLOB,
  handled_by   BLOB,
  event_time   BIGINT,
  event_source MEDIUMBLOB,           -- NULL: the scope's source_or_rule.
  entity       MEDIUMBLOB,
  result       LONGBLOB,
  PRIMARY KEY (scope, event_key)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_deferred (
  id             BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  scope          INT NOT NULL,
  event_key      BINARY(16) NOT NULL,
  fingerprint    BINARY(16) NOT NULL,
  -- One row for each key, and one for each fingerprint that is in conflict with it.
  conflict       VARBINARY(16) AS (IF(reason = 'conflict', fingerprint, '')) PERSISTENT,
  consumer       INT NOT NULL,
  reason         VARCHAR(16) NOT NULL CHECK (reason IN ('dead', 'quarantine', 'conflict')),
  handler        BLOB NOT NULL,
  errors         LONGBLOB NOT NULL,  -- JSON: an array of texts, oldest first.
  attempts       INT NOT NULL,
  count          BIGINT NOT NULL,
  source         BLOB NOT NULL,
  incarnation    BLOB,               -- NULL: the delivery had no position.
  partition_name BLOB,
  at_high        BIGINT UNSIGNED,
  at_low         BIGINT UNSIGNED,
  next_high      BIGINT UNSIGNED,
  next_low       BIGINT UNSIGNED,
  event_id       BLOB NOT NULL,
  event_source   MEDIUMBLOB NOT NULL,
  event_type     BLOB NOT NULL,
  event_subject  MEDIUMBLOB NOT NULL,
  event_time     BIGINT,
  content_type   BLOB NOT NULL,
  headers        LONGBLOB NOT NULL,  -- JSON: [[name, value], ...]; {"hex": "..."} if not UTF-8.
  raw            LONGBLOB NOT NULL,
  first_at       BIGINT NOT NULL,
  last_at        BIGINT NOT NULL,
  further_keys   BLOB,               -- The others that it has claimed: 4 bytes scope, 16 bytes key.
  UNIQUE KEY deferred_claim (scope, event_key, conflict),
  CONSTRAINT onefold_deferred_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_position (
  consumer       INT NOT NULL,
  place          BINARY(16) NOT NULL,  -- SHA-256 of the three texts, cut: they may be long.
  source         BLOB NOT NULL,
  incarnation    BLOB NOT NULL,
  partition_name BLOB NOT NULL,
  next_high      BIGINT UNSIGNED NOT NULL,
  next_low       BIGINT UNSIGNED NOT NULL,
  mark           BIGINT UNSIGNED NOT NULL,  -- The source's own check value.
  batches        BIGINT NOT NULL,      -- So that a batch that moves nothing writes, too.
  PRIMARY KEY (consumer, place),
  CONSTRAINT onefold_position_consumer FOREIGN KEY (consumer) REFERENCES onefold_consumer (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS onefold_audit (
  id     BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at     BIGINT NOT NULL,
  who    BLOB NOT NULL,
  action VARCHAR(64) NOT NULL,
  detail LONGBLOB NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
