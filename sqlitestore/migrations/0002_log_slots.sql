-- The log's rows lie in slots that are written again: a commit changes the pages
-- of its rows and no others. id is the order of writing; next is the slot of
-- the row with the next id, so that a reader finds what is new. pad fills the
-- page, lest SQLite join rows on one.
ALTER TABLE log RENAME TO log_before;
CREATE TABLE log (
  slot   INTEGER PRIMARY KEY,
  id     INTEGER NOT NULL,
  next   INTEGER NOT NULL,
  dir    BLOB NOT NULL,
  events BLOB NOT NULL,
  raw    BLOB NOT NULL,
  pad    BLOB NOT NULL
);
INSERT INTO log (slot, id, next, dir, events, raw, pad)
  SELECT id, id, id + 1, dir, events, raw, zeroblob(8116 - min(8116, length(dir) + length(events) + length(raw)))
  FROM log_before ORDER BY id;
DROP TABLE log_before;
