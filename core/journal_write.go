package core

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
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
	// Outage is shared by the journals of one store, so that its failure is
	// logged once. nil is the journal's own.
	Outage *Outage
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
	from, to uint64  // seqs that are in memory only
	stored   uint64  // the last seq that is known to be on disk
	ended    []Event // store_recovered and the end behind it: the same at each attempt
	snapshot func(uint64, Durability) ProcessRecord
	keys     []KeyRecord
	wait     time.Duration
	retryAt  time.Time
	try      *attempt // under way
}

// NewJournal makes the journal of a process that is new.
func NewJournal(opt JournalOptions) *Journal {
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultLimits.StoreTimeout
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Outage == nil {
		opt.Outage = &Outage{}
	}
	return &Journal{opt: opt}
}

// Write commits events and the snapshot, and gives the snapshot as it is then.
// When the store fails, store_failed comes first and the events after it live
// in memory, which is no error; but with Options.Stop it is, CodeStoreFailed,
// the first time. A key that another call has is no failure of the store:
// CodeIdempotency for the first commit, which changes nothing then; a later one
// goes without the key. When ctx ends it waits for the store no more. Call Wake when
// readers may see it.
func (j *Journal) Write(ctx context.Context, w JournalWrite) (ProcessSnapshot, error) {
	if j.lost != nil {
		return j.keep(w), nil
	}
	b, rec := j.batch(w)
	err := commitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	var conflict *ConflictError
	if errors.As(err, &conflict) && conflict.Kind == "key" && len(w.Keys) > 0 {
		if !j.created {
			return ProcessSnapshot{}, keyTaken(conflict.ID)
		}
		j.opt.Logger.Warn("another call has the idempotency key", "process", j.opt.Resource, "key", conflict.ID)
		b.Keys, w.Keys = nil, nil
		err = commitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	}
	if err == nil {
		if j.opt.Outage.Over() {
			j.opt.Logger.Info("the journal of processes is written again")
		}
		j.created, j.seq = true, rec.Process.LastSeq
		j.ring.add(b.Events)
		return rec.Process, nil
	}
	j.lose(rec.Process.LastSeq)
	j.opt.Logger.Log(ctx, j.opt.Outage.Began(), "the journal of processes could not be written", "process", j.opt.Resource, "stop", j.opt.Stop, "err", err)
	failed := Entry{Type: StoreFailure, At: time.Now().UTC(), Data: marshal(dataStoreFailed{Message: "the journal could not be written"})}
	w.Entries = append([]Entry{failed}, w.Entries...)
	snap := j.keep(w)
	if j.opt.Stop {
		return snap, storeError(err)
	}
	return snap, nil
}

// lose begins to keep what the store does not take, from the batch on that
// failed. That may be on disk, or come there late: its numbers up to seq are
// not used again.
func (j *Journal) lose(seq uint64) {
	j.lost = &lostJournal{from: j.seq + 1, to: seq, stored: j.seq, wait: storeRetryFirst, retryAt: time.Now().Add(storeRetryFirst)}
	j.seq = seq
	j.degraded.Store(true)
	noteLoss(j.opt.Store, j.opt.Owner, j.opt.Resource, true)
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
	l := j.lost
	var events []Event
	for _, e := range w.Entries {
		j.seq++
		if e.Type.endsProcess() {
			j.seq++
		}
		events = append(events, j.event(e, j.seq))
	}
	if n := len(events); n > 0 && events[n-1].Type.endsProcess() {
		l.ended = events[n-1:]
	}
	l.to = j.seq
	l.snapshot = w.Snapshot
	if len(l.keys)+len(w.Keys) <= lostTurns {
		l.keys = append(l.keys, w.Keys...)
	}
	if l.try != nil {
		l.try.keep(Batch{Events: events, Keys: w.Keys})
	}
	j.ring.add(events)
	return w.Snapshot(j.seq, DurabilityDegraded).Process
}

// RetryAt says when Retry is due; the zero time while the store works, or while
// an attempt is under way.
func (j *Journal) RetryAt() time.Time {
	if j.lost == nil || j.lost.try != nil {
		return time.Time{}
	}
	return j.lost.retryAt
}

// Trying gives a channel that is closed when the attempt that is under way has
// come to something, nil without one. Retry takes it over then.
func (j *Journal) Trying() <-chan struct{} {
	if j.lost == nil || j.lost.try == nil {
		return nil
	}
	return j.lost.try.done
}

// Lost says whether the journal has what is not stored.
func (j *Journal) Lost() bool { return j.lost != nil }

// Retry begins an attempt to make the journal durable again, or takes over what
// the one before has come to. It does not wait for a store that stands still:
// writing goes on beside an attempt, which ends with ctx. What lived in memory
// only is gone for readers after a success, as store_recovered says; the end of
// the process and its snapshot are not. It says whether the journal is durable
// now, and gives the snapshot as it is then.
func (j *Journal) Retry(ctx context.Context) (ProcessSnapshot, bool) {
	l := j.lost
	switch {
	case l == nil:
		return ProcessSnapshot{}, false
	case l.try == nil:
		j.begin(ctx)
		return ProcessSnapshot{}, false
	case !l.try.over():
		return ProcessSnapshot{}, false
	}
	t := l.try
	l.try = nil
	if t.err == nil {
		return j.recovered(ctx, t)
	}
	j.opt.Logger.Debug("the journal of a process still fails", "process", j.opt.Resource, "err", t.err)
	j.learn(t)
	l.wait = min(2*l.wait, storeRetryMost)
	l.retryAt = time.Now().Add(l.wait)
	return ProcessSnapshot{}, false
}

// begin starts an attempt. Its numbers are not used again, whatever becomes of
// it; but the end of a process is the same event each time.
func (j *Journal) begin(ctx context.Context) {
	l := j.lost
	var events []Event
	switch {
	case len(l.ended) == 0:
		j.seq++
		l.to = j.seq
		events = []Event{j.recovery(l.from, j.seq)}
	case len(l.ended) == 1:
		l.ended = append([]Event{j.recovery(l.from, l.ended[0].Seq-1)}, l.ended...)
		fallthrough
	default:
		events = slices.Clone(l.ended)
	}
	rec := l.snapshot(events[len(events)-1].Seq, j.working())
	b := Batch{Owner: j.opt.Owner, Resource: j.opt.Resource, Instance: j.opt.Store.Instance(), Create: !j.created,
		Events: events, Process: &rec, Keys: slices.Clone(l.keys)}
	l.try = &attempt{rescue: rescue{store: j.opt.Store, within: j.opt.Timeout, kind: KindProcess, batch: b, stored: l.stored,
		commit: func(b Batch) error { return commitChecked(ctx, j.opt.Store, j.opt.Timeout, b) }}}
	l.try.begin(ctx, func(f func()) { go f() })
}

func (j *Journal) recovery(from, seq uint64) Event {
	return j.event(Entry{Type: StoreRecovered, At: time.Now(), Data: marshal(dataStoreRecovered{LostFrom: from, LostTo: seq - 1})}, seq)
}

// learn takes over what an attempt has found on disk.
func (j *Journal) learn(t *attempt) {
	j.lost.stored, j.created = t.stored, !t.batch.Create
	j.lost.keys = without(j.lost.keys, t.keys)
}

// recovered is the end of an attempt that succeeded. What came meanwhile is
// written right behind it; if that fails, it is what is lost now.
func (j *Journal) recovered(ctx context.Context, t *attempt) (ProcessSnapshot, bool) {
	l := j.lost
	j.created = true
	b := t.next()
	var err error
	if len(b.Events)+len(b.Keys) > 0 {
		rec := l.snapshot(j.seq, j.working())
		b.Process = &rec
		err = commitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	}
	if t.full || err != nil {
		l.from, l.stored, l.to = t.last()+1, t.last(), j.seq
		l.keys = without(l.keys, slices.Concat(t.batch.Keys, t.keys))
		l.retryAt = time.Now()
		if err != nil {
			l.wait = min(2*l.wait, storeRetryMost)
			l.retryAt = l.retryAt.Add(l.wait)
		}
		return ProcessSnapshot{}, false
	}
	j.opt.Logger.Info("the journal of a process works again", "process", j.opt.Resource, "lost_from", l.from, "lost_to", t.last()-1)
	kept := slices.Concat(t.batch.Events, b.Events)
	snap := l.snapshot(j.settle(t, kept), j.working()).Process
	noteLoss(j.opt.Store, j.opt.Owner, j.opt.Resource, false)
	j.lost = nil
	j.degraded.Store(false)
	return snap, true
}

// settle shows readers what is stored, and gives the seq of the last event.
func (j *Journal) settle(t *attempt, kept []Event) uint64 {
	if len(kept) == 0 { // all of it had come through
		j.seq = t.stored
		j.ring.reset(j.seq)
		return j.seq
	}
	j.seq = kept[len(kept)-1].Seq
	j.ring.reset(kept[0].Seq - 1)
	j.ring.add(kept)
	return j.seq
}

// without gives the keys that are not among others.
func without(keys, others []KeyRecord) []KeyRecord {
	return slices.DeleteFunc(keys, func(k KeyRecord) bool {
		return slices.ContainsFunc(others, func(o KeyRecord) bool { return o.Key == k.Key && o.Tool == k.Tool })
	})
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
