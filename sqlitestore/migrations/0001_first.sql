-- What the store is, and the secret of its keyed hashes.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

-- A session or process: what has a journal. Everything else refers to its
-- integer key, which is never used again, so that the events of a deleted
-- resource can be swept later. The row changes when something is packed, and
-- not with each commit.
CREATE TABLE resource (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  owner      TEXT NOT NULL,
  id         TEXT NOT NULL,
  kind       TEXT NOT NULL,
  provider   TEXT NOT NULL,
  instance   TEXT NOT NULL,               -- the running server that owns it
  packed     INTEGER NOT NULL DEFAULT 0,  -- its slices up to this row of the log are in chunks
  last_seq   INTEGER NOT NULL DEFAULT 0,  -- of what is packed; stays when events are trimmed
  last_batch BLOB,                        -- digest of the last commit that is packed, to know it again
  trimmed    INTEGER NOT NULL DEFAULT 0,  -- events before this seq are gone
  UNIQUE (id, owner)
);
CREATE INDEX resource_by_instance ON resource (instance);

-- The latest state of each session, turn, request and process: a JSON body
-- beside what lists sort and filter by. Times are Unix nanoseconds.
CREATE TABLE snapshot (
  key      INTEGER PRIMARY KEY,
  resource INTEGER NOT NULL,
  kind     TEXT NOT NULL,
  owner    TEXT NOT NULL,
  id       TEXT NOT NULL,
  turn     TEXT NOT NULL,
  status   TEXT NOT NULL,
  live     INTEGER NOT NULL,
  created  INTEGER NOT NULL,
  ended    INTEGER NOT NULL,    -- 0 while live
  body     BLOB NOT NULL,
  UNIQUE (id, kind, owner)
);
CREATE INDEX snapshot_by_resource ON snapshot (resource, kind, created, id);
CREATE INDEX snapshot_by_owner    ON snapshot (owner, kind, created, id);
CREATE INDEX snapshot_live        ON snapshot (kind, created, id) WHERE live = 1;
CREATE INDEX snapshot_ended       ON snapshot (ended, id, owner) WHERE live = 0 AND kind IN ('session', 'process');

-- What was committed last, of all resources, in the order of writing: a
-- directory of slices, the events, and apart from them the providers' raw
-- frames. It has no index and stays short: slices are packed into chunks.
CREATE TABLE log (
  id     INTEGER PRIMARY KEY,
  dir    BLOB NOT NULL,
  events BLOB NOT NULL,
  raw    BLOB NOT NULL
);

-- Everything older: up to some hundred events of one resource, compressed.
CREATE TABLE chunk (
  key      INTEGER PRIMARY KEY AUTOINCREMENT,
  resource INTEGER NOT NULL,
  first    INTEGER NOT NULL,
  last     INTEGER NOT NULL,
  types    INTEGER NOT NULL,  -- which types of events are in it, as bits
  n        INTEGER NOT NULL,
  data     BLOB NOT NULL
);
CREATE UNIQUE INDEX chunk_by_seq ON chunk (resource, last, first, types);

-- Which chunks have events of a turn.
CREATE TABLE chunk_turn (
  resource INTEGER NOT NULL,
  turn     TEXT NOT NULL,
  chunk    INTEGER NOT NULL,
  PRIMARY KEY (resource, turn, chunk)
) WITHOUT ROWID;

-- The raw frames of a chunk, apart: few reads want them and they are large.
CREATE TABLE chunk_raw (
  chunk INTEGER PRIMARY KEY,
  data  BLOB NOT NULL
);

-- Deleted resources whose events are still to be swept.
CREATE TABLE doomed (
  resource INTEGER PRIMARY KEY
);

CREATE TABLE idempotency_key (
  owner TEXT NOT NULL,
  tool  TEXT NOT NULL,
  key   TEXT NOT NULL,
  at    INTEGER NOT NULL,
  body  BLOB NOT NULL,
  PRIMARY KEY (owner, tool, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_key_by_time ON idempotency_key (at);

-- Spawned process trees, from spawn to reaping.
CREATE TABLE child (
  instance TEXT NOT NULL,
  pid      INTEGER NOT NULL,
  body     BLOB NOT NULL,
  PRIMARY KEY (instance, pid)
) WITHOUT ROWID;

-- Answers that wait for the server that runs the session.
CREATE TABLE answer (
  id       TEXT PRIMARY KEY,
  resource INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  settled  INTEGER NOT NULL,
  body     BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX answer_by_resource ON answer (resource);
CREATE INDEX answer_open ON answer (at) WHERE settled = 0;
