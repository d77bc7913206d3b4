-- Version 2: what waits.

ALTER TABLE onefold.deferred DROP CONSTRAINT deferred_reason_check;
ALTER TABLE onefold.deferred
  ADD CHECK (reason IN ('retry', 'gap', 'behind', 'dead', 'quarantine', 'conflict')),
  ADD COLUMN failure text NOT NULL DEFAULT '',       -- What failed: 'constraint', ...; '': unknown.
  ADD COLUMN entity  text COLLATE "C",
  ADD COLUMN turn    bigint NOT NULL DEFAULT 0,      -- Whoever raises it has the event.
  ADD COLUMN due_at  timestamptz,                    -- When it is tried again; NULL: at no time.
  ADD COLUMN replay  text COLLATE "C",               -- The replay that has made it due.
  ADD COLUMN decoded boolean NOT NULL DEFAULT false, -- False: raw is no event, or lacks its data.
  ADD COLUMN data    bytea;                          -- NULL: the event has none.

CREATE INDEX deferred_due ON onefold.deferred (consumer, due_at) WHERE due_at IS NOT NULL;

-- Entities can be longer than what an index takes.
CREATE INDEX deferred_entity
  ON onefold.deferred (consumer, reason, (hashtextextended(entity, 0)), id)
  WHERE reason IN ('retry', 'behind') AND entity IS NOT NULL;

CREATE TABLE onefold.pause (
  consumer integer PRIMARY KEY REFERENCES onefold.consumer (id),
  who      text NOT NULL,
  reason   text NOT NULL,
  failure  text NOT NULL,
  since    timestamptz NOT NULL,
  probes   integer NOT NULL,           -- That failed.
  probe_at timestamptz NOT NULL
);

CREATE TABLE onefold.replay (
  id          text COLLATE "C" PRIMARY KEY,
  consumer    integer NOT NULL REFERENCES onefold.consumer (id),
  filter      text NOT NULL,           -- JSON: an array of texts 'name=value'.
  up_to       bigint NOT NULL,         -- Rows with greater ids are not part of it.
  passed      bigint NOT NULL,         -- Rows up to this one have had their turn.
  rate        bigint NOT NULL,         -- Events a second; 0: as fast as they are applied.
  ramp        text NOT NULL,
  who         text NOT NULL,
  reason      text NOT NULL,
  state       text NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
  note        text NOT NULL,
  started_at  timestamptz NOT NULL,
  ended_at    timestamptz,
  made_due_at timestamptz NOT NULL,
  selected    bigint NOT NULL,
  due         bigint NOT NULL,
  applied     bigint NOT NULL,
  failed      bigint NOT NULL,
  gone        bigint NOT NULL,
  source_range text NOT NULL,    -- JSON: an array of texts 'name=value'; empty: none.
  duplicate   bigint NOT NULL,
  stale       bigint NOT NULL,
  deferred    bigint NOT NULL,
  conflict    bigint NOT NULL,
  ignored     bigint NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX replay_open ON onefold.replay (consumer) WHERE state IN ('running', 'paused');

CREATE TABLE onefold.run (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer        integer NOT NULL REFERENCES onefold.consumer (id),
  source          text COLLATE "C" NOT NULL,
  host            text NOT NULL,
  process         bigint NOT NULL,
  process_started bigint NOT NULL,
  positions       bigint NOT NULL,     -- A digest; the bits are kept.
  seen_at         timestamptz NOT NULL,
  size            integer NOT NULL,    -- Events in hand in careful mode.
  scope           integer,             -- The one event in hand.
  key             bytea
) WITH (fillfactor = 50);

CREATE TABLE onefold.careful (
  consumer integer NOT NULL REFERENCES onefold.consumer (id),
  source   text COLLATE "C" NOT NULL,
  size     integer NOT NULL,
  PRIMARY KEY (consumer, source)
);

CREATE TABLE onefold.suspect (
  scope    integer NOT NULL,
  key      bytea NOT NULL,
  consumer integer NOT NULL REFERENCES onefold.consumer (id),
  deaths   integer NOT NULL,
  how      text NOT NULL,
  at       timestamptz NOT NULL,
  PRIMARY KEY (scope, key)
);
