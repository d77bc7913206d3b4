-- The shop's own tables. Onefold's stand beside them, named onefold_..., made by --migrate.
CREATE TABLE account (
  id      INTEGER PRIMARY KEY,
  balance INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Nothing here defends itself against redeliveries, no unique event_id and no OR IGNORE, and a
-- balance that was added to twice stays wrong. That each event is applied once is Onefold's work.
CREATE TABLE payment (
  number   INTEGER PRIMARY KEY,
  event_id TEXT    NOT NULL,
  account  INTEGER NOT NULL,
  amount   INTEGER NOT NULL
) STRICT;

CREATE TABLE confirmed_order (
  number   INTEGER PRIMARY KEY,
  event_id TEXT    NOT NULL,
  order_id TEXT    NOT NULL,
  lines    INTEGER NOT NULL
) STRICT;

INSERT INTO account (id)
WITH RECURSIVE counter (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM counter WHERE id < 1000)
SELECT id FROM counter;
