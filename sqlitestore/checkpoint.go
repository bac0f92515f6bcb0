package sqlitestore

import "time"

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
