package core

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// Journal is the journal of one live process, for the host of it: it numbers
// events, commits them with the snapshot, keeps the recent ones for readers and
// goes on in memory while the store fails. One goroutine at a time writes;
// reading and watching are safe from any.
type Journal struct {
	opt      JournalOptions
	ring     ring
	wakes    wakes
	seq      uint64
	created  bool
	degraded atomic.Bool
	lost     *lostJournal
}

// JournalOptions are what a Journal needs.
type JournalOptions struct {
	Store           Store
	Owner, Resource string
	Timeout         time.Duration // of one commit; 0 for the default
	// Stop refuses to go on in memory: a Write that cannot be stored fails.
	Stop   bool
	Logger *slog.Logger
}

// Entry is an event that is to be written.
type Entry struct {
	Type EventType
	At   time.Time
	Data json.RawMessage
}

// JournalWrite is what one commit writes. Snapshot makes the process's record
// as it is with the last of the events.
type JournalWrite struct {
	Entries  []Entry
	Snapshot func(seq uint64, d Durability) ProcessRecord
	Keys     []KeyRecord
}

// lostJournal is what could not be stored, until it can.
type lostJournal struct {
	from, to uint64 // seqs that are in memory only
	expect   uint64 // the last seq on disk, as far as known
	terminal *Event
	snapshot func(uint64, Durability) ProcessRecord
	keys     []KeyRecord
	wait     time.Duration
	retryAt  time.Time
}

// NewJournal makes the journal of a process that is new.
func NewJournal(opt JournalOptions) *Journal {
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultLimits.StoreTimeout
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return &Journal{opt: opt}
}

// Write commits events and the snapshot, and gives the snapshot as it is then.
// When the store fails, store_failed comes first and the events after it live
// in memory, which is no error; but with Options.Stop it is, CodeStoreFailed,
// the first time. Call Wake when readers may see it.
func (j *Journal) Write(ctx context.Context, w JournalWrite) (ProcessSnapshot, error) {
	if j.lost != nil {
		return j.keep(w), nil
	}
	b, rec := j.batch(w)
	err := commitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	if err == nil {
		j.created, j.seq = true, rec.Process.LastSeq
		j.ring.add(b.Events)
		return rec.Process, nil
	}
	j.lost = &lostJournal{from: j.seq + 1, to: j.seq, expect: j.seq, wait: storeRetryFirst, retryAt: time.Now().Add(storeRetryFirst)}
	j.degraded.Store(true)
	j.opt.Logger.Error("the journal of a process could not be written", "process", j.opt.Resource, "stop", j.opt.Stop, "err", err)
	failed := Entry{Type: StoreFailure, At: time.Now().UTC(), Data: marshal(dataStoreFailed{Message: "the journal could not be written"})}
	w.Entries = append([]Entry{failed}, w.Entries...)
	snap := j.keep(w)
	if j.opt.Stop {
		return snap, storeError(err)
	}
	return snap, nil
}

// batch numbers the events.
func (j *Journal) batch(w JournalWrite) (Batch, ProcessRecord) {
	b := Batch{Owner: j.opt.Owner, Resource: j.opt.Resource, Instance: j.opt.Store.Instance(), ExpectSeq: j.seq, Create: !j.created, Keys: w.Keys}
	seq := j.seq
	for _, e := range w.Entries {
		seq++
		b.Events = append(b.Events, j.event(e, seq))
	}
	rec := w.Snapshot(seq, j.durability())
	b.Process = &rec
	return b, rec
}

func (j *Journal) event(e Entry, seq uint64) Event {
	return Event{SchemaVersion: SchemaVersion, ID: NewEventID(), Resource: j.opt.Resource, Seq: seq, Type: e.Type, At: e.At.UTC(), Data: e.Data}
}

// keep goes on in memory. Right before the event that ends the process a number
// stays free for store_recovered, so that the end is last in any case.
func (j *Journal) keep(w JournalWrite) ProcessSnapshot {
	var events []Event
	for _, e := range w.Entries {
		j.seq++
		if terminal(e.Type) {
			j.seq++
		}
		events = append(events, j.event(e, j.seq))
		if terminal(e.Type) {
			j.lost.terminal = &events[len(events)-1]
		}
	}
	j.lost.to = j.seq
	j.lost.snapshot = w.Snapshot
	if len(j.lost.keys)+len(w.Keys) <= lostTurns {
		j.lost.keys = append(j.lost.keys, w.Keys...)
	}
	j.ring.add(events)
	return w.Snapshot(j.seq, DurabilityDegraded).Process
}

func terminal(t EventType) bool {
	switch t {
	case ProcessExited, ProcessFailed, ProcessCancelled, ProcessTimedOut:
		return true
	}
	return false
}

// RetryAt says when Retry is due; the zero time while the store works.
func (j *Journal) RetryAt() time.Time {
	if j.lost == nil {
		return time.Time{}
	}
	return j.lost.retryAt
}

// Retry tries to make the journal durable again. What lived in memory only is
// gone for readers then, as store_recovered says; the end of the process and
// its snapshot are not. It says whether it succeeded, and gives the snapshot as
// it is then.
func (j *Journal) Retry(ctx context.Context) (ProcessSnapshot, bool) {
	l := j.lost
	if l == nil {
		return ProcessSnapshot{}, false
	}
	at := l.to + 1
	var ended []Event
	if l.terminal != nil {
		at, ended = l.terminal.Seq-1, []Event{*l.terminal}
	}
	recovered := Entry{Type: StoreRecovered, At: time.Now().UTC(), Data: marshal(dataStoreRecovered{LostFrom: l.from, LostTo: at - 1})}
	events := append([]Event{j.event(recovered, at)}, ended...)
	seq := events[len(events)-1].Seq
	rec := l.snapshot(seq, j.working())
	b := Batch{Owner: j.opt.Owner, Resource: j.opt.Resource, Instance: j.opt.Store.Instance(), ExpectSeq: l.expect, Create: !j.created,
		Events: events, Process: &rec, Keys: l.keys}
	if err := commitChecked(ctx, j.opt.Store, j.opt.Timeout, b); err != nil {
		var conflict *ConflictError
		if errors.As(err, &conflict) && conflict.Stored > l.expect && conflict.Stored < events[0].Seq {
			l.expect, j.created = conflict.Stored, true // the commit that failed came through after all
		}
		l.wait = min(2*l.wait, storeRetryMost)
		l.retryAt = time.Now().Add(l.wait)
		return ProcessSnapshot{}, false
	}
	j.opt.Logger.Info("the journal of a process works again", "process", j.opt.Resource, "lost_from", l.from, "lost_to", l.to)
	j.lost, j.created, j.seq = nil, true, seq
	j.ring.reset(events[0].Seq - 1)
	j.ring.add(events)
	j.degraded.Store(false)
	return rec.Process, true
}

// Trim drops the events before a seq, which no longer fit.
func (j *Journal) Trim(ctx context.Context, before uint64) error {
	ctx, cancel := context.WithTimeout(ctx, j.opt.Timeout)
	defer cancel()
	return j.opt.Store.Trim(ctx, j.opt.Owner, j.opt.Resource, before)
}

// Seq is the number of the last event.
func (j *Journal) Seq() uint64 { return j.seq }

func (j *Journal) durability() Durability {
	if j.degraded.Load() {
		return DurabilityDegraded
	}
	return j.working()
}

func (j *Journal) working() Durability { return durabilityOf(j.opt.Store) }

// Events reads the journal, from memory as far as that has it.
func (j *Journal) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	q.Owner = j.opt.Owner
	return readJournal(ctx, j.opt.Store, &j.ring, j.degraded.Load(), q)
}

// Watch wakes ch, which needs room for one, after each Wake.
func (j *Journal) Watch(ch chan<- struct{}) (stop func()) { return j.wakes.watch(ch) }

// Wake tells watchers that there is news.
func (j *Journal) Wake() { j.wakes.wake() }

// commitChecked commits within a deadline. A commit that failed may have
// happened: the batch's last seq on disk says so.
func commitChecked(ctx context.Context, store Store, timeout time.Duration, b Batch) error {
	ctx = context.WithoutCancel(ctx)
	cctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := store.Commit(cctx, b)
	if err == nil || len(b.Events) == 0 {
		return err
	}
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return err
	}
	cctx, cancel = context.WithTimeout(ctx, timeout)
	defer cancel()
	last, lerr := store.LastSeq(cctx, b.Owner, b.Resource)
	if lerr == nil && last == b.Events[len(b.Events)-1].Seq {
		return nil
	}
	return err
}
