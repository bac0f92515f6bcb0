package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"
)

// wake signals maintenanceLoop that something was written. It does not wait.
func (s *Store) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// maintenanceLoop is a goroutine of an open store; it ends when stop is closed. While
// there is work it finishes deletions and erases what they left, packs and requests a checkpoint every
// checkpointEvery. When the work has ended it requests one full checkpoint. An idle
// store has no timer running.
func (s *Store) maintenanceLoop() {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	busy := false
	for {
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
		left := s.sweepDeleted()
		left = s.maintain() || left
		left = s.erase() || left
		select {
		case <-s.work:
			s.requestCheckpoint(checkpointPassive)
		default:
			// A log that is not emptied now is emptied after the next work,
			// by the writer when it grows long, or at the last closing.
			select {
			case s.checkpointRequests <- checkpointAll: // behind what is asked already: it does more
			case <-s.stop:
				return
			}
			busy = s.shortenIdle() || left
		}
	}
}

// checkpointKind is the kind of checkpoint that is requested.
type checkpointKind bool

const (
	checkpointPassive checkpointKind = false // beside the writer
	checkpointAll     checkpointKind = true
)

// requestCheckpoint queues a request, unless one is queued. It does not wait.
func (s *Store) requestCheckpoint(m checkpointKind) {
	select {
	case s.checkpointRequests <- m:
	default:
	}
}

// checkpointLoop is a goroutine of an open store; it ends when stop is closed. On
// request it moves the write-ahead log into the database, on a connection of its own,
// so that no commit waits. Requests come from maintenanceLoop, and from the writer
// when the log is long.
func (s *Store) checkpointLoop() {
	var c *conn
	defer func() {
		if c != nil {
			_ = c.close()
		}
	}()
	for {
		var m checkpointKind
		select {
		case m = <-s.checkpointRequests:
		case <-s.stop:
			return
		}
		if c == nil {
			var err error
			if c, err = s.reopen(s.setup...); err != nil {
				c = nil
				continue // the writer gets the same error and reports it
			}
		}
		if m == checkpointPassive {
			s.logCheckpointState(s.checkpointAside(c))
		} else {
			s.logCheckpointState(emptyWAL(c, s.walSize() <= walKept))
		}
	}
}

// checkpointAside moves the log into the database concurrently with the writer, and
// sets checkpointed when the log is long and nearly all of it is moved. SQLite syncs
// the database only with the last frame, which the writer waits for, so the moved part
// is synced here before.
func (s *Store) checkpointAside(c *conn) error {
	bytes, err := passiveCheckpoint(c)
	if err == nil && bytes >= s.walCheckpointSize/2 {
		syncFile(s.file)
		_, err = passiveCheckpoint(c) // again, for what was written meanwhile
		s.checkpointed.Store(err == nil)
	}
	return err
}

// logCheckpointState logs when checkpoints begin to fail, which no commit shows before
// the log is full, and when they succeed again.
func (s *Store) logCheckpointState(err error) {
	switch {
	case err != nil && !s.checkpointFailing:
		s.log.Warn("what is committed cannot be moved into the database; its log grows", "file", s.walFile, "err", err)
	case err == nil && s.checkpointFailing:
		s.log.Warn("what is committed is moved into the database again", "file", s.walFile)
	}
	s.checkpointFailing = err != nil
}

// passiveCheckpoint moves as much of the log as it can without waiting, and returns
// the size of the log. When nothing is left, the next transaction
// begins it anew from its start.
func passiveCheckpoint(c *conn) (bytes int64, err error) {
	var busy, frames int64
	_, err = c.one(noContext, "PRAGMA wal_checkpoint(PASSIVE)", nil, &busy, &frames)
	return frames * pageSize, err
}

// maintain packs, shortens the log and releases free pages. It reports whether there is
// more to do. What fails is tried again at the next tick.
func (s *Store) maintain() (more bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*busyTimeout)
	defer cancel()
	if now := time.Now(); now.Sub(s.reviewed) >= reviewEvery {
		s.reviewed = now
		if err := s.review(ctx); err != nil {
			return true
		}
	}
	more = s.pack(ctx, false)
	s.shorten(ctx, keepSlots)
	return s.vacuum(ctx) || more
}

// vacuum truncates free pages at the end of the file, when there are at least
// vacuumFrom and they are a vacuumPart-th of the file.
func (s *Store) vacuum(ctx context.Context) (more bool) {
	var pages, free int64
	err := s.read(ctx, "measuring", func(c *conn) error {
		if _, err := c.one(ctx, "PRAGMA page_count", nil, &pages); err != nil {
			return err
		}
		_, err := c.one(ctx, "PRAGMA freelist_count", nil, &free)
		return err
	})
	if err != nil || free < vacuumFrom || free < pages/vacuumPart {
		return false
	}
	for range vacuumAtOnce {
		err := s.write(ctx, "giving space back", vacuumPages, 0, func(tx *tx) error {
			return tx.query(noContext, pragma("incremental_vacuum", vacuumPages), nil, func([]driver.Value) (bool, error) { return true, nil })
		})
		if err != nil {
			return false
		}
	}
	return true
}

// emptyWAL moves the whole log into the database and lets the next transaction
// begin it anew, if no reader holds it for longer than truncateWait. With
// keepRoom the file keeps its length, which makes later syncs shorter.
func emptyWAL(c *conn, keepRoom bool) error {
	mode := "TRUNCATE"
	if keepRoom {
		mode = "RESTART"
	}
	if err := c.script(pragma("busy_timeout", truncateWait.Milliseconds())); err != nil {
		return err
	}
	err := c.script("PRAGMA wal_checkpoint(" + mode + ")")
	if back := c.script(pragma("busy_timeout", busyTimeout.Milliseconds())); back != nil {
		return back
	}
	return err
}
