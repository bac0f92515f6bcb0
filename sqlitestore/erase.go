package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"
)

// What is deleted leaves the files, too. SQLite overwrites deleted cells within
// their pages (secure_delete = FAST); what else holds copies is erased behind the
// deletion: rows of the log whose slots were not written again, free pages, and the
// write-ahead log. The deletion notes in its own transaction that this is to be done,
// so that a server that dies in between leaves it to the next.

// toErase is the name in meta of the id of the newest row of the log when something
// was deleted last.
const toErase = "erase"

// noteErase notes that what has just been deleted is to be erased.
func noteErase(tx *tx) error {
	var newest int64
	if _, err := tx.one(noContext, "SELECT coalesce(max(id), 0) FROM log", nil, &newest); err != nil {
		return err
	}
	_, err := tx.run("REPLACE INTO meta (name, value) VALUES (?, ?)", toErase, newest)
	return err
}

// erase erases a portion of what was deleted, and reports whether something is
// left. It goes on when deletions are complete.
func (s *Store) erase() (more bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*busyTimeout)
	defer cancel()
	var upTo int64
	var noted, doomed bool
	err := s.read(ctx, "looking for what is to be erased", func(c *conn) (err error) {
		if noted, err = c.one(ctx, "SELECT value FROM meta WHERE name = ?", []any{toErase}, &upTo); err != nil || !noted {
			return err
		}
		doomed, err = c.one(ctx, "SELECT 1 FROM doomed LIMIT 1", nil)
		return err
	})
	if err != nil || !noted {
		return false
	}
	if doomed || !s.eraseLog(ctx, upTo) || !s.eraseFree(ctx) || !s.eraseWAL() {
		return true
	}
	err = s.write(ctx, "noting what is erased", 1, 0, func(tx *tx) error {
		_, err := tx.run("DELETE FROM meta WHERE name = ? AND value = ?", toErase, upTo)
		return err
	})
	return err != nil
}

// eraseLog erases the rows of the log up to one, as far as they are dead, and
// reports whether all are.
func (s *Store) eraseLog(ctx context.Context, upTo int64) bool {
	s.pack(ctx, true)
	if s.review(ctx) != nil {
		return false
	}
	s.shorten(ctx, 0)
	live, kept := s.tail.upTo(upTo)
	if live || len(kept) == 0 {
		return !live
	}
	// The newest row and the slot of the next one stay, without their content: the
	// directory of a dead row is read for its numbers only.
	err := s.write(ctx, "erasing the log", len(kept), 0, func(tx *tx) error {
		for _, d := range kept {
			if _, err := tx.run("UPDATE log SET events = x'', raw = x'', pad = zeroblob(max(0, ? - length(dir))) WHERE slot = ? AND id = ?", rowBytes, d.slot, d.id); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil
}

// upTo reports whether a row up to id has slices that are not packed, and returns
// the dead ones.
func (t *tail) upTo(id int64) (live bool, dead []deadRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for row := range t.rows {
		live = live || row <= id
	}
	for _, d := range t.dead {
		if d.id <= id {
			dead = append(dead, d)
		}
	}
	return live, dead
}

// eraseFree gives free pages back, up to a bound, and reports whether none is left.
func (s *Store) eraseFree(ctx context.Context) bool {
	for range eraseAtOnce {
		var free int64
		err := s.read(ctx, "measuring", func(c *conn) error {
			_, err := c.one(ctx, "PRAGMA freelist_count", nil, &free)
			return err
		})
		if err != nil || free == 0 {
			return err == nil
		}
		err = s.write(ctx, "giving space back", vacuumPages, 0, func(tx *tx) error {
			return tx.query(noContext, pragma("incremental_vacuum", vacuumPages), nil, func([]driver.Value) (bool, error) { return true, nil })
		})
		if err != nil {
			return false
		}
	}
	return false
}

// eraseWAL moves the whole write-ahead log into the database and cuts it off, on a
// connection of its own, and reports whether no reader prevented it.
func (s *Store) eraseWAL() bool {
	c, err := s.reopen(pragma("busy_timeout", truncateWait.Milliseconds()))
	if err != nil {
		return false
	}
	defer func() { _ = c.close() }()
	var busy int64
	_, err = c.one(noContext, "PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy)
	return err == nil && busy == 0
}

// eraseAtClose erases what is left before the store is closed, for at most eraseFor.
func (s *Store) eraseAtClose() {
	for late := time.Now().Add(eraseFor); s.erase() && time.Now().Before(late); {
		time.Sleep(erasePause) // another server may have to pack, or a reader to end
	}
}
