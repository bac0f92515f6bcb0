package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// A store that fails may have written all the same, at once or later, when a
// disk that stood still moves again. What holds for sessions and processes
// alike is here: a failed commit is looked for by the id of its last event, its
// numbers are never used again, and a rescue writes what was missed behind
// whatever turns out to be on disk.

// CommitChecked commits within a bound of time. A commit that failed may have
// happened: the batch's last event on disk says so. Another event under its
// number, of another server or of an older aggregate, does not. When ctx ends,
// nothing more is waited for.
func CommitChecked(ctx context.Context, store core.Store, within time.Duration, b core.Batch) error {
	cctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := store.Commit(cctx, b)
	if err == nil || len(b.Events) == 0 {
		return err
	}
	var conflict *core.ConflictError
	if errors.As(err, &conflict) {
		return err
	}
	cctx, cancel = context.WithTimeout(ctx, within)
	defer cancel()
	if holds(cctx, store, b.Owner, b.Events[len(b.Events)-1]) {
		return nil
	}
	return err
}

// holds says whether the event is on disk.
func holds(ctx context.Context, store core.Store, owner string, e core.Event) bool {
	got, err := store.Events(ctx, core.EventQuery{Owner: owner, Resource: e.Resource, After: e.Seq - 1, Until: e.Seq, Limit: 1})
	return err == nil && len(got) == 1 && got[0].ID == e.ID
}

// Rescue is one attempt to write what a store that failed has missed. It owns
// all that it holds, so it may run beside the host of the resource.
type Rescue struct {
	Store  core.Store
	Commit func(core.Batch) error // checked, and bounded
	Within time.Duration          // bounds each read

	// batch is what was missed: the newest snapshots, the ends in order, and
	// store_recovered.
	Batch  core.Batch
	Kind   core.ResourceKind
	Stored uint64 // the last seq that is known to be on disk

	// rewrite makes the batch anew from what is on disk, when that turned out
	// to be more than was known. May be nil.
	Rewrite func(ctx context.Context) (core.Batch, error)

	// What it found out, which counts whether or not it succeeded.
	Found []core.Event     // on disk beyond what was known
	Keys  []core.KeyRecord // stored already
}

// rescueRounds is how many conflicts, beside those of keys, one attempt takes.
const rescueRounds = 3

// run writes the batch behind what turns out to be on disk. Each conflict tells
// of something that came through after all: a batch, or a key.
func (r *Rescue) run(ctx context.Context) error {
	for range len(r.Batch.Keys) + rescueRounds {
		if r.nothing() {
			return nil
		}
		r.Batch.ExpectSeq = r.Stored
		err := r.Commit(r.Batch)
		var c *core.ConflictError
		switch {
		case !errors.As(err, &c):
			return err
		case c.Kind == "key": // by the batch that failed, or by another server's call
			i := slices.IndexFunc(r.Batch.Keys, func(k core.KeyRecord) bool { return k.Key == c.ID })
			if i < 0 {
				return err
			}
			r.Keys = append(r.Keys, r.Batch.Keys[i])
			r.Batch.Keys = slices.Delete(r.Batch.Keys, i, i+1)
		default:
			if err := r.catchUp(ctx, c); err != nil {
				return err
			}
		}
	}
	return errors.New("the store answers with ever new conflicts")
}

func (r *Rescue) nothing() bool {
	b := r.Batch
	return len(b.Events)+len(b.Turns)+len(b.Requests)+len(b.Keys) == 0 && b.Session == nil && b.Process == nil
}

// Last is the seq behind which the host goes on after a success.
func (r *Rescue) Last() uint64 {
	if n := len(r.Batch.Events); n > 0 {
		return r.Batch.Events[n-1].Seq
	}
	return r.Stored
}

// catchUp takes over what the disk has of the resource beyond what was known.
func (r *Rescue) catchUp(ctx context.Context, c *core.ConflictError) error {
	ctx, cancel := context.WithTimeout(ctx, r.Within)
	defer cancel()
	last, mine, err := r.onDisk(ctx)
	switch {
	case err != nil:
		return err
	case last == 0 && r.Stored > 0: // it was deleted meanwhile, as an ended one may be
		r.Stored, r.Batch.Create, r.Batch.Replace = 0, true, false
		return nil
	case !mine || last <= r.Stored:
		return c
	}
	found, err := r.Store.Events(ctx, core.EventQuery{Owner: r.Batch.Owner, Resource: r.Batch.Resource, After: r.Stored, Limit: core.MaxPage})
	if err != nil {
		return err
	}
	r.Found = append(r.Found, found...)
	r.Stored, r.Batch.Create, r.Batch.Replace = last, false, false
	if r.Rewrite != nil {
		keys := r.Batch.Keys
		if r.Batch, err = r.Rewrite(ctx); err != nil {
			return err
		}
		r.Batch.Keys = keys
		return nil
	}
	for _, e := range found {
		r.forget(e)
	}
	r.lostBehind(last)
	return nil
}

// lostBehind has store_recovered say no more than what is not on disk.
func (r *Rescue) lostBehind(last uint64) {
	for i, e := range r.Batch.Events {
		var d core.StoreRecoveredData
		if e.Type != core.StoreRecovered || json.Unmarshal(e.Data, &d) != nil || d.LostFrom > last || last >= d.LostTo {
			continue
		}
		d.LostFrom = last + 1
		r.Batch.Events[i].Data = core.EncodeData(d)
	}
}

// onDisk gives the last stored seq, and whether the stored resource is of this
// instance, or of none while it is opened.
func (r *Rescue) onDisk(ctx context.Context) (last uint64, mine bool, err error) {
	b := r.Batch
	if last, err = r.Store.LastSeq(ctx, b.Owner, b.Resource); err != nil {
		return 0, false, err
	}
	var instance string
	if r.Kind == core.KindProcess {
		var rec core.ProcessRecord
		rec, err = r.Store.Process(ctx, b.Owner, b.Resource)
		instance = rec.Instance
	} else {
		var rec core.SessionRecord
		rec, err = r.Store.Session(ctx, b.Owner, b.Resource)
		instance = core.InstanceOf(rec.Instance)
	}
	if core.CodeOf(err) == core.CodeNotFound {
		return last, false, nil
	}
	return last, err == nil && instance == r.Store.Instance(), err
}

// forget drops from the batch what an event on disk has said already, so that
// it is said once. The word on disk stands, with the row that came with it.
func (r *Rescue) forget(found core.Event) {
	i := slices.IndexFunc(r.Batch.Events, func(e core.Event) bool { return SameEnd(e, found) })
	if i >= 0 {
		if found.Type.EndsSession() && r.Batch.Events[i].Type != found.Type {
			r.Batch.Session = nil
		}
		r.Batch.Events = slices.Delete(r.Batch.Events, i, i+1)
	}
	if found.Type.EndsTurn() {
		r.Batch.Turns = slices.DeleteFunc(r.Batch.Turns, func(t core.TurnRecord) bool { return t.Turn.ID == found.TurnID })
	}
	if found.Type.EndsProcess() { // it is the last event, whatever was lost
		r.Batch.Events, r.Batch.Process = nil, nil
	}
}

// SameEnd says that two events are one, or end the same thing.
func SameEnd(x, y core.Event) bool {
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

// Attempt is a rescue that runs beside its host, and what the host did
// meanwhile. Only the host touches since, bytes and full.
type Attempt struct {
	Rescue
	Done chan struct{} // closed when err says what became of it
	Err  error

	Since []core.Batch // to be written right behind it
	bytes int
	Full  bool // too much came: what is in since is lost too
}

// Begin runs the rescue until it is done or ctx ends. The caller owns the
// goroutine: run starts it and waits for it in the end.
func (t *Attempt) Begin(ctx context.Context, run func(func())) {
	t.Done = make(chan struct{})
	run(func() {
		defer close(t.Done)
		t.Err = t.run(ctx)
	})
}

// Over says whether it has come to something.
func (t *Attempt) Over() bool {
	select {
	case <-t.Done:
		return true
	default:
		return false
	}
}

// Keep remembers what the host would commit now, up to a bound.
func (t *Attempt) Keep(b core.Batch) {
	for _, e := range b.Events {
		t.bytes += ringSize(e)
	}
	if t.Full = t.Full || t.bytes > sinceBytes; t.Full {
		t.Since = nil
		return
	}
	t.Since = append(t.Since, b)
}

// Next is the batch of what came meanwhile, to be written behind the attempt.
func (t *Attempt) Next() core.Batch {
	b := core.Batch{Owner: t.Batch.Owner, Resource: t.Batch.Resource, Instance: t.Batch.Instance, ExpectSeq: t.Last()}
	for _, s := range t.Since {
		b.Events = append(b.Events, s.Events...)
		b.Turns = mergeRows(b.Turns, s.Turns, func(r core.TurnRecord) string { return r.Turn.ID })
		b.Requests = mergeRows(b.Requests, s.Requests, func(r core.Request) string { return r.ID })
		b.Keys = append(b.Keys, s.Keys...)
		b.Session, b.Process = cmp.Or(s.Session, b.Session), cmp.Or(s.Process, b.Process)
	}
	return b
}

// mergeRows puts newer rows in the place of older ones.
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
