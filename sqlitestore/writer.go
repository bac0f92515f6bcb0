package sqlitestore

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// write is one caller's change of the database.
type write struct {
	ctx           context.Context
	events, bytes int
	// apply makes the changes within a transaction. It looks for conflicts
	// before it changes anything, so an answer that is a refusal needs no
	// rollback. It may run again if the group it was in failed.
	apply func(tx *tx) error
	done  chan error // takes one answer
}

// write queues a change and waits until it is on disk. When ctx ends first it
// returns, though the change may still be made.
func (s *Store) write(ctx context.Context, doing string, events, bytes int, apply func(tx *tx) error) error {
	_, err := s.submit(&write{ctx: ctx, events: events, bytes: bytes, apply: apply, done: make(chan error, 1)})
	return translate(doing, err)
}

// submit queues a write and waits for its answer. One that was not answered may
// still be made.
func (s *Store) submit(w *write) (answered bool, err error) {
	if err := s.enqueue(w); err != nil {
		return true, err // nobody else has seen it
	}
	select {
	case err := <-w.done:
		return true, err
	case <-w.ctx.Done():
		return false, w.ctx.Err()
	}
}

// enqueue queues w, and waits while the queue is full. It holds the read lock, so that
// Close cannot close the queue in the meantime.
func (s *Store) enqueue(w *write) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	select {
	case s.queue <- w:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// writer owns the only connection that writes. One goroutine, run, uses it.
type writer struct {
	store    *Store
	conn     *conn     // nil after a failure that left it in doubt
	nextTrim time.Time // when the log may be emptied again
	last     int       // how many writes the last group had
	// unmeasured is about what was written since the length of the log was
	// looked at.
	unmeasured      int64
	sinceCheckpoint int64 // about what was written since the log was last to be moved

	adds    []addition               // memory for transactions
	rows    []logRow                 // likewise
	version int64                    // of the data that cache tells of; 0 for none
	began   bool                     // there was a transaction
	shared  bool                     // others write too, or did
	cache   map[resourceID]*resource // resources as the last commit left them
	byKey   map[int64]resourceID
}

// run writes group after group until the queue is closed and empty.
func (w *writer) run() {
	for first := range w.store.queue {
		group := w.gather([]*write{first})
		group = w.await(group)
		w.last = len(group)
		w.commit(group)
		w.store.wake()
	}
	if w.conn != nil {
		// The last connection to a database checkpoints it. Should that fail,
		// the log stays and the next opening reads it.
		_ = w.conn.close()
	}
}

// await waits for further writes of the callers of the last group: one transaction for
// all of them costs less than two. It ends when none has come for gatherPause, which
// is short compared with a sync, or when there are gatherMost.
func (w *writer) await(group []*write) []*write {
	for came := time.Now(); len(group) < min(w.last, gatherMost) && time.Since(came) < gatherPause; {
		runtime.Gosched()
		n := len(group)
		if group = w.gather(group); len(group) > n {
			came = time.Now()
		}
	}
	return group
}

// gather takes what is queued into a group, up to its bounds.
func (w *writer) gather(group []*write) []*write {
	events, bytes := 0, 0
	for _, one := range group {
		events += one.events
		bytes += one.bytes
	}
	for events < groupEvents && bytes < groupBytes && len(group) < groupEvents {
		select {
		case next, ok := <-w.store.queue:
			if !ok {
				return group
			}
			group = append(group, next)
			events += next.events
			bytes += next.bytes
		default:
			return group
		}
	}
	return group
}

// commit writes a group and answers each of its callers. When one write breaks
// the transaction, each gets one of its own, so that only that one fails.
func (w *writer) commit(group []*write) {
	answers, err := w.attempt(group)
	if err != nil && len(group) > 1 && standsAlone(err) {
		for _, one := range group {
			w.commit([]*write{one})
		}
		return
	}
	for i, one := range group {
		if err != nil {
			one.done <- err
		} else {
			one.done <- answers[i]
		}
	}
}

// attempt writes a group in one transaction. It returns each write's own answer,
// or the error for which nothing of the group was written.
func (w *writer) attempt(group []*write) (answers []error, err error) {
	if err := w.ready(); err != nil {
		return nil, err
	}
	if _, err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	t := &tx{conn: w.conn, w: w, adds: w.adds[:0], rows: w.rows[:0]}
	defer t.keep()
	if err := t.begin(); err != nil {
		return nil, w.rollback(err)
	}
	answers = make([]error, len(group))
	for i, one := range group {
		if answers[i] = one.ctx.Err(); answers[i] != nil {
			continue // its caller has left
		}
		if answers[i] = one.apply(t); answers[i] != nil && !refusal(answers[i]) {
			return nil, w.rollback(answers[i])
		}
	}
	if err := t.flush(); err != nil {
		return nil, w.rollback(err)
	}
	if _, err := w.conn.run("COMMIT"); err != nil {
		return nil, w.rollback(err)
	}
	w.wrote(group, len(t.rows))
	t.committed()
	return answers, nil
}

// wrote adds the estimated growth of the write-ahead log, and requests a checkpoint
// when that is walCheckpointSize: a page for each row of the log, and one for each
// other change.
func (w *writer) wrote(group []*write, pages int) {
	for _, one := range group {
		pages += one.events - 1
	}
	w.unmeasured += int64(pages) * pageSize
	if w.sinceCheckpoint += int64(pages) * pageSize; w.sinceCheckpoint >= w.store.walCheckpointSize {
		w.sinceCheckpoint = 0
		w.store.requestCheckpoint(checkpointPassive)
	}
}

// rollback undoes a failed transaction. SQLite has undone it already after
// some errors; a connection that fails to roll back is closed, which undoes it too.
func (w *writer) rollback(cause error) error {
	w.version = 0
	if _, err := w.conn.run("ROLLBACK"); err != nil {
		_ = w.conn.close()
		w.conn = nil
	}
	return cause
}

// ready checks that the database file is the one that was opened, connects if needed,
// and bounds the length of the write-ahead log. The log restarts when checkpointLoop
// has moved nearly all of it, so the wait for the rest is short. Where that does not
// keep up, the writer empties the log itself.
func (w *writer) ready() error {
	if err := w.store.checkFile(); err != nil {
		return err
	}
	if w.conn == nil {
		c, err := w.store.reopen(w.store.setup...)
		if err != nil {
			return err
		}
		w.conn, w.version = c, 0
	}
	if w.store.checkpointed.Swap(false) {
		// Moves the rest. The next transaction restarts the log.
		_, _ = passiveCheckpoint(w.conn)
	}
	if w.unmeasured < w.store.walCheckpointSize/walLooks {
		return nil
	}
	size, now := w.store.walSize(), time.Now()
	long, full := size > walFirm*w.store.walCheckpointSize, size >= w.store.walMaxSize
	if !long || !full && now.Before(w.nextTrim) {
		w.unmeasured = 0
		return nil
	}
	w.nextTrim = now.Add(checkpointEvery) // each try waits for readers a little
	err := emptyWAL(w.conn, false)
	if full && w.store.walSize() >= w.store.walMaxSize {
		return logFull(err)
	}
	return nil
}

// logFull returns the error of a commit that is refused because the log is full. err is
// that of the attempt to empty it, nil when a reader prevented that.
func logFull(err error) error {
	if err == nil {
		return core.Errorf(core.CodeStoreFailed, "the write-ahead log is full because a reader of the database does not end").
			WithHint("End other programs that have the database open.")
	}
	return core.Errorf(core.CodeStoreFailed, "the write-ahead log is full and cannot be moved into the database: %w", err).
		WithHint("Check that the disk has free space and no errors.")
}

// walSize is the length of the write-ahead log in bytes.
func (s *Store) walSize() int64 {
	info, err := os.Stat(s.walFile)
	if err != nil {
		return 0
	}
	return info.Size()
}
