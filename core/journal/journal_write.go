package journal

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Journal is the journal of one live process, for the host of it: it numbers
// events, commits them with the snapshot, keeps the recent ones for readers and
// goes on in memory while the store fails. One goroutine at a time writes;
// reading and watching are safe from any.
type Journal struct {
	opt      JournalOptions
	ring     Ring
	wakes    Wakes
	seq      uint64
	created  bool
	degraded atomic.Bool
	lost     *lostJournal
}

// JournalOptions are what a Journal needs.
type JournalOptions struct {
	Store           core.Store
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
	Type core.EventType
	At   time.Time
	Data json.RawMessage
}

// JournalWrite is what one commit writes. Snapshot makes the process's record
// as it is with the last of the events.
type JournalWrite struct {
	Entries  []Entry
	Snapshot func(seq uint64, d core.Durability) core.ProcessRecord
	Keys     []core.KeyRecord
}

// lostJournal is what could not be stored, until it can.
type lostJournal struct {
	from, to uint64       // seqs that are in memory only
	stored   uint64       // the last seq that is known to be on disk
	ended    []core.Event // store_recovered and the end behind it: the same at each attempt
	snapshot func(uint64, core.Durability) core.ProcessRecord
	keys     []core.KeyRecord
	wait     time.Duration
	retryAt  time.Time
	try      *Attempt // under way
}

// NewJournal makes the journal of a process that is new.
func NewJournal(opt JournalOptions) *Journal {
	if opt.Timeout <= 0 {
		opt.Timeout = core.DefaultLimits.StoreTimeout
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
func (j *Journal) Write(ctx context.Context, w JournalWrite) (core.ProcessSnapshot, error) {
	if j.lost != nil {
		return j.keep(w), nil
	}
	b, rec := j.batch(w)
	err := CommitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	var conflict *core.ConflictError
	if errors.As(err, &conflict) && conflict.Kind == "key" && len(w.Keys) > 0 {
		if !j.created {
			return core.ProcessSnapshot{}, core.KeyTaken(conflict.ID)
		}
		j.opt.Logger.Warn("another call has the idempotency key", "process", j.opt.Resource, "key", conflict.ID)
		b.Keys, w.Keys = nil, nil
		err = CommitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	}
	if err == nil {
		if j.opt.Outage.Over() {
			j.opt.Logger.Info("the journal of processes is written again")
		}
		j.created, j.seq = true, rec.Process.LastSeq
		j.ring.Add(b.Events)
		return rec.Process, nil
	}
	j.lose(rec.Process.LastSeq)
	j.opt.Logger.Log(ctx, j.opt.Outage.Began(), "the journal of processes could not be written", "process", j.opt.Resource, "stop", j.opt.Stop, "err", err)
	failed := Entry{Type: core.StoreFailure, At: time.Now().UTC(), Data: core.EncodeData(core.StoreFailedData{Message: "the journal could not be written"})}
	w.Entries = append([]Entry{failed}, w.Entries...)
	snap := j.keep(w)
	if j.opt.Stop {
		return snap, core.StoreError(err)
	}
	return snap, nil
}

// lose begins to keep what the store does not take, from the batch on that
// failed. That may be on disk, or come there late: its numbers up to seq are
// not used again.
func (j *Journal) lose(seq uint64) {
	j.lost = &lostJournal{from: j.seq + 1, to: seq, stored: j.seq, wait: StoreRetryFirst, retryAt: time.Now().Add(StoreRetryFirst)}
	j.seq = seq
	j.degraded.Store(true)
	NoteLoss(j.opt.Store, j.opt.Owner, j.opt.Resource, true)
}

// batch numbers the events.
func (j *Journal) batch(w JournalWrite) (core.Batch, core.ProcessRecord) {
	b := core.Batch{Owner: j.opt.Owner, Resource: j.opt.Resource, Instance: j.opt.Store.Instance(), ExpectSeq: j.seq, Create: !j.created, Keys: w.Keys}
	seq := j.seq
	for _, e := range w.Entries {
		seq++
		b.Events = append(b.Events, j.event(e, seq))
	}
	rec := w.Snapshot(seq, j.durability())
	b.Process = &rec
	return b, rec
}

func (j *Journal) event(e Entry, seq uint64) core.Event {
	return core.Event{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: j.opt.Resource, Seq: seq, Type: e.Type, At: e.At.UTC(), Data: e.Data}
}

// keep goes on in memory. Right before the event that ends the process a number
// stays free for store_recovered, so that the end is last in any case.
func (j *Journal) keep(w JournalWrite) core.ProcessSnapshot {
	l := j.lost
	var events []core.Event
	for _, e := range w.Entries {
		j.seq++
		if e.Type.EndsProcess() {
			j.seq++
		}
		events = append(events, j.event(e, j.seq))
	}
	if n := len(events); n > 0 && events[n-1].Type.EndsProcess() {
		l.ended = events[n-1:]
	}
	l.to = j.seq
	l.snapshot = w.Snapshot
	if len(l.keys)+len(w.Keys) <= LostTurns {
		l.keys = append(l.keys, w.Keys...)
	}
	if l.try != nil {
		l.try.Keep(core.Batch{Events: events, Keys: w.Keys})
	}
	j.ring.Add(events)
	return w.Snapshot(j.seq, core.DurabilityDegraded).Process
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
	return j.lost.try.Done
}

// Lost says whether the journal has what is not stored.
func (j *Journal) Lost() bool { return j.lost != nil }

// Retry begins an attempt to make the journal durable again, or takes over what
// the one before has come to. It does not wait for a store that stands still:
// writing goes on beside an attempt, which ends with ctx. What lived in memory
// only is gone for readers after a success, as store_recovered says; the end of
// the process and its snapshot are not. It says whether the journal is durable
// now, and gives the snapshot as it is then.
func (j *Journal) Retry(ctx context.Context) (core.ProcessSnapshot, bool) {
	l := j.lost
	switch {
	case l == nil:
		return core.ProcessSnapshot{}, false
	case l.try == nil:
		j.begin(ctx)
		return core.ProcessSnapshot{}, false
	case !l.try.Over():
		return core.ProcessSnapshot{}, false
	}
	t := l.try
	l.try = nil
	if t.Err == nil {
		return j.recovered(ctx, t)
	}
	j.opt.Logger.Debug("the journal of a process still fails", "process", j.opt.Resource, "err", t.Err)
	j.learn(t)
	l.wait = min(2*l.wait, StoreRetryMost)
	l.retryAt = time.Now().Add(l.wait)
	return core.ProcessSnapshot{}, false
}

// begin starts an attempt. Its numbers are not used again, whatever becomes of
// it; but the end of a process is the same event each time.
func (j *Journal) begin(ctx context.Context) {
	l := j.lost
	var events []core.Event
	switch {
	case len(l.ended) == 0:
		j.seq++
		l.to = j.seq
		events = []core.Event{j.recovery(l.from, j.seq)}
	case len(l.ended) == 1:
		l.ended = append([]core.Event{j.recovery(l.from, l.ended[0].Seq-1)}, l.ended...)
		fallthrough
	default:
		events = slices.Clone(l.ended)
	}
	rec := l.snapshot(events[len(events)-1].Seq, j.working())
	b := core.Batch{Owner: j.opt.Owner, Resource: j.opt.Resource, Instance: j.opt.Store.Instance(), Create: !j.created,
		Events: events, Process: &rec, Keys: slices.Clone(l.keys)}
	l.try = &Attempt{Rescue: Rescue{Store: j.opt.Store, Within: j.opt.Timeout, Kind: core.KindProcess, Batch: b, Stored: l.stored,
		Commit: func(b core.Batch) error { return CommitChecked(ctx, j.opt.Store, j.opt.Timeout, b) }}}
	l.try.Begin(ctx, func(f func()) { go f() })
}

func (j *Journal) recovery(from, seq uint64) core.Event {
	return j.event(Entry{Type: core.StoreRecovered, At: time.Now(), Data: core.EncodeData(core.StoreRecoveredData{LostFrom: from, LostTo: seq - 1})}, seq)
}

// learn takes over what an attempt has found on disk.
func (j *Journal) learn(t *Attempt) {
	j.lost.stored, j.created = t.Stored, !t.Batch.Create
	j.lost.keys = Without(j.lost.keys, t.Keys)
}

// recovered is the end of an attempt that succeeded. What came meanwhile is
// written right behind it; if that fails, it is what is lost now.
func (j *Journal) recovered(ctx context.Context, t *Attempt) (core.ProcessSnapshot, bool) {
	l := j.lost
	j.created = true
	b := t.Next()
	var err error
	if len(b.Events)+len(b.Keys) > 0 {
		rec := l.snapshot(j.seq, j.working())
		b.Process = &rec
		err = CommitChecked(ctx, j.opt.Store, j.opt.Timeout, b)
	}
	if t.Full || err != nil {
		l.from, l.stored, l.to = t.Last()+1, t.Last(), j.seq
		l.keys = Without(l.keys, slices.Concat(t.Batch.Keys, t.Keys))
		l.retryAt = time.Now()
		if err != nil {
			l.wait = min(2*l.wait, StoreRetryMost)
			l.retryAt = l.retryAt.Add(l.wait)
		}
		return core.ProcessSnapshot{}, false
	}
	j.opt.Logger.Info("the journal of a process works again", "process", j.opt.Resource, "lost_from", l.from, "lost_to", t.Last()-1)
	kept := slices.Concat(t.Batch.Events, b.Events)
	snap := l.snapshot(j.settle(t, kept), j.working()).Process
	NoteLoss(j.opt.Store, j.opt.Owner, j.opt.Resource, false)
	j.lost = nil
	j.degraded.Store(false)
	return snap, true
}

// settle shows readers what is stored, and gives the seq of the last event.
func (j *Journal) settle(t *Attempt, kept []core.Event) uint64 {
	if len(kept) == 0 { // all of it had come through
		j.seq = t.Stored
		j.ring.Reset(j.seq)
		return j.seq
	}
	j.seq = kept[len(kept)-1].Seq
	j.ring.Reset(kept[0].Seq - 1)
	j.ring.Add(kept)
	return j.seq
}

// Without gives the keys that are not among others.
func Without(keys, others []core.KeyRecord) []core.KeyRecord {
	return slices.DeleteFunc(keys, func(k core.KeyRecord) bool {
		return slices.ContainsFunc(others, func(o core.KeyRecord) bool { return o.Key == k.Key && o.Tool == k.Tool })
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

func (j *Journal) durability() core.Durability {
	if j.degraded.Load() {
		return core.DurabilityDegraded
	}
	return j.working()
}

func (j *Journal) working() core.Durability { return core.DurabilityOf(j.opt.Store) }

// Events reads the journal, from memory as far as that has it.
func (j *Journal) Events(ctx context.Context, q core.EventQuery) ([]core.Event, error) {
	q.Owner = j.opt.Owner
	return ReadJournal(ctx, j.opt.Store, &j.ring, j.degraded.Load(), q)
}

// Watch wakes ch, which needs room for one, after each Wake.
func (j *Journal) Watch(ch chan<- struct{}) (stop func()) { return j.wakes.Watch(ch) }

// Wake tells watchers that there is news.
func (j *Journal) Wake() { j.wakes.Wake() }
