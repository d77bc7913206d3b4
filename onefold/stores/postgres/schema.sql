-- Version 1. Texts hold "\x" and hexadecimal digits where they are not UTF-8, or hold a NUL.

CREATE TABLE onefold.consumer (
  id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name          text COLLATE "C" NOT NULL UNIQUE,
  rules         text NOT NULL,
  mode          text NOT NULL CHECK (mode IN ('claim-first', 'optimistic')),
  created_at    timestamptz NOT NULL DEFAULT now(),
  last_batch_at timestamptz            -- Of the last batch that moved no position.
) WITH (fillfactor = 50);

-- Never removed: a number stands for its text in every inbox row.
CREATE TABLE onefold.scope (
  id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer       integer NOT NULL REFERENCES onefold.consumer (id),
  source_or_rule text COLLATE "C" NOT NULL,
  handler        text COLLATE "C" NOT NULL,
  key_form       text COLLATE "C" NOT NULL,
  event_source   boolean NOT NULL,     -- Names an event source, and counts towards their limit.
  UNIQUE (consumer, source_or_rule, handler, key_form)
);

-- The claims. The primary key is the only judge of who was first. There is no foreign key to scope
-- because it would be looked up for every event, and scopes are never removed.
CREATE TABLE onefold.inbox (
  scope        integer NOT NULL,
  outcome      smallint NOT NULL,      -- 0 applied, 2 stale, 3 deferred, 4 dead.
  waiting      boolean NOT NULL,       -- A row of deferred holds the bytes; false is final.
  recorded_at  timestamptz NOT NULL,
  event_time   timestamptz,
  key          bytea NOT NULL,
  fingerprint  bytea,                  -- NULL: off.
  event_id     text COLLATE "C" NOT NULL,
  event_type   text COLLATE "C",
  handled_by   text COLLATE "C",
  event_source text COLLATE "C",       -- NULL: the scope's source_or_rule.
  entity       text COLLATE "C",
  result       text COLLATE "C",
  PRIMARY KEY (scope, key)
);

CREATE TABLE onefold.deferred (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope         integer NOT NULL,
  key           bytea NOT NULL,
  further_keys  bytea,                 -- Besides key: scope in 4 bytes and key in 16, repeated.
  fingerprint   bytea NOT NULL,
  consumer      integer NOT NULL REFERENCES onefold.consumer (id),
  reason        text NOT NULL CHECK (reason IN ('dead', 'quarantine', 'conflict')),
  handler       text NOT NULL,
  errors        text NOT NULL,         -- JSON: an array of texts, oldest first.
  attempts      integer NOT NULL,
  count         bigint NOT NULL DEFAULT 1,
  source        text NOT NULL,
  incarnation   text,                  -- NULL: the delivery had no position.
  partition     text,
  at            numeric(39, 0),
  next          numeric(39, 0),
  event_id      text COLLATE "C" NOT NULL,
  event_source  text NOT NULL,
  event_type    text NOT NULL,
  event_subject text NOT NULL,
  event_time    timestamptz,
  content_type  text NOT NULL,
  headers       text NOT NULL,         -- JSON: [[name, value], ...]; {"hex": "..."} if not UTF-8.
  raw           bytea NOT NULL,
  first_at      timestamptz NOT NULL,
  last_at       timestamptz NOT NULL
);

CREATE UNIQUE INDEX deferred_claim ON onefold.deferred (scope, key)
  WHERE reason <> 'conflict';

CREATE UNIQUE INDEX deferred_conflict ON onefold.deferred (scope, key, fingerprint)
  WHERE reason = 'conflict';

CREATE TABLE onefold.position (
  consumer    integer NOT NULL REFERENCES onefold.consumer (id),
  source      text COLLATE "C" NOT NULL,
  incarnation text COLLATE "C" NOT NULL,
  partition   text COLLATE "C" NOT NULL,
  next        numeric(39, 0) NOT NULL,
  mark        bigint NOT NULL DEFAULT 0,  -- The source's own check value; the bits are kept.
  PRIMARY KEY (consumer, source, incarnation, partition)
) WITH (fillfactor = 50);

CREATE TABLE onefold.audit (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     timestamptz NOT NULL DEFAULT now(),
  who    text NOT NULL,
  action text NOT NULL,
  detail text NOT NULL
);
