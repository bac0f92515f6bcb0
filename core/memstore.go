package core

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a MemStore.
const (
	// MemJournalBytes is how much event data one resource keeps. Older events
	// go, as Trim would drop them: a reader behind them meets a gap.
	MemJournalBytes = 8 << 20
	// MemTotalBytes is how much all journals together keep; beyond it the
	// journal that was written longest ago loses its older half first.
	MemTotalBytes = 128 << 20
)

// MemStore is a Store in memory, for tests and for servers that are told to
// keep nothing. What it holds ends with the process. Journals are bounded by
// MemJournalBytes and MemTotalBytes; snapshots and keys are kept until Delete
// and SweepKeys, which the harness calls as for any store.
type MemStore struct {
	instance string
	data     *memData
}

// memData is what the views of one MemStore share. The mutex guards all of it.
type memData struct {
	mu         sync.Mutex
	secret     []byte
	open       map[string]bool // instances that are not closed
	aggregates map[ownedID]*memAggregate
	rows       map[rowID]*memRow
	keys       map[keyID]KeyRecord
	children   map[childID]Child
	bytes      int    // event data in all journals
	clock      uint64 // counts commits, to order journals by their last one
}

type (
	ownedID struct{ owner, id string }
	rowID   struct {
		kind ResourceKind
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
	kind     ResourceKind
	provider string
	instance string
	lastSeq  uint64
	digest   [sha256.Size]byte // of the last batch
	events   []Event
	bytes    int
	written  uint64 // clock of the last commit
}

type memRow struct {
	Row
	owner string
	in    *memAggregate
}

// NewMemStore makes an empty store.
func NewMemStore() *MemStore {
	d := &memData{
		secret:     make([]byte, 32),
		open:       map[string]bool{},
		aggregates: map[ownedID]*memAggregate{},
		rows:       map[rowID]*memRow{},
		keys:       map[keyID]KeyRecord{},
		children:   map[childID]Child{},
	}
	rand.Read(d.secret) // never fails
	return d.view()
}

// Reopen gives a store on the same data with an instance of its own, as if
// another server had opened it. Both may be used side by side; each is closed
// on its own.
func (m *MemStore) Reopen() *MemStore { return m.data.view() }

func (d *memData) view() *MemStore {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &MemStore{instance: NewID(PrefixInstance), data: d}
	d.open[m.instance] = true
	return m
}

// lock takes the mutex for one call, unless the call must be refused.
func (m *MemStore) lock(ctx context.Context) (*memData, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Code: CodeStoreFailed, Message: "the wait for the store ended", Err: err}
	}
	m.data.mu.Lock()
	if !m.data.open[m.instance] {
		m.data.mu.Unlock()
		return nil, &Error{Code: CodeStoreFailed, Message: "the store is closed"}
	}
	return m.data, nil
}

// Commit implements Store.
func (m *MemStore) Commit(ctx context.Context, b Batch) error {
	e, err := b.Encode()
	if err != nil {
		return err
	}
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	agg := d.aggregates[ownedID{b.Owner, b.Resource}]
	if agg != nil && agg.digest == e.Digest {
		return nil
	}
	if err := d.check(agg, e); err != nil {
		return err
	}
	d.write(agg, e)
	return nil
}

// check finds what the batch clashes with. It changes nothing.
func (d *memData) check(agg *memAggregate, e EncodedBatch) error {
	if agg != nil && !e.Replace && (e.Create || e.Kind != "" && e.Kind != agg.kind) {
		return &ConflictError{Kind: e.IDKind(), ID: e.Resource, Stored: agg.lastSeq}
	}
	var stored uint64
	if agg != nil && !e.Replace {
		stored = agg.lastSeq
	}
	if stored != e.ExpectSeq {
		return &ConflictError{Kind: "seq", ID: e.Resource, Stored: stored}
	}
	if (agg == nil || e.Replace) && e.Kind == "" {
		return Errorf(CodeNotFound, "there is no %s", e.Resource)
	}
	for _, r := range e.Rows {
		old := d.rows[rowID{r.Kind, ownedID{e.Owner, r.ID}}]
		if old != nil && old.in != agg {
			return &ConflictError{Kind: string(r.Kind) + "_id", ID: r.ID}
		}
	}
	for _, k := range e.Keys {
		if old, used := d.keys[keyID{k.Owner, k.Tool, k.Key}]; used && !k.Completes(old) {
			return &ConflictError{Kind: "key", ID: k.Key}
		}
	}
	return nil
}

func (d *memData) write(agg *memAggregate, e EncodedBatch) {
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
		k.At = storedTime(k.At)
		d.keys[keyID{k.Owner, k.Tool, k.Key}] = k
	}
	for _, ev := range e.Events {
		ev = cloneEvent(ev)
		ev.At = storedTime(ev.At)
		agg.events = append(agg.events, ev)
		agg.lastSeq = ev.Seq
		agg.bytes += eventBytes(ev)
		d.bytes += eventBytes(ev)
	}
	d.clock++
	agg.written = d.clock
	d.bound(agg)
}

// bound drops the oldest events beyond the limits. agg was just written.
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
		left -= eventBytes(a.events[n])
		n++
	}
	d.dropEvents(a, n)
}

// dropEvents drops the first n events of a.
func (d *memData) dropEvents(a *memAggregate, n int) {
	for _, ev := range a.events[:n] {
		a.bytes -= eventBytes(ev)
		d.bytes -= eventBytes(ev)
	}
	a.events = slices.Clone(a.events[n:])
}

// eventBytes is what an event counts: its data and a share for its fields.
func eventBytes(ev Event) int { return len(ev.Data) + len(ev.Raw) + 256 }

func cloneEvent(ev Event) Event {
	ev.Data, ev.Raw = bytes.Clone(ev.Data), bytes.Clone(ev.Raw)
	return ev
}

// drop forgets an aggregate with its rows and events. Keys stay: they answer
// for calls that were made, whatever became of their effect.
func (d *memData) drop(a *memAggregate) {
	d.bytes -= a.bytes
	delete(d.aggregates, a.ownedID)
	maps.DeleteFunc(d.rows, func(_ rowID, r *memRow) bool { return r.in == a })
}

// find gives the aggregate of a query, nil for none. With AllOwners an id that
// several owners chose gives the one written last.
func (d *memData) find(owner, id string) *memAggregate {
	if owner != AllOwners {
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

// Events implements Store.
func (m *MemStore) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	agg := d.find(q.Owner, q.Resource)
	if agg == nil {
		return nil, nil
	}
	limit := pageRows(q.Limit)
	var out []Event
	size := 0
	for i := range agg.events {
		ev := agg.events[i]
		if q.Tail {
			ev = agg.events[len(agg.events)-1-i]
		}
		if !q.matches(ev) {
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
}

// pageRows is how many rows a page with this limit holds at most.
func pageRows(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return limit
}

func (q EventQuery) matches(ev Event) bool {
	return ev.Seq > q.After && (q.Until == 0 || ev.Seq <= q.Until) &&
		(q.TurnID == "" || ev.TurnID == q.TurnID) &&
		(len(q.Types) == 0 || slices.Contains(q.Types, ev.Type))
}

// LastSeq implements Store.
func (m *MemStore) LastSeq(ctx context.Context, owner, resource string) (uint64, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer d.mu.Unlock()
	if a := d.find(owner, resource); a != nil {
		return a.lastSeq, nil
	}
	return 0, nil
}

// Session implements Store.
func (m *MemStore) Session(ctx context.Context, owner, id string) (SessionRecord, error) {
	rec, in, err := memGet[SessionRecord](ctx, m, KindSession, owner, id)
	rec.Instance = in
	return rec, err
}

// Turn implements Store.
func (m *MemStore) Turn(ctx context.Context, owner, id string) (TurnRecord, error) {
	rec, _, err := memGet[TurnRecord](ctx, m, KindTurn, owner, id)
	return rec, err
}

// Request implements Store.
func (m *MemStore) Request(ctx context.Context, owner, id string) (Request, error) {
	rec, _, err := memGet[Request](ctx, m, KindRequest, owner, id)
	return rec, err
}

// Process implements Store.
func (m *MemStore) Process(ctx context.Context, owner, id string) (ProcessRecord, error) {
	rec, in, err := memGet[ProcessRecord](ctx, m, KindProcess, owner, id)
	rec.Instance = in
	return rec, err
}

// memGet reads one row and the instance that owns its aggregate.
func memGet[T any](ctx context.Context, m *MemStore, kind ResourceKind, owner, id string) (rec T, instance string, err error) {
	d, err := m.lock(ctx)
	if err != nil {
		return rec, "", err
	}
	defer d.mu.Unlock()
	row := d.rows[rowID{kind, ownedID{owner, id}}]
	if owner == AllOwners {
		for _, r := range d.rows {
			if r.Kind == kind && r.ID == id && (row == nil || r.in.written > row.in.written) {
				row = r
			}
		}
	}
	if row == nil {
		return rec, "", Errorf(CodeNotFound, "there is no %s %s", kind, id)
	}
	return rec, row.in.instance, json.Unmarshal(row.Body, &rec)
}

// Sessions implements Store.
func (m *MemStore) Sessions(ctx context.Context, q ListQuery) ([]SessionRecord, error) {
	return memList(ctx, m, KindSession, q, func(r *SessionRecord, in string) { r.Instance = in })
}

// Turns implements Store.
func (m *MemStore) Turns(ctx context.Context, q ListQuery) ([]TurnRecord, error) {
	return memList(ctx, m, KindTurn, q, func(*TurnRecord, string) {})
}

// Requests implements Store.
func (m *MemStore) Requests(ctx context.Context, q ListQuery) ([]Request, error) {
	return memList(ctx, m, KindRequest, q, func(*Request, string) {})
}

// Processes implements Store.
func (m *MemStore) Processes(ctx context.Context, q ListQuery) ([]ProcessRecord, error) {
	return memList(ctx, m, KindProcess, q, func(r *ProcessRecord, in string) { r.Instance = in })
}

// memList reads a page of rows of one kind.
func memList[T any](ctx context.Context, m *MemStore, kind ResourceKind, q ListQuery, own func(*T, string)) ([]T, error) {
	before, err := ParseCursor(q.Before)
	if err != nil {
		return nil, err
	}
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	var rows []*memRow
	for _, r := range d.rows {
		if r.Kind == kind && r.matches(q) && (q.Before == "" || r.position().before(before)) {
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
			return nil, Errorf(CodeStoreFailed, "reading %s %s: %w", kind, r.ID, err)
		}
		own(&out[i], r.in.instance)
	}
	return out, nil
}

func (r *memRow) position() Position { return Position{At: r.Created, ID: r.ID} }

// before says whether p comes on a later page than one that ended with c.
func (p Position) before(c Position) bool {
	return cmp.Or(p.At.Compare(c.At), strings.Compare(p.ID, c.ID)) < 0
}

func (r *memRow) matches(q ListQuery) bool {
	return (q.Owner == AllOwners || r.owner == q.Owner) &&
		(q.SessionID == "" || r.in.kind == KindSession && r.in.id == q.SessionID) &&
		(q.TurnID == "" || r.TurnID == q.TurnID) &&
		(q.Provider == "" || r.in.provider == q.Provider) &&
		(len(q.Status) == 0 || slices.Contains(q.Status, r.Status)) &&
		(q.Live == nil || r.Live == *q.Live) &&
		(q.Instance == "" || r.in.instance == q.Instance) &&
		(q.EndedBefore.IsZero() || !r.Live && r.Ended.Before(q.EndedBefore))
}

// Delete implements Store.
func (m *MemStore) Delete(ctx context.Context, owner, id string) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	if a := d.aggregates[ownedID{owner, id}]; a != nil {
		d.drop(a)
	}
	return nil
}

// Trim implements Store.
func (m *MemStore) Trim(ctx context.Context, owner, resource string, before uint64) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	if a := d.aggregates[ownedID{owner, resource}]; a != nil {
		n, _ := slices.BinarySearchFunc(a.events, before, func(ev Event, seq uint64) int { return cmp.Compare(ev.Seq, seq) })
		d.dropEvents(a, n)
	}
	return nil
}

// Key implements Store.
func (m *MemStore) Key(ctx context.Context, owner, tool, key string) (KeyRecord, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return KeyRecord{}, err
	}
	defer d.mu.Unlock()
	k, ok := d.keys[keyID{owner, tool, key}]
	if !ok {
		return KeyRecord{}, Errorf(CodeNotFound, "the idempotency key is free")
	}
	return k, nil
}

// PutKey implements Store.
func (m *MemStore) PutKey(ctx context.Context, k KeyRecord) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	id := keyID{k.Owner, k.Tool, k.Key}
	if _, used := d.keys[id]; used {
		return &ConflictError{Kind: "key", ID: k.Key}
	}
	k.At = storedTime(k.At)
	d.keys[id] = k
	return nil
}

// DeleteKey implements Store.
func (m *MemStore) DeleteKey(ctx context.Context, owner, tool, key string) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	delete(d.keys, keyID{owner, tool, key})
	return nil
}

// SweepKeys implements Store.
func (m *MemStore) SweepKeys(ctx context.Context, before time.Time) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	maps.DeleteFunc(d.keys, func(_ keyID, k KeyRecord) bool { return k.At.Before(before) })
	return nil
}

// Claim implements Store.
func (m *MemStore) Claim(ctx context.Context, owner, id, from, to string) (bool, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return false, err
	}
	defer d.mu.Unlock()
	a := d.aggregates[ownedID{owner, id}]
	if a == nil || a.instance != from {
		return false, nil
	}
	a.instance = to
	return true, nil
}

// PutChild implements ChildLog.
func (m *MemStore) PutChild(ctx context.Context, c Child) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	c.At = storedTime(c.At)
	d.children[childID{c.Instance, c.PID}] = c
	return nil
}

// DeleteChild implements ChildLog.
func (m *MemStore) DeleteChild(ctx context.Context, instance string, pid int) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	delete(d.children, childID{instance, pid})
	return nil
}

// Children implements ChildLog.
func (m *MemStore) Children(ctx context.Context, instance string) ([]Child, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	var out []Child
	for _, c := range d.children {
		if instance == "" || c.Instance == instance {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Child) int {
		return cmp.Or(strings.Compare(a.Instance, b.Instance), cmp.Compare(a.PID, b.PID))
	})
	return out, nil
}

// Instance implements Instances.
func (m *MemStore) Instance() string { return m.instance }

// Alive implements Instances: an instance lives until its store is closed.
func (m *MemStore) Alive(instance string) bool {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	return m.data.open[instance]
}

// Secret implements Store.
func (m *MemStore) Secret() []byte { return bytes.Clone(m.data.secret) }

// Close implements Store. The data stays for other views of it.
func (m *MemStore) Close() error {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	delete(m.data.open, m.instance)
	return nil
}

// storedTime is t as a store gives it back: UTC, to the nanosecond.
func storedTime(t time.Time) time.Time { return t.Round(0).UTC() }

// PrefixInstance begins the ids of instances.
const PrefixInstance = "ins_"

// Completes says whether k may take the place of a stored key when a batch
// brings it: old was claimed with PutKey, before its effect, by the same call,
// and does not say yet what it made.
func (k KeyRecord) Completes(old KeyRecord) bool {
	return old.Resource == "" && old.ArgsHash == k.ArgsHash
}

// Row is a snapshot as stores keep it: an opaque body beside the facts that
// lists sort and filter by. Every Store makes its rows with Batch.Encode, so
// that all agree on what is live and when something ended.
type Row struct {
	Kind    ResourceKind
	ID      string
	TurnID  string // of a request
	Status  string
	Live    bool
	Created time.Time
	Ended   time.Time // zero while live
	Body    []byte    // JSON of the record
}

// EncodedBatch is a checked batch in the form that stores keep.
type EncodedBatch struct {
	Batch
	// Kind is what the batch's snapshot says the resource is; empty for a
	// batch without one.
	Kind ResourceKind
	Rows []Row
	// Digest tells the exact same batch from any other.
	Digest [sha256.Size]byte
	// Bytes is about how much the batch writes.
	Bytes int
}

// IDKind is the ConflictError.Kind of the batch's own id.
func (e EncodedBatch) IDKind() string { return string(cmp.Or(e.Kind, KindSession)) + "_id" }

// Encode checks that b is one a store can take and encodes its snapshots. A
// batch that contradicts itself is a bug of its maker: CodeInternal.
func (b Batch) Encode() (EncodedBatch, error) {
	e := EncodedBatch{Batch: b}
	if err := b.check(); err != nil {
		return e, err
	}
	rows, err := b.rows()
	if err != nil {
		return e, Errorf(CodeInternal, "encoding a batch of %s: %w", b.Resource, err)
	}
	e.Rows, e.Keys = rows, b.keys()
	switch {
	case b.Session != nil:
		e.Kind = KindSession
	case b.Process != nil:
		e.Kind = KindProcess
	}
	for _, ev := range b.Events {
		e.Bytes += eventBytes(ev)
	}
	for _, r := range rows {
		e.Bytes += len(r.Body)
	}
	e.Digest = e.digest()
	return e, nil
}

// check finds contradictions within a batch.
func (b Batch) check() error {
	bad := func(why string) error {
		return Errorf(CodeInternal, "a malformed batch of %q: %s", b.Resource, why)
	}
	switch {
	case b.Owner == "" || b.Owner == AllOwners || b.Resource == "":
		return bad("it needs one owner and a resource")
	case b.Session != nil && b.Process != nil:
		return bad("it has both a session and a process")
	case b.Process != nil && len(b.Turns)+len(b.Requests) > 0:
		return bad("a process has no turns or requests")
	case b.Session != nil && (b.Session.Session.ID != b.Resource || b.Session.Session.Owner != b.Owner),
		b.Process != nil && (b.Process.Process.ID != b.Resource || b.Process.Process.Owner != b.Owner):
		return bad("its snapshot is of another resource or owner")
	}
	last := b.ExpectSeq
	for _, ev := range b.Events {
		if ev.Resource != b.Resource || ev.Seq <= last {
			return bad("its events are of another resource or out of order")
		}
		last = ev.Seq
	}
	for _, r := range b.Turns {
		if r.Turn.SessionID != b.Resource {
			return bad("a turn is of another session")
		}
	}
	for _, q := range b.Requests {
		if q.SessionID != b.Resource {
			return bad("a request is of another session")
		}
	}
	for _, k := range b.Keys {
		if k.Owner != b.Owner {
			return bad("a key is of another owner")
		}
	}
	return nil
}

func (b Batch) rows() ([]Row, error) {
	var rows []Row
	var first error
	add := func(r Row, record any) {
		body, err := json.Marshal(record)
		first = cmp.Or(first, err)
		r.Body, r.Created = body, storedTime(r.Created)
		if r.Ended = storedTime(r.Ended); r.Live {
			r.Ended = time.Time{}
		} else if r.Ended.IsZero() {
			r.Ended = r.Created
		}
		// A batch of several steps may bring a snapshot twice: the last counts.
		i := slices.IndexFunc(rows, func(o Row) bool { return o.Kind == r.Kind && o.ID == r.ID })
		if i < 0 {
			rows = append(rows, r)
		} else {
			rows[i] = r
		}
	}
	if b.Session != nil {
		s := b.Session.Session
		add(Row{Kind: KindSession, ID: s.ID, Status: string(s.Status), Live: s.Status.Live(),
			Created: s.CreatedAt, Ended: s.UpdatedAt}, b.Session)
	}
	if b.Process != nil {
		p := b.Process.Process
		add(Row{Kind: KindProcess, ID: p.ID, Status: string(p.Status), Live: !p.Status.Ended(),
			Created: p.CreatedAt, Ended: p.FinishedAt}, b.Process)
	}
	for _, r := range b.Turns {
		t := r.Turn
		add(Row{Kind: KindTurn, ID: t.ID, TurnID: t.ID, Status: string(t.Status), Live: !t.Status.Ended(),
			Created: t.AcceptedAt, Ended: t.FinishedAt}, r)
	}
	for _, q := range b.Requests {
		r := Row{Kind: KindRequest, ID: q.ID, TurnID: q.TurnID, Status: string(q.Status), Live: !q.Status.Ended(),
			Created: q.CreatedAt}
		if q.Resolution != nil {
			r.Ended = q.Resolution.At
		}
		add(r, q)
	}
	return rows, first
}

// keys gives each of the batch's keys once, as it stands last.
func (b Batch) keys() []KeyRecord {
	var keys []KeyRecord
	for _, k := range b.Keys {
		i := slices.IndexFunc(keys, func(o KeyRecord) bool { return o.Tool == k.Tool && o.Key == k.Key })
		if i < 0 {
			keys = append(keys, k)
		} else {
			keys[i] = k
		}
	}
	return keys
}

// digest hashes all that a batch would write, each part with its length.
func (e EncodedBatch) digest() (sum [sha256.Size]byte) {
	h := sha256.New()
	var buf []byte
	num := func(n uint64) { buf = binary.AppendUvarint(buf, n) }
	text := func(s string) { num(uint64(len(s))); buf = append(buf, s...) }
	blob := func(b []byte) { num(uint64(len(b))); h.Write(buf); h.Write(b); buf = buf[:0] }
	text(e.Owner)
	text(e.Resource)
	text(e.Instance)
	num(e.ExpectSeq)
	for _, flag := range []bool{e.Create, e.Replace} {
		buf = append(buf, map[bool]byte{true: 1}[flag])
	}
	for _, ev := range e.Events {
		num(ev.Seq)
		for _, s := range []string{ev.ID, ev.TurnID, ev.RequestID, ev.Provider, string(ev.Type)} {
			text(s)
		}
		num(uint64(ev.At.UnixNano()))
		blob(ev.Data)
		blob(ev.Raw)
	}
	for _, r := range e.Rows {
		text(string(r.Kind))
		blob(r.Body)
	}
	for _, k := range e.Keys {
		for _, s := range []string{k.Owner, k.Tool, k.Key, k.ArgsHash, k.Resource, k.TurnID, k.Request} {
			text(s)
		}
	}
	h.Write(buf)
	h.Sum(sum[:0])
	return sum
}

// Position is where a page of a list ended: behind the row of that time and
// id.
type Position struct {
	At time.Time
	ID string
}

// ParseCursor reads what Cursor made. Another text is CodeInvalidArgument; the
// empty one gives the zero Position.
func ParseCursor(cursor string) (Position, error) {
	if cursor == "" {
		return Position{}, nil
	}
	at, id, _ := strings.Cut(cursor, "/")
	t, err := time.Parse("20060102T150405.000000000Z", at)
	if err != nil || id == "" {
		return Position{}, Errorf(CodeInvalidArgument, "the page cursor is not one of ours").
			WithHint("Pass next_page as the page before gave it, or leave it out.")
	}
	return Position{At: t, ID: id}, nil
}
