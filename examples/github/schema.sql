-- What the webhooks tell about GitHub. Onefold's own tables stand beside these.
--
-- Events arrive in any order, so every row remembers what it was written from: the newer
-- updated_at wins, and between equal ones the larger delivery id. Any order of arrival ends in the
-- same rows.
CREATE TABLE repository (
  id          INTEGER PRIMARY KEY,
  full_name   TEXT    NOT NULL,
  private     INTEGER NOT NULL,
  stars       INTEGER NOT NULL,
  open_issues INTEGER NOT NULL,
  updated_at  TEXT    NOT NULL,
  delivery    TEXT    NOT NULL
) STRICT;

CREATE TABLE issue (
  id         INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  title      TEXT    NOT NULL,
  state      TEXT,
  updated_at TEXT    NOT NULL,
  delivery   TEXT    NOT NULL
) STRICT;

CREATE TABLE pull_request (
  id         INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  title      TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  merged_at  TEXT,
  updated_at TEXT    NOT NULL,
  delivery   TEXT    NOT NULL
) STRICT;

-- A counter is not idempotent: each redelivery that slipped through would show here.
CREATE TABLE activity (
  repository INTEGER NOT NULL,
  event      TEXT    NOT NULL,
  events     INTEGER NOT NULL,
  PRIMARY KEY (repository, event)
) STRICT, WITHOUT ROWID;
