package memstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of a Store.
const (
	// MemJournalBytes is how much event data one resource keeps. Older events
	// are dropped as by Trim: a reader that needs them gets a gap.
	MemJournalBytes = 8 << 20
	// MemTotalBytes is how much all journals together keep; beyond it the
	// journal that was written longest ago loses its older half first.
	MemTotalBytes = 128 << 20
)

// Store is a Store in memory, for tests and for servers that keep nothing.
// Its data ends with the process. Journals are bounded by
// MemJournalBytes and MemTotalBytes; snapshots and keys are kept until Delete
// and SweepKeys, which the harness calls as for any store.
type Store struct {
	instance string
	data     *memData
}

// memData is what the views of one Store share. The mutex guards all of it.
type memData struct {
	mu         sync.Mutex
	secret     []byte
	open       map[string]bool // instances that are not closed
	aggregates map[ownedID]*memAggregate
	rows       map[rowID]*memRow
	keys       map[keyID]core.KeyRecord
	children   map[childID]core.Child
	answers    map[string]core.Answer
	bytes      int    // event data in all journals
	clock      uint64 // counts commits, to order journals by their last one
}

type (
	ownedID struct{ owner, id string }
	rowID   struct {
		kind core.ResourceKind
		ownedID
	}
	keyID   struct{ owner, tool, key string }
	childID struct {
		instance string
		pid      int
	}
)

// memAggregate is a session or process with its journal.
type memAggregate struct {
	ownedID
	kind     core.ResourceKind
	provider string
	instance string
	lastSeq  uint64
	digest   core.BatchDigest // of the last batch
	events   []core.Event
	bytes    int
	written  uint64 // clock of the last commit
}

type memRow struct {
	core.Row
	owner string
	in    *memAggregate
}

// New returns an empty store.
func New() *Store {
	d := &memData{
		secret:     make([]byte, 32),
		open:       map[string]bool{},
		aggregates: map[ownedID]*memAggregate{},
		rows:       map[rowID]*memRow{},
		keys:       map[keyID]core.KeyRecord{},
		children:   map[childID]core.Child{},
		answers:    map[string]core.Answer{},
	}
	rand.Read(d.secret) // never fails
	return d.view()
}

// Reopen returns a store on the same data with an instance of its own, as if
// another server had opened it. Both may be used side by side; each is closed
// on its own.
func (m *Store) Reopen() *Store { return m.data.view() }

// view registers a new instance on d. It is alive until its Close.
func (d *memData) view() *Store {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &Store{instance: core.NewID(core.PrefixInstance), data: d}
	d.open[m.instance] = true
	return m
}

// locked calls f with the mutex held. It refuses with CodeStoreFailed if ctx has
// ended or m is closed. ctx is not watched while the mutex is awaited: f never
// blocks.
func locked[T any](ctx context.Context, m *Store, f func(*memData) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, &core.Error{Code: core.CodeStoreFailed, Message: "the wait for the store ended", Err: err}
	}
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if !m.data.open[m.instance] {
		return result, &core.Error{Code: core.CodeStoreFailed, Message: "the store is closed"}
	}
	return f(m.data)
}

// do is locked for a call without a result.
func (m *Store) do(ctx context.Context, f func(*memData) error) error {
	_, err := locked(ctx, m, func(d *memData) (struct{}, error) { return struct{}{}, f(d) })
	return err
}

// Commit implements Store. A batch with the digest of the last one is accepted
// again without effect, so that a caller can repeat a commit whose result it
// did not see. Otherwise check runs in full before write: a refused batch
// changes nothing. Both run under one hold of the mutex.
func (m *Store) Commit(ctx context.Context, b core.Batch) error {
	e, err := b.Encode()
	if err != nil {
		return err
	}
	return m.do(ctx, func(d *memData) error {
		agg := d.aggregates[ownedID{b.Owner, b.Resource}]
		if agg != nil && agg.digest == e.Digest {
			return nil
		}
		if err := d.check(agg, e); err != nil {
			return err
		}
		d.write(agg, e)
		return nil
	})
}

// check returns the reason to refuse a batch, nil for none. It changes nothing.
// The order decides which error a caller sees: the id of the aggregate, its
// seq, the missing aggregate (CodeNotFound), row ids, then keys. All but the
// missing aggregate are a *core.ConflictError.
func (d *memData) check(agg *memAggregate, e core.EncodedBatch) error {
	if agg != nil && !e.Replace && (e.Create || e.Kind != "" && e.Kind != agg.kind) {
		return &core.ConflictError{Kind: e.IDKind(), ID: e.Resource, Stored: agg.lastSeq}
	}
	var stored uint64
	if agg != nil && !e.Replace {
		stored = agg.lastSeq
	}
	if stored != e.ExpectSeq {
		return &core.ConflictError{Kind: "seq", ID: e.Resource, Stored: stored}
	}
	if (agg == nil || e.Replace) && e.Kind == "" {
		return core.Errorf(core.CodeNotFound, "there is no %s", e.Resource)
	}
	for _, r := range e.Rows {
		old := d.rows[rowID{r.Kind, ownedID{e.Owner, r.ID}}]
		if old != nil && old.in != agg {
			return &core.ConflictError{Kind: string(r.Kind) + "_id", ID: r.ID}
		}
	}
	for _, k := range e.Keys {
		if old, used := d.keys[keyID{k.Owner, k.Tool, k.Key}]; used && !k.Completes(old) {
			return &core.ConflictError{Kind: "key", ID: k.Key}
		}
	}
	return nil
}

// write applies a batch that check accepted. It cannot fail. agg is the
// aggregate before the batch, nil for none; Replace drops it first, so that no
// old row or event stays.
func (d *memData) write(agg *memAggregate, e core.EncodedBatch) {
	if agg != nil && e.Replace {
		d.drop(agg)
		agg = nil
	}
	if agg == nil {
		agg = &memAggregate{ownedID: ownedID{e.Owner, e.Resource}, kind: e.Kind}
		d.aggregates[agg.ownedID] = agg
	}
	agg.digest = e.Digest
	if e.Instance != "" {
		agg.instance = e.Instance
	}
	if e.Session != nil {
		agg.provider = e.Session.Session.Provider
	}
	for _, r := range e.Rows {
		d.rows[rowID{r.Kind, ownedID{e.Owner, r.ID}}] = &memRow{Row: r, owner: e.Owner, in: agg}
	}
	for _, k := range e.Keys {
		k.At = core.StoredTime(k.At)
		d.keys[keyID{k.Owner, k.Tool, k.Key}] = k
	}
	for _, ev := range e.Events {
		ev = cloneEvent(ev)
		ev.At = core.StoredTime(ev.At)
		agg.events = append(agg.events, ev)
		agg.lastSeq = ev.Seq
		agg.bytes += core.EventBytes(ev)
		d.bytes += core.EventBytes(ev)
	}
	d.clock++
	agg.written = d.clock
	d.bound(agg)
}

// bound drops the oldest events beyond the limits. agg was just written. A
// journal that is too large shrinks to three quarters of MemJournalBytes, not to
// the limit itself: otherwise each further commit would copy the journal.
func (d *memData) bound(agg *memAggregate) {
	if agg.bytes > MemJournalBytes {
		d.shrink(agg, MemJournalBytes/4*3)
	}
	for d.bytes > MemTotalBytes {
		oldest := agg
		for _, a := range d.aggregates {
			if a.bytes > 0 && a.written < oldest.written {
				oldest = a
			}
		}
		d.shrink(oldest, oldest.bytes/2)
	}
}

// shrink drops the oldest events of a until at most keep bytes are left.
func (d *memData) shrink(a *memAggregate, keep int) {
	n, left := 0, a.bytes
	for n < len(a.events) && left > keep {
		left -= core.EventBytes(a.events[n])
		n++
	}
	d.dropEvents(a, n)
}

// dropEvents drops the first n events of a.
func (d *memData) dropEvents(a *memAggregate, n int) {
	for _, ev := range a.events[:n] {
		a.bytes -= core.EventBytes(ev)
		d.bytes -= core.EventBytes(ev)
	}
	a.events = slices.Clone(a.events[n:])
}

// cloneEvent returns a copy of ev that shares no bytes with it. Events are
// cloned when they are stored and when they are returned.
func cloneEvent(ev core.Event) core.Event {
	ev.Data, ev.Raw = bytes.Clone(ev.Data), bytes.Clone(ev.Raw)
	return ev
}

// drop forgets an aggregate with its rows and events. Keys stay: they answer
// for calls that were made, whatever became of their effect.
func (d *memData) drop(a *memAggregate) {
	d.bytes -= a.bytes
	delete(d.aggregates, a.ownedID)
	maps.DeleteFunc(d.rows, func(_ rowID, r *memRow) bool { return r.in == a })
	maps.DeleteFunc(d.answers, func(_ string, x core.Answer) bool { return x.Owner == a.owner && x.SessionID == a.id })
}

// find returns the aggregate of a query, nil for none. For AllOwners and an id
// that several owners chose it is the one written last.
func (d *memData) find(owner, id string) *memAggregate {
	if owner != core.AllOwners {
		return d.aggregates[ownedID{owner, id}]
	}
	var found *memAggregate
	for _, a := range d.aggregates {
		if a.id == id && (found == nil || a.written > found.written) {
			found = a
		}
	}
	return found
}

// Events implements Store. A page has at least one event if any matches, even
// if that event alone exceeds MaxBytes: a reader always advances. Tail reads from
// the end and returns the events in ascending order all the same.
func (m *Store) Events(ctx context.Context, q core.EventQuery) ([]core.Event, error) {
	return locked(ctx, m, func(d *memData) ([]core.Event, error) {
		agg := d.find(q.Owner, q.Resource)
		if agg == nil {
			return nil, nil
		}
		limit := pageRows(q.Limit)
		var out []core.Event
		size := 0
		for i := range agg.events {
			ev := agg.events[i]
			if q.Tail {
				ev = agg.events[len(agg.events)-1-i]
			}
			if !matches(q, ev) {
				continue
			}
			if !q.Raw {
				ev.Raw = nil
			}
			size += len(ev.Data) + len(ev.Raw)
			if len(out) == limit || len(out) > 0 && q.MaxBytes > 0 && size > q.MaxBytes {
				break
			}
			out = append(out, cloneEvent(ev))
		}
		if q.Tail {
			slices.Reverse(out)
		}
		return out, nil
	})
}

// pageRows is how many rows a page with this limit holds at most.
func pageRows(limit int) int {
	if limit <= 0 {
		return core.DefaultPage
	}
	return limit
}

// matches reports whether ev is in the range, turn and types of q. After is
// exclusive, Until inclusive; zero values do not filter.
func matches(q core.EventQuery, ev core.Event) bool {
	return ev.Seq > q.After && (q.Until == 0 || ev.Seq <= q.Until) &&
		(q.TurnID == "" || ev.TurnID == q.TurnID) &&
		(len(q.Types) == 0 || slices.Contains(q.Types, ev.Type))
}

// LastSeq implements Store.
func (m *Store) LastSeq(ctx context.Context, owner, resource string) (uint64, error) {
	return locked(ctx, m, func(d *memData) (uint64, error) {
		if a := d.find(owner, resource); a != nil {
			return a.lastSeq, nil
		}
		return 0, nil
	})
}

// Session implements Store.
func (m *Store) Session(ctx context.Context, owner, id string) (core.SessionRecord, error) {
	rec, in, err := memGet[core.SessionRecord](ctx, m, core.KindSession, owner, id)
	rec.Instance = in
	return rec, err
}

// Turn implements Store.
func (m *Store) Turn(ctx context.Context, owner, id string) (core.TurnRecord, error) {
	rec, _, err := memGet[core.TurnRecord](ctx, m, core.KindTurn, owner, id)
	return rec, err
}

// Request implements Store.
func (m *Store) Request(ctx context.Context, owner, id string) (core.Request, error) {
	rec, _, err := memGet[core.Request](ctx, m, core.KindRequest, owner, id)
	return rec, err
}

// Process implements Store.
func (m *Store) Process(ctx context.Context, owner, id string) (core.ProcessRecord, error) {
	rec, in, err := memGet[core.ProcessRecord](ctx, m, core.KindProcess, owner, id)
	rec.Instance = in
	return rec, err
}

// memGet reads one row and the instance that owns its aggregate.
func memGet[T any](ctx context.Context, m *Store, kind core.ResourceKind, owner, id string) (rec T, instance string, err error) {
	err = m.do(ctx, func(d *memData) error {
		row := d.rows[rowID{kind, ownedID{owner, id}}]
		if owner == core.AllOwners {
			for _, r := range d.rows {
				if r.Kind == kind && r.ID == id && (row == nil || r.in.written > row.in.written) {
					row = r
				}
			}
		}
		if row == nil {
			return core.Errorf(core.CodeNotFound, "there is no %s %s", kind, id)
		}
		instance = row.in.instance
		return json.Unmarshal(row.Body, &rec)
	})
	return rec, instance, err
}

// Sessions implements Store.
func (m *Store) Sessions(ctx context.Context, q core.ListQuery) ([]core.SessionRecord, error) {
	return memList(ctx, m, core.KindSession, q, func(r *core.SessionRecord, in string) { r.Instance = in })
}

// Turns implements Store.
func (m *Store) Turns(ctx context.Context, q core.ListQuery) ([]core.TurnRecord, error) {
	return memList(ctx, m, core.KindTurn, q, func(*core.TurnRecord, string) {})
}

// Requests implements Store.
func (m *Store) Requests(ctx context.Context, q core.ListQuery) ([]core.Request, error) {
	return memList(ctx, m, core.KindRequest, q, func(*core.Request, string) {})
}

// Processes implements Store.
func (m *Store) Processes(ctx context.Context, q core.ListQuery) ([]core.ProcessRecord, error) {
	return memList(ctx, m, core.KindProcess, q, func(r *core.ProcessRecord, in string) { r.Instance = in })
}

// memList returns a page of rows of one kind, newest first, with the id and then
// the owner as tie-breakers. own sets the instance, which is kept with the
// aggregate and not in the row. A malformed cursor is refused before the lock.
func memList[T any](ctx context.Context, m *Store, kind core.ResourceKind, q core.ListQuery, own func(*T, string)) ([]T, error) {
	end, err := core.ParseCursor(q.Before)
	if err != nil {
		return nil, err
	}
	return locked(ctx, m, func(d *memData) ([]T, error) {
		var rows []*memRow
		for _, r := range d.rows {
			if r.Kind == kind && r.matches(q) && (q.Before == "" || before(r.position(), end)) {
				rows = append(rows, r)
			}
		}
		slices.SortFunc(rows, func(a, b *memRow) int {
			return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID), strings.Compare(a.owner, b.owner))
		})
		rows = rows[:min(len(rows), pageRows(q.Limit))]
		out := make([]T, len(rows))
		for i, r := range rows {
			if err := json.Unmarshal(r.Body, &out[i]); err != nil {
				return nil, core.Errorf(core.CodeStoreFailed, "reading %s %s: %w", kind, r.ID, err)
			}
			own(&out[i], r.in.instance)
		}
		return out, nil
	})
}

// position returns the place of r in lists, which a cursor encodes.
func (r *memRow) position() core.Position { return core.Position{At: r.Created, ID: r.ID} }

// before reports whether p is on a later page than one that ended with c.
func before(p, c core.Position) bool {
	return cmp.Or(p.At.Compare(c.At), strings.Compare(p.ID, c.ID)) < 0
}

// matches reports whether r passes every filter of q. Zero values do not filter.
// Provider and instance are those of the aggregate that holds r.
func (r *memRow) matches(q core.ListQuery) bool {
	return (q.Owner == core.AllOwners || r.owner == q.Owner) &&
		(q.SessionID == "" || r.in.kind == core.KindSession && r.in.id == q.SessionID) &&
		(q.TurnID == "" || r.TurnID == q.TurnID) &&
		(q.Provider == "" || r.in.provider == q.Provider) &&
		(len(q.Status) == 0 || slices.Contains(q.Status, r.Status)) &&
		(q.Live == nil || r.Live == *q.Live) &&
		(q.Instance == "" || r.in.instance == q.Instance) &&
		(q.EndedBefore.IsZero() || !r.Live && r.Ended.Before(q.EndedBefore))
}

// Delete implements Store. Deleting what is not there is no error.
func (m *Store) Delete(ctx context.Context, owner, id string) error {
	return m.do(ctx, func(d *memData) error {
		if a := d.aggregates[ownedID{owner, id}]; a != nil {
			d.drop(a)
		}
		return nil
	})
}

// Trim implements Store. lastSeq stays: seq numbers are never used twice.
func (m *Store) Trim(ctx context.Context, owner, resource string, before uint64) error {
	return m.do(ctx, func(d *memData) error {
		if a := d.aggregates[ownedID{owner, resource}]; a != nil {
			n, _ := slices.BinarySearchFunc(a.events, before, func(ev core.Event, seq uint64) int { return cmp.Compare(ev.Seq, seq) })
			d.dropEvents(a, n)
		}
		return nil
	})
}

// Key implements Store.
func (m *Store) Key(ctx context.Context, owner, tool, key string) (core.KeyRecord, error) {
	return locked(ctx, m, func(d *memData) (core.KeyRecord, error) {
		k, ok := d.keys[keyID{owner, tool, key}]
		if !ok {
			return core.KeyRecord{}, core.Errorf(core.CodeNotFound, "the idempotency key is free")
		}
		return k, nil
	})
}

// PutKey implements Store.
func (m *Store) PutKey(ctx context.Context, k core.KeyRecord) error {
	return m.do(ctx, func(d *memData) error {
		id := keyID{k.Owner, k.Tool, k.Key}
		if _, used := d.keys[id]; used {
			return &core.ConflictError{Kind: "key", ID: k.Key}
		}
		k.At = core.StoredTime(k.At)
		d.keys[id] = k
		return nil
	})
}

// DeleteKey implements Store.
func (m *Store) DeleteKey(ctx context.Context, owner, tool, key string) error {
	return m.do(ctx, func(d *memData) error {
		delete(d.keys, keyID{owner, tool, key})
		return nil
	})
}

// SweepKeys implements Store.
func (m *Store) SweepKeys(ctx context.Context, before time.Time) error {
	return m.do(ctx, func(d *memData) error {
		maps.DeleteFunc(d.keys, func(_ keyID, k core.KeyRecord) bool { return k.At.Before(before) })
		maps.DeleteFunc(d.answers, func(_ string, a core.Answer) bool { return a.At.Before(before) })
		return nil
	})
}

// Claim implements Store. Comparison and exchange are one step under the mutex:
// of several callers with the same from, one gets true.
func (m *Store) Claim(ctx context.Context, owner, id, from, to string) (bool, error) {
	return locked(ctx, m, func(d *memData) (bool, error) {
		a := d.aggregates[ownedID{owner, id}]
		if a == nil || a.instance != from {
			return false, nil
		}
		a.instance = to
		return true, nil
	})
}

// PutChild implements ChildLog.
func (m *Store) PutChild(ctx context.Context, c core.Child) error {
	return m.do(ctx, func(d *memData) error {
		c.At = core.StoredTime(c.At)
		d.children[childID{c.Instance, c.PID}] = c
		return nil
	})
}

// DeleteChild implements ChildLog.
func (m *Store) DeleteChild(ctx context.Context, instance string, pid int) error {
	return m.do(ctx, func(d *memData) error {
		delete(d.children, childID{instance, pid})
		return nil
	})
}

// Children implements ChildLog.
func (m *Store) Children(ctx context.Context, instance string) ([]core.Child, error) {
	return locked(ctx, m, func(d *memData) ([]core.Child, error) {
		var out []core.Child
		for _, c := range d.children {
			if instance == "" || c.Instance == instance {
				out = append(out, c)
			}
		}
		slices.SortFunc(out, func(a, b core.Child) int {
			return cmp.Or(strings.Compare(a.Instance, b.Instance), cmp.Compare(a.PID, b.PID))
		})
		return out, nil
	})
}

// Instance implements Instances.
func (m *Store) Instance() string { return m.instance }

// Alive implements Instances: an instance is alive until its store is closed.
func (m *Store) Alive(instance string) bool {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	return m.data.open[instance]
}

// Elected implements Instances: the living instance with the lowest id.
func (m *Store) Elected() bool {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	for id := range m.data.open {
		if id < m.instance {
			return false
		}
	}
	return m.data.open[m.instance]
}

// Secret implements Store.
func (m *Store) Secret() []byte { return bytes.Clone(m.data.secret) }

// Close implements Store. The data stays for other views of it.
func (m *Store) Close() error {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	delete(m.data.open, m.instance)
	return nil
}
