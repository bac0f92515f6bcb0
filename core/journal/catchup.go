package journal

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Catchup is the writer of one resource, a session or a process, while its
// store fails. It keeps what the store missed: the newest rows, the events
// without which the journal would be untrue, and the range of those that are
// only in memory. It tries to write that in one batch, first after
// StoreRetryFirst, then ever later up to storeRetryMost.
//
// The host of the resource calls all methods from one goroutine. An attempt runs
// beside it, so no command waits for a store that stands still. A commit that
// failed may still reach the disk: its numbers are never used again, and an
// attempt reads what is on disk when the store reports a conflict.
type Catchup struct {
	CatchupTarget

	Create, Replace bool   // the next batch on disk makes the resource, in place of an older one
	stored          uint64 // the last seq that is known to be on disk
	From, To        uint64 // seqs that are in memory only
	Turns           map[string]core.TurnRecord
	requests        map[string]core.Request
	messages        map[string]core.Event // the last whole message of each turn, by turn
	ends            []core.Event          // in order of seq
	Keys            []core.KeyRecord
	finished        bool // the end of the process is on disk: nothing may follow it

	// Rewrite makes the batch of the next attempt anew from what is on disk, when
	// that turns out to be more than was known; nil does not.
	Rewrite func(context.Context) (core.Batch, error)

	wait    time.Duration
	RetryAt time.Time
	Attempt *Attempt // under way
}

// CatchupTarget is the resource of a catchup and the way to write it.
type CatchupTarget struct {
	Store           core.Store
	Kind            core.ResourceKind
	Owner, Resource string
	Ring            *Ring
	Log             *slog.Logger
	// Commit commits a batch within a bound of time and looks whether one that
	// failed is on disk.
	Commit func(ctx context.Context, within time.Duration, b core.Batch) error
	Within time.Duration // bounds each step of an attempt
}

// NewCatchup begins to keep what the store does not take, after stored and up to
// the number failed, which the commit that failed has used.
func NewCatchup(t CatchupTarget, stored, failed uint64) *Catchup {
	noteLoss(t.Store, t.Owner, t.Resource, true)
	return &Catchup{CatchupTarget: t, stored: stored, From: stored + 1, To: failed,
		Turns: map[string]core.TurnRecord{}, requests: map[string]core.Request{}, messages: map[string]core.Event{},
		wait: StoreRetryFirst, RetryAt: time.Now().Add(StoreRetryFirst)}
}

// Keep records what a batch would have stored, up to lostTurns of each kind.
func (c *Catchup) Keep(b core.Batch) {
	for _, t := range b.Turns {
		keepRow(c.Turns, t.Turn.ID, t)
	}
	for _, r := range b.Requests {
		keepRow(c.requests, r.ID, r)
	}
	for _, e := range b.Events {
		c.To = max(c.To, e.Seq)
		c.keepEvent(e)
	}
	c.Keys = append(c.Keys, b.Keys[:min(len(b.Keys), max(0, lostTurns-len(c.Keys)))]...)
	if c.Attempt != nil {
		c.Attempt.keep(b)
	}
}

// keepRow keeps the newest row of an id, of at most lostTurns ids.
func keepRow[T any](rows map[string]T, id string, row T) {
	if _, ok := rows[id]; ok || len(rows) < lostTurns {
		rows[id] = row
	}
}

// keepEvent keeps an end, and before it the message that holds the turn's
// answer when that is too long for the turn's own row.
func (c *Catchup) keepEvent(e core.Event) {
	if e.Type == core.TypeMessage {
		keepRow(c.messages, e.TurnID, e)
	}
	if !e.Type.Essential() && !e.Type.EndsProcess() || len(c.ends) >= lostTurns {
		return
	}
	if e.Type.EndsTurn() {
		if m, ok := c.messages[e.TurnID]; ok && c.Turns[e.TurnID].Turn.TextSeq == m.Seq {
			c.ends = append(c.ends, m)
		}
		delete(c.messages, e.TurnID)
	}
	c.ends = append(c.ends, e)
	sortBySeq(c.ends)
}

func sortBySeq(events []core.Event) {
	slices.SortFunc(events, func(x, y core.Event) int { return cmp.Compare(x.Seq, y.Seq) })
}

// Due returns when the next attempt is to begin, the zero time while one is
// under way.
func (c *Catchup) Due() time.Time {
	if c == nil || c.Attempt != nil {
		return time.Time{}
	}
	return c.RetryAt
}

// Trying returns a channel that is closed when the attempt under way has ended,
// nil without one.
func (c *Catchup) Trying() <-chan struct{} {
	if c == nil || c.Attempt == nil {
		return nil
	}
	return c.Attempt.done
}

// Begin starts an attempt; there is none under way. recovered holds the
// store_recovered of the attempt unless ends has it, row sets the snapshot as it
// is with the event seq. The goroutine is started by run, whose owner waits for
// it; ctx ends it.
func (c *Catchup) Begin(ctx context.Context, recovered []core.Event, row func(b *core.Batch, seq uint64), run func(func())) {
	b := core.Batch{Owner: c.Owner, Resource: c.Resource, Instance: c.Store.Instance(), Create: c.Create, Replace: c.Replace,
		Turns: slices.Collect(maps.Values(c.Turns)), Requests: slices.Collect(maps.Values(c.requests)), Keys: slices.Clone(c.Keys)}
	if !c.finished {
		b.Events = slices.Concat(c.ends, recovered)
		sortBySeq(b.Events)
		last := b.Events[len(b.Events)-1].Seq
		c.To = max(c.To, last)
		row(&b, last)
	}
	t := &Attempt{CatchupTarget: c.CatchupTarget, batch: b, stored: c.stored, rewrite: c.Rewrite, done: make(chan struct{})}
	c.Attempt = t
	run(func() {
		defer close(t.done)
		t.err = t.run(ctx)
	})
}

// caughtUp is what an attempt has made true.
type caughtUp struct {
	Durable bool             // all is on disk, up to seq
	Seq     uint64           // of the last event
	Row     *core.Batch      // the last batch with a snapshot
	Keys    []core.KeyRecord // that are on disk by now
}

// Settle applies an attempt that has ended. What the host wrote while it ran
// is committed right after it, within a bound of time; if that fails, it is what
// is missing now. On success the ring has what follows the gap.
func (c *Catchup) Settle(ctx context.Context, within time.Duration, row func(b *core.Batch, seq uint64)) caughtUp {
	t := c.Attempt
	c.Attempt = nil
	c.learn(t)
	if t.err != nil {
		c.Log.Debug("the journal still fails", "err", t.err)
		c.backOff()
		return caughtUp{Keys: t.keys}
	}
	c.Create, c.Replace = false, false // the resource is on disk now
	out := caughtUp{Seq: t.last(), Row: &t.batch, Keys: slices.Concat(t.batch.Keys, t.keys)}
	var err error
	b := t.next()
	if len(t.since) > 0 {
		if n := len(b.Events); n > 0 {
			out.Seq = b.Events[n-1].Seq
		}
		row(&b, out.Seq)
		err = c.Commit(ctx, within, b)
	}
	if t.full || err != nil {
		c.loseAgain(t, err)
		return caughtUp{Keys: out.Keys}
	}
	if len(t.since) > 0 {
		out.Row = &b
	}
	c.Log.Info("the journal works again", "lost_from", c.From, "lost_to", c.To)
	noteLoss(c.Store, c.Owner, c.Resource, false)
	// What was only in memory is gone for readers now, as store_recovered says.
	shown := slices.Concat(t.batch.Events[max(0, len(t.batch.Events)-1):], b.Events)
	c.Ring.Reset(t.last() - uint64(min(1, len(t.batch.Events))))
	c.Ring.Add(shown)
	out.Durable, out.Keys = true, append(out.Keys, c.Keys...)
	return out
}

// learn records what an attempt found on disk.
func (c *Catchup) learn(t *Attempt) {
	c.stored, c.Create, c.Replace = t.stored, t.batch.Create, t.batch.Replace
	c.Keys = without(c.Keys, t.keys)
	for _, e := range t.found {
		if i := slices.IndexFunc(c.ends, func(o core.Event) bool { return sameEnd(o, e) }); i >= 0 {
			c.ends = slices.Delete(c.ends, i, i+1)
		}
		if e.Type.EndsTurn() {
			delete(c.Turns, e.TurnID)
		}
		c.finished = c.finished || e.Type.EndsProcess()
	}
}

// loseAgain goes on without the store after an attempt that succeeded, because
// of err or because the host wrote more than sinceBytes while it ran.
func (c *Catchup) loseAgain(t *Attempt, err error) {
	c.stored, c.From = t.last(), t.last()+1
	c.Keys = without(c.Keys, t.batch.Keys)
	c.finished = c.finished || slices.ContainsFunc(t.batch.Events, func(e core.Event) bool { return e.Type.EndsProcess() })
	c.ends = slices.DeleteFunc(c.ends, func(e core.Event) bool { return e.Seq <= c.stored })
	c.RetryAt = time.Now()
	if err != nil {
		c.backOff()
	}
}

// backOff doubles the time until the next attempt.
func (c *Catchup) backOff() {
	c.wait = min(2*c.wait, storeRetryMost)
	c.RetryAt = time.Now().Add(c.wait)
}

// without returns the keys that are not among others.
func without(keys, others []core.KeyRecord) []core.KeyRecord {
	return slices.DeleteFunc(keys, func(k core.KeyRecord) bool {
		return slices.ContainsFunc(others, func(o core.KeyRecord) bool { return o.Key == k.Key && o.Tool == k.Tool })
	})
}
