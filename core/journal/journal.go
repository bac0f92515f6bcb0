package journal

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Journal is the journal of one live process, for the host of it: it numbers
// events, commits them with the snapshot, keeps the recent ones for readers and
// goes on in memory while the store fails. One goroutine at a time writes;
// reading and watching are safe from any.
type Journal struct {
	opt      Options
	ring     Ring
	wakes    Wakes
	seq      uint64
	created  bool
	degraded atomic.Bool
	snapshot func(uint64, core.Durability) core.ProcessRecord // of the last write
	catchup  *Catchup                                         // not nil while the store fails
}

// Options are what a Journal needs.
type Options struct {
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

// Write is what one commit writes. Snapshot makes the process's record
// as it is with the last of the events.
type Write struct {
	Entries  []Entry
	Snapshot func(seq uint64, d core.Durability) core.ProcessRecord
	Keys     []core.KeyRecord
}

// New returns the journal of a new process.
func New(opt Options) *Journal {
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

// Write commits events and the snapshot, and returns the snapshot as it is then.
// When the store fails, store_failed comes first and the events after it are in
// memory only. That is no error, but the first time with Options.Stop. A
// later commit whose key another call has goes without the key. When ctx ends it
// waits for the store no more. Call Wake when readers may see the events.
//
// Errors: CodeIdempotency when another call has the key of the first commit,
// which changes nothing then; CodeStoreFailed with Stop.
func (j *Journal) Write(ctx context.Context, w Write) (core.ProcessSnapshot, error) {
	j.snapshot = w.Snapshot
	if j.catchup != nil {
		return j.keep(w), nil
	}
	b, rec := j.batch(w)
	err := j.commit(ctx, j.opt.Timeout, b)
	var conflict *core.ConflictError
	if errors.As(err, &conflict) && conflict.Kind == "key" && len(w.Keys) > 0 {
		if !j.created {
			return core.ProcessSnapshot{}, core.KeyTaken(conflict.ID)
		}
		j.opt.Logger.Warn("another call has the idempotency key", "process", j.opt.Resource, "key", conflict.ID)
		b.Keys, w.Keys = nil, nil
		err = j.commit(ctx, j.opt.Timeout, b)
	}
	if err == nil {
		j.created, j.seq = true, rec.Process.LastSeq
		j.ring.Add(b.Events)
		return rec.Process, nil
	}
	j.degrade(rec.Process.LastSeq)
	j.opt.Logger.Log(ctx, j.opt.Outage.Began(), "the journal of processes could not be written", "process", j.opt.Resource, "stop", j.opt.Stop, "err", err)
	failed := Entry{Type: core.StoreFailure, At: time.Now().UTC(), Data: core.EncodeData(core.StoreFailedData{Message: "the journal could not be written"})}
	w.Entries = append([]Entry{failed}, w.Entries...)
	snap := j.keep(w)
	if j.opt.Stop {
		return snap, core.StoreError(err)
	}
	return snap, nil
}

// commit commits within a bound of time and logs the end of an outage.
func (j *Journal) commit(ctx context.Context, within time.Duration, b core.Batch) error {
	err := CommitChecked(ctx, j.opt.Store, within, b)
	if err == nil && j.opt.Outage.Over() {
		j.opt.Logger.Info("the journal of processes is written again")
	}
	return err
}

// degrade begins to keep what the store does not take, from the batch that
// failed on, which has used the numbers up to seq.
func (j *Journal) degrade(seq uint64) {
	j.catchup = NewCatchup(CatchupTarget{Store: j.opt.Store, Kind: core.KindProcess, Owner: j.opt.Owner, Resource: j.opt.Resource, Ring: &j.ring,
		Log: j.opt.Logger.With("process", j.opt.Resource), Within: j.opt.Timeout, Commit: j.commit}, j.seq, seq)
	j.catchup.Create = !j.created
	j.seq = seq
	j.degraded.Store(true)
}

// batch numbers the events of a write and makes the batch of it.
func (j *Journal) batch(w Write) (core.Batch, core.ProcessRecord) {
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

// keep goes on in memory. The number before the event that ends the process is
// left free for store_recovered, so that the end is always last.
func (j *Journal) keep(w Write) core.ProcessSnapshot {
	b := core.Batch{Keys: w.Keys}
	for _, e := range w.Entries {
		j.seq++
		if e.Type.EndsProcess() {
			j.seq++
		}
		b.Events = append(b.Events, j.event(e, j.seq))
	}
	j.catchup.Keep(b)
	j.ring.Add(b.Events)
	return w.Snapshot(j.seq, core.DurabilityDegraded).Process
}

// RetryAt returns when Retry is due; the zero time while the store works, or
// while an attempt is under way.
func (j *Journal) RetryAt() time.Time { return j.catchup.Due() }

// Trying returns a channel that is closed when the attempt under way has ended,
// nil without one. Retry takes it over then.
func (j *Journal) Trying() <-chan struct{} { return j.catchup.Trying() }

// Lost reports whether the journal has what is not stored.
func (j *Journal) Lost() bool { return j.catchup != nil }

// Retry begins an attempt to make the journal durable again, or takes over what
// the one before has made true. It does not wait for a store that stands still:
// writing goes on beside an attempt, which ends with ctx. What was in memory
// only is gone for readers after a success, as store_recovered says; the end of
// the process and its snapshot are not. It reports whether the journal is
// durable now, and returns the snapshot as it is then.
func (j *Journal) Retry(ctx context.Context) (core.ProcessSnapshot, bool) {
	c := j.catchup
	switch {
	case c == nil:
		return core.ProcessSnapshot{}, false
	case c.Attempt == nil:
		j.beginAttempt(ctx)
		return core.ProcessSnapshot{}, false
	}
	select {
	case <-c.Trying():
	default:
		return core.ProcessSnapshot{}, false
	}
	done := c.Settle(ctx, j.opt.Timeout, j.setRow)
	j.created = !c.Create
	if !done.Durable {
		return core.ProcessSnapshot{}, false
	}
	j.catchup, j.seq = nil, done.Seq
	j.degraded.Store(false)
	return j.snapshot(j.seq, j.working()).Process, true
}

// beginAttempt starts an attempt. Its numbers are not used again, whatever
// becomes of it; but the end of a process, with store_recovered before it, is
// the same events at each attempt: the end is the last event of a process.
func (j *Journal) beginAttempt(ctx context.Context) {
	c := j.catchup
	var recovered []core.Event
	switch n := len(c.ends); {
	case c.finished || n > 1:
	case n == 1:
		c.ends = append([]core.Event{j.recovery(c.From, c.ends[0].Seq-1)}, c.ends...)
	default:
		j.seq++
		recovered = []core.Event{j.recovery(c.From, j.seq)}
	}
	c.Begin(ctx, recovered, j.setRow, func(f func()) { go f() })
}

// setRow sets the row as it is with the event seq.
func (j *Journal) setRow(b *core.Batch, seq uint64) {
	rec := j.snapshot(seq, j.working())
	b.Process = &rec
}

// recovery returns store_recovered with the number seq: all from the first lost
// event up to it is lost.
func (j *Journal) recovery(from, seq uint64) core.Event {
	return j.event(Entry{Type: core.StoreRecovered, At: time.Now(), Data: core.EncodeData(core.StoreRecoveredData{LostFrom: from, LostTo: seq - 1})}, seq)
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

// Events reads the journal. It may be called from any goroutine.
func (j *Journal) Events(ctx context.Context, q core.EventQuery) ([]core.Event, error) {
	q.Owner = j.opt.Owner
	return ReadJournal(ctx, j.opt.Store, &j.ring, j.degraded.Load(), q)
}

// Watch wakes ch, which needs room for one, after each Wake.
func (j *Journal) Watch(ch chan<- struct{}) (stop func()) { return j.wakes.Watch(ch) }

// Wake wakes the watchers.
func (j *Journal) Wake() { j.wakes.Wake() }
