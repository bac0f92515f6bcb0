package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// A store that fails may have written all the same, at once or later, when a
// disk that stood still moves again. What holds for sessions and processes
// alike is here: a failed commit is looked for by the id of its last event, its
// numbers are never used again, and a rescue writes what was missed behind
// whatever turns out to be on disk.

// commitChecked commits within a bound of time. A commit that failed may have
// happened: the batch's last event on disk says so. Another event under its
// number, of another server or of an older aggregate, does not. When ctx ends,
// nothing more is waited for.
func commitChecked(ctx context.Context, store Store, within time.Duration, b Batch) error {
	cctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := store.Commit(cctx, b)
	if err == nil || len(b.Events) == 0 {
		return err
	}
	var conflict *ConflictError
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
func holds(ctx context.Context, store Store, owner string, e Event) bool {
	got, err := store.Events(ctx, EventQuery{Owner: owner, Resource: e.Resource, After: e.Seq - 1, Until: e.Seq, Limit: 1})
	return err == nil && len(got) == 1 && got[0].ID == e.ID
}

// rescue is one attempt to write what a store that failed has missed. It owns
// all that it holds, so it may run beside the host of the resource.
type rescue struct {
	store  Store
	commit func(Batch) error // checked, and bounded
	within time.Duration     // bounds each read

	// batch is what was missed: the newest snapshots, the ends in order, and
	// store_recovered.
	batch  Batch
	kind   ResourceKind
	stored uint64 // the last seq that is known to be on disk

	// rewrite makes the batch anew from what is on disk, when that turned out
	// to be more than was known. May be nil.
	rewrite func(ctx context.Context) (Batch, error)

	// What it found out, which counts whether or not it succeeded.
	found []Event     // on disk beyond what was known
	keys  []KeyRecord // stored already
}

// rescueRounds is how many conflicts, beside those of keys, one attempt takes.
const rescueRounds = 3

// run writes the batch behind what turns out to be on disk. Each conflict tells
// of something that came through after all: a batch, or a key.
func (r *rescue) run(ctx context.Context) error {
	for range len(r.batch.Keys) + rescueRounds {
		if r.nothing() {
			return nil
		}
		r.batch.ExpectSeq = r.stored
		err := r.commit(r.batch)
		var c *ConflictError
		switch {
		case !errors.As(err, &c):
			return err
		case c.Kind == "key": // by the batch that failed, or by another server's call
			i := slices.IndexFunc(r.batch.Keys, func(k KeyRecord) bool { return k.Key == c.ID })
			if i < 0 {
				return err
			}
			r.keys = append(r.keys, r.batch.Keys[i])
			r.batch.Keys = slices.Delete(r.batch.Keys, i, i+1)
		default:
			if err := r.catchUp(ctx, c); err != nil {
				return err
			}
		}
	}
	return errors.New("the store answers with ever new conflicts")
}

func (r *rescue) nothing() bool {
	b := r.batch
	return len(b.Events)+len(b.Turns)+len(b.Requests)+len(b.Keys) == 0 && b.Session == nil && b.Process == nil
}

// last is the seq behind which the host goes on after a success.
func (r *rescue) last() uint64 {
	if n := len(r.batch.Events); n > 0 {
		return r.batch.Events[n-1].Seq
	}
	return r.stored
}

// catchUp takes over what the disk has of the resource beyond what was known.
func (r *rescue) catchUp(ctx context.Context, c *ConflictError) error {
	ctx, cancel := context.WithTimeout(ctx, r.within)
	defer cancel()
	last, mine, err := r.onDisk(ctx)
	switch {
	case err != nil:
		return err
	case last == 0 && r.stored > 0: // it was deleted meanwhile, as an ended one may be
		r.stored, r.batch.Create, r.batch.Replace = 0, true, false
		return nil
	case !mine || last <= r.stored:
		return c
	}
	found, err := r.store.Events(ctx, EventQuery{Owner: r.batch.Owner, Resource: r.batch.Resource, After: r.stored, Limit: maxReplayPage})
	if err != nil {
		return err
	}
	r.found = append(r.found, found...)
	r.stored, r.batch.Create, r.batch.Replace = last, false, false
	if r.rewrite != nil {
		keys := r.batch.Keys
		if r.batch, err = r.rewrite(ctx); err != nil {
			return err
		}
		r.batch.Keys = keys
		return nil
	}
	for _, e := range found {
		r.forget(e)
	}
	r.lostBehind(last)
	return nil
}

// lostBehind has store_recovered say no more than what is not on disk.
func (r *rescue) lostBehind(last uint64) {
	for i, e := range r.batch.Events {
		var d dataStoreRecovered
		if e.Type != StoreRecovered || json.Unmarshal(e.Data, &d) != nil || d.LostFrom > last || last >= d.LostTo {
			continue
		}
		d.LostFrom = last + 1
		r.batch.Events[i].Data = marshal(d)
	}
}

// onDisk gives the last stored seq, and whether the stored resource is of this
// instance, or of none while it is opened.
func (r *rescue) onDisk(ctx context.Context) (last uint64, mine bool, err error) {
	b := r.batch
	if last, err = r.store.LastSeq(ctx, b.Owner, b.Resource); err != nil {
		return 0, false, err
	}
	var instance string
	if r.kind == KindProcess {
		var rec ProcessRecord
		rec, err = r.store.Process(ctx, b.Owner, b.Resource)
		instance = rec.Instance
	} else {
		var rec SessionRecord
		rec, err = r.store.Session(ctx, b.Owner, b.Resource)
		instance = holder(rec.Instance)
	}
	if CodeOf(err) == CodeNotFound {
		return last, false, nil
	}
	return last, err == nil && instance == r.store.Instance(), err
}

// forget drops from the batch what an event on disk has said already, so that
// it is said once. The word on disk stands, with the row that came with it.
func (r *rescue) forget(found Event) {
	i := slices.IndexFunc(r.batch.Events, func(e Event) bool { return sameEnd(e, found) })
	if i >= 0 {
		if found.Type.endsSession() && r.batch.Events[i].Type != found.Type {
			r.batch.Session = nil
		}
		r.batch.Events = slices.Delete(r.batch.Events, i, i+1)
	}
	if found.Type.EndsTurn() {
		r.batch.Turns = slices.DeleteFunc(r.batch.Turns, func(t TurnRecord) bool { return t.Turn.ID == found.TurnID })
	}
	if found.Type.endsProcess() { // it is the last event, whatever was lost
		r.batch.Events, r.batch.Process = nil, nil
	}
}

// sameEnd says that two events are one, or end the same thing.
func sameEnd(x, y Event) bool {
	switch {
	case x.ID == y.ID:
		return true
	case x.Type.EndsTurn() && y.Type.EndsTurn():
		return x.TurnID == y.TurnID
	case x.Type.endsSession() && y.Type.endsSession(), x.Type.endsProcess() && y.Type.endsProcess():
		return true
	}
	return x.Type == y.Type && x.Type.ends()
}

// endsSession says whether t is one of the terminal words of a session.
func (t EventType) endsSession() bool {
	return t == SessionClosed || t == SessionFailed || t == SessionKilled
}

// endsProcess says whether t is one of the terminal words of a process.
func (t EventType) endsProcess() bool {
	switch t {
	case ProcessExited, ProcessFailed, ProcessCancelled, ProcessTimedOut:
		return true
	}
	return false
}

// attempt is a rescue that runs beside its host, and what the host did
// meanwhile. Only the host touches since, bytes and full.
type attempt struct {
	rescue
	done chan struct{} // closed when err says what became of it
	err  error

	since []Batch // to be written right behind it
	bytes int
	full  bool // too much came: what is in since is lost too
}

// begin runs the rescue until it is done or ctx ends. The caller owns the
// goroutine: run starts it and waits for it in the end.
func (t *attempt) begin(ctx context.Context, run func(func())) {
	t.done = make(chan struct{})
	run(func() {
		defer close(t.done)
		t.err = t.run(ctx)
	})
}

// over says whether it has come to something.
func (t *attempt) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// keep remembers what the host would commit now, up to a bound.
func (t *attempt) keep(b Batch) {
	for _, e := range b.Events {
		t.bytes += ringSize(e)
	}
	if t.full = t.full || t.bytes > sinceBytes; t.full {
		t.since = nil
		return
	}
	t.since = append(t.since, b)
}

// next is the batch of what came meanwhile, to be written behind the attempt.
func (t *attempt) next() Batch {
	b := Batch{Owner: t.batch.Owner, Resource: t.batch.Resource, Instance: t.batch.Instance, ExpectSeq: t.last()}
	for _, s := range t.since {
		b.Events = append(b.Events, s.Events...)
		b.Turns = mergeRows(b.Turns, s.Turns, func(r TurnRecord) string { return r.Turn.ID })
		b.Requests = mergeRows(b.Requests, s.Requests, func(r Request) string { return r.ID })
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
