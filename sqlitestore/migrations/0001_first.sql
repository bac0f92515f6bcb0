-- What the store is, and the secret of its keyed hashes.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

-- A session or process: what has a journal. Everything else refers to its
-- integer key, which is never used again, so that the events of a deleted
-- resource can be swept later. The row is small and changes with each commit;
-- the large, rarely changing snapshot stands apart.
CREATE TABLE resource (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  owner      TEXT NOT NULL,
  id         TEXT NOT NULL,
  kind       TEXT NOT NULL,
  provider   TEXT NOT NULL,
  instance   TEXT NOT NULL,     -- the running server that owns it
  last_seq   INTEGER NOT NULL,  -- stays when events are trimmed
  last_batch BLOB NOT NULL,     -- digest of the last commit, to know it again
  UNIQUE (id, owner)
);

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

-- The journals of all resources, in the order of writing. Clustering by
-- resource instead would touch a page per session in every commit.
CREATE TABLE event (
  key      INTEGER PRIMARY KEY,
  resource INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  type     TEXT NOT NULL,
  turn     TEXT,
  request  TEXT,
  provider TEXT,
  id       TEXT NOT NULL,
  data     BLOB
);
CREATE UNIQUE INDEX event_by_seq ON event (resource, seq);
CREATE INDEX event_by_turn ON event (resource, turn, seq) WHERE turn IS NOT NULL;

-- Providers' frames, apart: few reads want them and they are large.
CREATE TABLE raw_frame (
  event INTEGER PRIMARY KEY,
  frame BLOB NOT NULL
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
