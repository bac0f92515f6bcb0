package sqlitestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"pgregory.net/rapid"
)

// TestTheStoreDoesWhatTheOneInMemoryDoes runs random calls on both stores and
// wants the same answers. The conformance suite says what is right in the
// cases that someone thought of; this finds the others.
func TestTheStoreDoesWhatTheOneInMemoryDoes(t *testing.T) {
	compareWithMemory(t, openTest(t, t.TempDir()+"/harness.db"))
}

// TestServersOnOneFileDoWhatOneStoreInMemoryDoes makes each call on any of three
// servers that share a database.
func TestServersOnOneFileDoWhatOneStoreInMemoryDoes(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	servers := []*Store{openTest(t, path), openTest(t, path), openTest(t, path)}
	for range 3 { // that one server reads past another's rows takes many turns
		compareWithMemory(t, servers...)
	}
}

func compareWithMemory(t *testing.T, servers ...*Store) {
	t.Helper()
	memory := memstore.New()
	ids := []string{"", "ins_a", "ins_b"}
	for _, s := range servers {
		ids = append(ids, s.Instance())
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: t, servers: servers, memory: memory, ids: rapid.SampledFrom(ids), last: map[string]uint64{}}
		m.empty(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"commit":  m.commit,
			"again":   m.again,
			"delete":  m.delete,
			"trim":    m.trim,
			"claim":   m.claim,
			"keys":    m.keys,
			"events":  m.events,
			"pack":    m.pack,
			"review":  m.review,
			"shorten": m.shorten,
			"lists":   m.lists,
			"get":     m.get,
		})
	})
}

// pack moves what the log has into chunks, which nothing else may notice.
func (m *model) pack(rt *rapid.T) { m.server(rt).pack(m.t.Context(), true) }

// review and shorten are what a server does now and then for its log.
func (m *model) review(rt *rapid.T) {
	if err := m.server(rt).review(m.t.Context()); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) shorten(rt *rapid.T) {
	m.server(rt).shorten(m.t.Context(), rapid.IntRange(0, 4).Draw(rt, "slots kept"))
}

type model struct {
	t       *testing.T
	servers []*Store
	memory  core.Store
	ids     *rapid.Generator[string] // of instances
	last    map[string]uint64        // by owner and resource
	batch   core.Batch               // the last one
}

// server is any of those that share the database.
func (m *model) server(rt *rapid.T) *Store { return rapid.SampledFrom(m.servers).Draw(rt, "server") }

// Few names, so that calls meet.
var (
	owners    = rapid.SampledFrom([]string{"ann", "bob"})
	readers   = rapid.SampledFrom([]string{"ann", "bob", core.AllOwners})
	resources = rapid.SampledFrom([]string{"r1", "r2", "r3"})
	turns     = rapid.SampledFrom([]string{"t1", "t2", "t3", "t4"})
	hashes    = rapid.SampledFrom([]string{"h1", "h2"})
	statuses  = rapid.SampledFrom([]core.SessionStatus{core.StatusIdle, core.StatusClosed, core.StatusUnavailable})
	seconds   = rapid.Map(rapid.IntRange(0, 5), func(n int) time.Time { return time.Unix(int64(n), 0).UTC() })
)

// empty deletes what an earlier run left.
func (m *model) empty(rt *rapid.T) {
	for _, owner := range []string{"ann", "bob"} {
		for _, id := range []string{"r1", "r2", "r3"} {
			m.both(rt, "delete", func(s core.Store) (any, error) { return nil, s.Delete(m.t.Context(), owner, id) })
		}
	}
	m.both(rt, "sweep", func(s core.Store) (any, error) { return nil, s.SweepKeys(m.t.Context(), time.Unix(100, 0)) })
	m.both(rt, "rows left", func(s core.Store) (any, error) {
		rows, err := s.Sessions(m.t.Context(), core.ListQuery{Owner: core.AllOwners})
		return len(rows), err
	})
}

// both makes a call on each store and compares the answers.
func (m *model) both(rt *rapid.T, what string, call func(s core.Store) (any, error)) {
	var texts [2]string
	for i, s := range []core.Store{m.server(rt), m.memory} {
		value, err := call(s)
		text, jsonErr := json.Marshal(value)
		if jsonErr != nil {
			rt.Fatal(jsonErr)
		}
		texts[i] = string(text)
		var conflict *core.ConflictError
		switch {
		case errors.As(err, &conflict):
			texts[i] = fmt.Sprintf("conflict %+v", *conflict)
		case err != nil:
			texts[i] = fmt.Sprintf("error %s", core.CodeOf(err))
		}
	}
	if texts[0] != texts[1] {
		rt.Fatalf("%s:\nSQLite %s\nmemory %s", what, texts[0], texts[1])
	}
}

func (m *model) commit(rt *rapid.T) {
	b := core.Batch{
		Owner:    owners.Draw(rt, "owner"),
		Resource: resources.Draw(rt, "resource"),
		Instance: m.ids.Draw(rt, "instance"),
		Create:   rapid.IntRange(0, 4).Draw(rt, "create") == 0,
		Replace:  rapid.IntRange(0, 6).Draw(rt, "replace") == 0,
	}
	at := b.Owner + "/" + b.Resource
	b.ExpectSeq = m.last[at]
	if b.Replace {
		b.ExpectSeq = 0
	}
	if rapid.IntRange(0, 9).Draw(rt, "wrong") == 0 {
		b.ExpectSeq++
	}
	m.snapshots(rt, &b)
	seq := b.ExpectSeq
	for range rapid.IntRange(0, 4).Draw(rt, "events") {
		seq += uint64(rapid.IntRange(1, 3).Draw(rt, "gap"))
		ev := testEvent(b.Resource, seq)
		ev.TurnID = rapid.SampledFrom([]string{"", "t1", "t2"}).Draw(rt, "event's turn")
		ev.Type = rapid.SampledFrom([]core.EventType{core.TypeMessage, core.TypeWarning}).Draw(rt, "type")
		if rapid.Bool().Draw(rt, "raw") {
			ev.Raw = json.RawMessage(`{"raw":true}`)
		}
		if rapid.IntRange(0, 9).Draw(rt, "long") == 0 {
			ev.Data = fmt.Appendf(nil, `{"text":"%0*d"}`, rapid.IntRange(rowBytes-200, rowBytes+2*overflowPage).Draw(rt, "length"), seq)
		}
		b.Events = append(b.Events, ev)
	}
	if rapid.IntRange(0, 5).Draw(rt, "with key") == 0 {
		b.Keys = []core.KeyRecord{{Owner: b.Owner, Tool: "tool", Key: turns.Draw(rt, "key"),
			ArgsHash: hashes.Draw(rt, "hash"), Resource: b.Resource, At: seconds.Draw(rt, "at")}}
	}
	m.put(rt, b)
}

// snapshots returns the batch a session with turns and requests, a process, or
// nothing.
func (m *model) snapshots(rt *rapid.T, b *core.Batch) {
	switch rapid.IntRange(0, 5).Draw(rt, "snapshot") {
	case 0:
		return
	case 1:
		b.Process = &core.ProcessRecord{Process: core.ProcessSnapshot{
			ID: b.Resource, Owner: b.Owner, Status: core.ProcessIsRunning, CreatedAt: seconds.Draw(rt, "created"),
		}}
		return
	}
	b.Session = &core.SessionRecord{Session: core.Session{
		ID: b.Resource, Owner: b.Owner, Status: statuses.Draw(rt, "status"),
		Provider:  rapid.SampledFrom([]string{"demo", "codex"}).Draw(rt, "provider"),
		CreatedAt: seconds.Draw(rt, "created"), UpdatedAt: seconds.Draw(rt, "updated"),
	}}
	for range rapid.IntRange(0, 2).Draw(rt, "turns") {
		id := turns.Draw(rt, "turn")
		b.Turns = append(b.Turns, core.TurnRecord{Turn: core.Turn{
			ID: id, SessionID: b.Resource, Owner: b.Owner, AcceptedAt: seconds.Draw(rt, "accepted"),
			Status: rapid.SampledFrom([]core.TurnStatus{core.TurnIsRunning, core.TurnDoneFailed}).Draw(rt, "turn's status"),
		}})
		b.Requests = append(b.Requests, core.Request{
			ID: "q" + id, SessionID: b.Resource, TurnID: id, Owner: b.Owner, Status: core.RequestPending,
			CreatedAt: seconds.Draw(rt, "asked"),
		})
	}
}

func (m *model) put(rt *rapid.T, b core.Batch) {
	m.both(rt, "commit", func(s core.Store) (any, error) { return nil, s.Commit(m.t.Context(), b) })
	last, err := m.memory.LastSeq(m.t.Context(), b.Owner, b.Resource)
	if err != nil {
		rt.Fatal(err)
	}
	m.last[b.Owner+"/"+b.Resource] = last
	m.batch = b
}

func (m *model) again(rt *rapid.T) {
	if m.batch.Owner == "" {
		rt.Skip("nothing was committed yet")
	}
	m.put(rt, m.batch)
}

func (m *model) delete(rt *rapid.T) {
	owner, id := owners.Draw(rt, "owner"), resources.Draw(rt, "id")
	m.both(rt, "delete", func(s core.Store) (any, error) { return nil, s.Delete(m.t.Context(), owner, id) })
	delete(m.last, owner+"/"+id)
}

func (m *model) trim(rt *rapid.T) {
	owner, id, before := owners.Draw(rt, "owner"), resources.Draw(rt, "id"), rapid.Uint64Range(0, 20).Draw(rt, "before")
	m.both(rt, "trim", func(s core.Store) (any, error) { return nil, s.Trim(m.t.Context(), owner, id, before) })
}

func (m *model) claim(rt *rapid.T) {
	owner, id := owners.Draw(rt, "owner"), resources.Draw(rt, "id")
	from, to := m.ids.Draw(rt, "from"), m.ids.Draw(rt, "to")
	m.both(rt, "claim", func(s core.Store) (any, error) { return s.Claim(m.t.Context(), owner, id, from, to) })
}

func (m *model) keys(rt *rapid.T) {
	k := core.KeyRecord{Owner: owners.Draw(rt, "owner"), Tool: "tool", Key: turns.Draw(rt, "key"),
		ArgsHash: hashes.Draw(rt, "hash"), At: seconds.Draw(rt, "at")}
	ctx := m.t.Context()
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0:
		m.both(rt, "put key", func(s core.Store) (any, error) { return nil, s.PutKey(ctx, k) })
	case 1:
		m.both(rt, "delete key", func(s core.Store) (any, error) { return nil, s.DeleteKey(ctx, k.Owner, k.Tool, k.Key) })
	case 2:
		m.both(rt, "sweep keys", func(s core.Store) (any, error) { return nil, s.SweepKeys(ctx, k.At) })
	}
	m.both(rt, "key", func(s core.Store) (any, error) { return s.Key(ctx, k.Owner, k.Tool, k.Key) })
}

func (m *model) events(rt *rapid.T) {
	q := core.EventQuery{
		Owner:    owners.Draw(rt, "owner"),
		Resource: resources.Draw(rt, "resource"),
		After:    rapid.Uint64Range(0, 12).Draw(rt, "after"),
		Until:    rapid.Uint64Range(0, 20).Draw(rt, "until"),
		Limit:    rapid.IntRange(0, 5).Draw(rt, "limit"),
		Tail:     rapid.Bool().Draw(rt, "tail"),
		MaxBytes: rapid.SampledFrom([]int{0, 1, 700, 1500}).Draw(rt, "max bytes"),
		TurnID:   rapid.SampledFrom([]string{"", "t1", "t2"}).Draw(rt, "turn"),
		Raw:      rapid.Bool().Draw(rt, "raw"),
	}
	if rapid.Bool().Draw(rt, "some types") {
		q.Types = []core.EventType{core.TypeWarning, core.TypeReasoning}
	}
	m.both(rt, fmt.Sprintf("events %+v", q), func(s core.Store) (any, error) {
		e, err := s.Events(m.t.Context(), q)
		return append([]core.Event{}, e...), err
	})
	m.both(rt, "last seq", func(s core.Store) (any, error) { return s.LastSeq(m.t.Context(), q.Owner, q.Resource) })
}

func (m *model) lists(rt *rapid.T) {
	q := core.ListQuery{
		Owner:     readers.Draw(rt, "owner"),
		SessionID: rapid.SampledFrom([]string{"", "", "r1"}).Draw(rt, "session"),
		TurnID:    rapid.SampledFrom([]string{"", "", "t1"}).Draw(rt, "turn"),
		Provider:  rapid.SampledFrom([]string{"", "", "demo"}).Draw(rt, "provider"),
		Instance:  m.ids.Draw(rt, "instance"),
		Limit:     rapid.IntRange(0, 4).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "by life") {
		live := rapid.Bool().Draw(rt, "live")
		q.Live = &live
	}
	if rapid.IntRange(0, 3).Draw(rt, "by status") == 0 {
		q.Status = []string{"idle", "failed", "pending"}
	}
	if rapid.IntRange(0, 3).Draw(rt, "by end") == 0 {
		q.EndedBefore = seconds.Draw(rt, "ended before")
	}
	if rapid.Bool().Draw(rt, "a later page") {
		q.Before = core.Cursor(seconds.Draw(rt, "cursor"), turns.Draw(rt, "cursor's id"))
	}
	ctx := m.t.Context()
	what := fmt.Sprintf("list %+v", q)
	m.both(rt, "sessions: "+what, func(s core.Store) (any, error) {
		rows, err := s.Sessions(ctx, q)
		owners := []string{}
		for _, r := range rows {
			owners = append(owners, r.Instance)
		}
		return []any{append([]core.SessionRecord{}, rows...), owners}, err
	})
	m.both(rt, "turns: "+what, func(s core.Store) (any, error) {
		rows, err := s.Turns(ctx, q)
		return append([]core.TurnRecord{}, rows...), err
	})
	m.both(rt, "requests: "+what, func(s core.Store) (any, error) {
		rows, err := s.Requests(ctx, q)
		return append([]core.Request{}, rows...), err
	})
	m.both(rt, "processes: "+what, func(s core.Store) (any, error) {
		rows, err := s.Processes(ctx, q)
		return append([]core.ProcessRecord{}, rows...), err
	})
}

func (m *model) get(rt *rapid.T) {
	owner, resource, turn := owners.Draw(rt, "owner"), resources.Draw(rt, "id"), turns.Draw(rt, "turn")
	ctx := m.t.Context()
	m.both(rt, "session", func(s core.Store) (any, error) {
		r, err := s.Session(ctx, owner, resource)
		return []any{r, r.Instance}, err
	})
	m.both(rt, "process", func(s core.Store) (any, error) {
		r, err := s.Process(ctx, owner, resource)
		return []any{r, r.Instance}, err
	})
	m.both(rt, "turn", func(s core.Store) (any, error) { return s.Turn(ctx, owner, turn) })
	m.both(rt, "request", func(s core.Store) (any, error) { return s.Request(ctx, owner, "q"+turn) })
}
