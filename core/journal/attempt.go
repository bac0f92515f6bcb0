package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Attempt is one attempt to write what a store that failed has missed. It has no
// effect on its host before the host takes it over: see catchup.settle. Until
// done is closed its goroutine owns all fields but since, bytes and full, which
// are the host's.
type Attempt struct {
	CatchupTarget

	// batch is what was missed: the newest rows, the ends in order, and
	// store_recovered.
	batch  core.Batch
	stored uint64 // the last seq that is known to be on disk

	// rewrite makes the batch anew from what is on disk, when that turned out
	// to be more than was known. May be nil.
	rewrite func(ctx context.Context) (core.Batch, error)

	// What it found, which counts whether or not it succeeded.
	found []core.Event     // on disk beyond what was known
	keys  []core.KeyRecord // stored already
	err   error
	done  chan struct{}

	since []core.Batch // what the host did meanwhile, to be written right behind it
	bytes int
	full  bool // since would be too much: it is missing too
}

// attemptRounds is how many conflicts, beside those of keys, one attempt resolves.
const attemptRounds = 3

// run writes the batch after what is on disk. Each conflict means that something
// is on disk after all: a batch that failed, or a key. It takes that out of the
// batch and tries again, a bounded number of times. It gives up when the resource
// belongs to another server.
func (t *Attempt) run(ctx context.Context) error {
	for range len(t.batch.Keys) + attemptRounds {
		if t.nothing() {
			return nil
		}
		t.batch.ExpectSeq = t.stored
		err := t.Commit(ctx, t.Within, t.batch)
		var c *core.ConflictError
		switch {
		case !errors.As(err, &c):
			return err
		case c.Kind == "key": // of the batch that failed, or of another server's call
			i := slices.IndexFunc(t.batch.Keys, func(k core.KeyRecord) bool { return k.Key == c.ID })
			if i < 0 {
				return err
			}
			t.keys = append(t.keys, t.batch.Keys[i])
			t.batch.Keys = slices.Delete(t.batch.Keys, i, i+1)
		default:
			if err := t.readDisk(ctx, c); err != nil {
				return err
			}
		}
	}
	return errors.New("the store answers with ever new conflicts")
}

// nothing reports whether all of the batch was on disk.
func (t *Attempt) nothing() bool {
	b := t.batch
	return len(b.Events)+len(b.Turns)+len(b.Requests)+len(b.Keys) == 0 && b.Session == nil && b.Process == nil
}

// last returns the seq after which the host goes on after a success.
func (t *Attempt) last() uint64 {
	if n := len(t.batch.Events); n > 0 {
		return t.batch.Events[n-1].Seq
	}
	return t.stored
}

// readDisk reads what the disk has of the resource beyond what was known, and
// takes it out of the batch.
func (t *Attempt) readDisk(ctx context.Context, c *core.ConflictError) error {
	ctx, cancel := context.WithTimeout(ctx, t.Within)
	defer cancel()
	last, mine, err := t.onDisk(ctx)
	switch {
	case err != nil:
		return err
	case last == 0 && t.stored > 0: // it was deleted meanwhile, as an ended one may be
		t.stored, t.batch.Create, t.batch.Replace = 0, true, false
		return nil
	case !mine || last <= t.stored:
		return c
	}
	found, err := t.Store.Events(ctx, core.EventQuery{Owner: t.batch.Owner, Resource: t.batch.Resource, After: t.stored, Limit: core.MaxPage})
	if err != nil {
		return err
	}
	t.found = append(t.found, found...)
	t.stored, t.batch.Create, t.batch.Replace = last, false, false
	if t.rewrite != nil { // what to write depends on what is on disk
		keys := t.batch.Keys
		if t.batch, err = t.rewrite(ctx); err != nil {
			return err
		}
		t.batch.Keys = keys
		return nil
	}
	for _, e := range found {
		t.dropStored(e)
	}
	t.trimLost(last)
	return nil
}

// trimLost removes from the range of store_recovered what is on disk.
func (t *Attempt) trimLost(last uint64) {
	for i, e := range t.batch.Events {
		var d core.StoreRecoveredData
		if e.Type != core.StoreRecovered || json.Unmarshal(e.Data, &d) != nil || d.LostFrom > last || last >= d.LostTo {
			continue
		}
		d.LostFrom = last + 1
		t.batch.Events[i].Data = core.EncodeData(d)
	}
}

// onDisk returns the last stored seq, and whether this instance owns the stored
// resource or has reserved it.
func (t *Attempt) onDisk(ctx context.Context) (last uint64, mine bool, err error) {
	b := t.batch
	if last, err = t.Store.LastSeq(ctx, b.Owner, b.Resource); err != nil {
		return 0, false, err
	}
	var instance string
	if t.Kind == core.KindProcess {
		var rec core.ProcessRecord
		rec, err = t.Store.Process(ctx, b.Owner, b.Resource)
		instance = rec.Instance
	} else {
		var rec core.SessionRecord
		rec, err = t.Store.Session(ctx, b.Owner, b.Resource)
		instance = core.InstanceOf(rec.Instance)
	}
	if core.CodeOf(err) == core.CodeNotFound {
		return last, false, nil
	}
	return last, err == nil && instance == t.Store.Instance(), err
}

// dropStored removes from the batch what an event on disk has ended already: each
// end is stored once, and the one on disk counts, with the row of its batch.
func (t *Attempt) dropStored(found core.Event) {
	i := slices.IndexFunc(t.batch.Events, func(e core.Event) bool { return sameEnd(e, found) })
	if i >= 0 {
		if found.Type.EndsSession() && t.batch.Events[i].Type != found.Type {
			t.batch.Session = nil // the row on disk is of another end
		}
		t.batch.Events = slices.Delete(t.batch.Events, i, i+1)
	}
	if found.Type.EndsTurn() {
		t.batch.Turns = slices.DeleteFunc(t.batch.Turns, func(r core.TurnRecord) bool { return r.Turn.ID == found.TurnID })
	}
	if found.Type.EndsProcess() { // it is the last event, whatever was lost
		t.batch.Events, t.batch.Process = nil, nil
	}
}

// sameEnd reports whether two events are one, or end the same thing.
func sameEnd(x, y core.Event) bool {
	switch {
	case x.ID == y.ID:
		return true
	case x.Type.EndsTurn() && y.Type.EndsTurn():
		return x.TurnID == y.TurnID
	case x.Type.EndsSession() && y.Type.EndsSession(), x.Type.EndsProcess() && y.Type.EndsProcess():
		return true
	}
	return x.Type == y.Type && x.Type.Essential()
}

// keep keeps what the host would commit now, up to sinceBytes.
func (t *Attempt) keep(b core.Batch) {
	for _, e := range b.Events {
		t.bytes += ringSize(e)
	}
	if t.full = t.full || t.bytes > sinceBytes; t.full {
		t.since = nil
		return
	}
	t.since = append(t.since, b)
}

// next returns the batch of what the host wrote meanwhile. It continues the
// numbers of the attempt's batch, so it is refused if that is not on disk.
func (t *Attempt) next() core.Batch {
	b := core.Batch{Owner: t.batch.Owner, Resource: t.batch.Resource, Instance: t.batch.Instance, ExpectSeq: t.last()}
	for _, s := range t.since {
		b.Events = append(b.Events, s.Events...)
		b.Turns = mergeRows(b.Turns, s.Turns, func(r core.TurnRecord) string { return r.Turn.ID })
		b.Requests = mergeRows(b.Requests, s.Requests, func(r core.Request) string { return r.ID })
		b.Keys = append(b.Keys, s.Keys...)
		b.Session, b.Process = cmp.Or(s.Session, b.Session), cmp.Or(s.Process, b.Process)
	}
	return b
}

// mergeRows returns rows with newer ones in the place of older ones.
func mergeRows[T any](rows, newer []T, id func(T) string) []T {
	for _, n := range newer {
		if i := slices.IndexFunc(rows, func(r T) bool { return id(r) == id(n) }); i >= 0 {
			rows[i] = n
			continue
		}
		rows = append(rows, n)
	}
	return rows
}
