package sqlitestore

import (
	"context"
	"time"
)

// wake tells the checkpointer that something was written.
func (s *Store) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// checkpoints moves the write-ahead log into the database, on a connection of
// its own so that no commit waits for it: passively each second while there is
// work, and emptying the log once when the work has ended. It also finishes
// deletions. An idle store has no timer running.
func (s *Store) checkpoints() {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	var c *conn
	defer func() {
		if c != nil {
			_ = c.close()
		}
	}()
	for busy := false; ; {
		if !busy {
			tick.Stop()
			select {
			case <-s.work:
				busy = true
			case <-s.stop:
				return
			}
			tick.Reset(checkpointEvery)
		}
		select {
		case <-tick.C:
		case <-s.stop:
			return
		}
		if c == nil {
			var err error
			if c, err = open(s.dsn, s.setup...); err != nil {
				c = nil
				continue // the writer meets the same trouble and reports it
			}
		}
		swept := s.sweepDoomed()
		select {
		case <-s.work:
			_ = c.script("PRAGMA wal_checkpoint(PASSIVE)")
		default:
			// A log that is not emptied now is emptied after the next work,
			// by the writer when it grows long, or at the last closing.
			_ = truncateLog(c)
			busy = swept
		}
	}
}

// truncateLog moves the whole log into the database and empties it, if no
// reader stands in the way for long.
func truncateLog(c *conn) error {
	if err := c.script(pragma("busy_timeout", truncateWait.Milliseconds())); err != nil {
		return err
	}
	err := c.script("PRAGMA wal_checkpoint(TRUNCATE)")
	if back := c.script(pragma("busy_timeout", busyTimeout.Milliseconds())); back != nil {
		return back
	}
	return err
}

// sweepDoomed deletes a portion of the events of deleted resources and says
// whether there was any. Failures are met again at the next tick.
func (s *Store) sweepDoomed() (found bool) {
	ctx, cancel := context.WithTimeout(context.Background(), busyTimeout)
	defer cancel()
	_ = s.read(ctx, "sweeping", func(c *conn) (err error) {
		found, err = c.one(ctx, "SELECT 1 FROM doomed LIMIT 1", nil)
		return err
	})
	if found {
		_ = s.write(ctx, "sweeping", sweepRows, 0, sweepStep)
	}
	return found
}

// sweepStep deletes one portion of one deleted resource's events.
func sweepStep(tx *conn) error {
	var resource int64
	found, err := tx.one(context.Background(), "SELECT resource FROM doomed LIMIT 1", nil, &resource)
	if err != nil || !found {
		return err
	}
	n, err := dropEvents(tx, resource, maxSeq)
	if err == nil && n < sweepRows {
		_, err = tx.run("DELETE FROM doomed WHERE resource = ?", resource)
	}
	return err
}

// dropEvents deletes at most sweepRows events of a resource before seq, oldest
// first, and says how many.
func dropEvents(tx *conn, resource int64, before uint64) (int64, error) {
	const oldest = "(SELECT key FROM event INDEXED BY event_by_seq WHERE resource = ? AND seq < ? ORDER BY seq LIMIT ?)"
	if _, err := tx.run("DELETE FROM raw_frame WHERE event IN "+oldest, resource, before, sweepRows); err != nil {
		return 0, err
	}
	return tx.run("DELETE FROM event WHERE key IN "+oldest, resource, before, sweepRows)
}
