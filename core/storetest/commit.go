package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

// expectSeq proves the optimistic lock of a journal: a batch whose ExpectSeq is
// below or above the stored seq is refused with a "seq" conflict that carries the
// stored seq, and adds no event. A new aggregate expects 0.
func expectSeq(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1, 2)); err != nil {
		return err
	}
	for _, expect := range []uint64{0, 1, 3} {
		err := s.Commit(ctx, more(ann, s1, expect, 10))
		if err := wantConflict(fmt.Sprintf("expecting %d with 2 stored", expect), err, "seq", s1); err != nil {
			return err
		}
		var c *core.ConflictError
		if errors.As(err, &c); c.Stored != 2 {
			return fmt.Errorf("the conflict says that %d is stored, want 2", c.Stored)
		}
	}
	if err := page(ctx, s, "events after refused batches", core.EventQuery{}, 1, 2); err != nil {
		return err
	}
	fresh := opened(ann, s2, 0, 6)
	fresh.ExpectSeq = 5
	return wantConflict("a new session that expects events", s.Commit(ctx, fresh), "seq", s2)
}

// sameBatch proves that a commit can be repeated: the last batch is accepted
// again without effect. Other data under the same numbers and an earlier batch
// are conflicts.
func sameBatch(ctx context.Context, s core.Store) error {
	first := opened(ann, s1, 0, 1, 2)
	first.Keys = []core.KeyRecord{{Owner: ann, Tool: "start_session", Key: "k", Resource: s1, At: at(0)}}
	second := more(ann, s1, 2, 3)
	other := more(ann, s1, 2, 3)
	other.Events[0].Data = json.RawMessage(`{"text":"other"}`)
	return steps(
		func() error { return s.Commit(ctx, first) },
		func() error { return s.Commit(ctx, first) },
		func() error { return s.Commit(ctx, second) },
		func() error { return s.Commit(ctx, second) },
		func() error {
			return wantConflict("other data under the same numbers", s.Commit(ctx, other), "seq", s1)
		},
		func() error {
			return wantConflict("an earlier batch again", s.Commit(ctx, first), "session_id", s1)
		},
		func() error { return page(ctx, s, "events", core.EventQuery{}, 1, 2, 3) },
	)
}

// atomicBatch clashes in one part only and looks for the others.
func atomicBatch(ctx context.Context, s core.Store) error {
	taken := opened(ann, s2, 0, 1)
	taken.Turns = []core.TurnRecord{turn(ann, s2, "t", 1)}
	taken.Requests = []core.Request{request(ann, s2, "t", "q", 1)}
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	if err := s.Commit(ctx, taken); err != nil {
		return err
	}
	if err := s.PutKey(ctx, core.KeyRecord{Owner: ann, Tool: "tool", Key: "k", Resource: s2}); err != nil {
		return err
	}
	batch := func(change func(*core.Batch)) core.Batch {
		b := more(ann, s1, 1, 2, 3)
		b.Session = session(ann, s1, 0)
		b.Session.Session.Title = "changed"
		b.Turns = []core.TurnRecord{turn(ann, s1, "new-turn", 1)}
		b.Requests = []core.Request{request(ann, s1, "new-turn", "new-request", 1)}
		b.Keys = []core.KeyRecord{{Owner: ann, Tool: "tool", Key: "new-key"}}
		change(&b)
		return b
	}
	clashes := []struct {
		kind, id string
		change   func(*core.Batch)
	}{
		{"turn_id", "t", func(b *core.Batch) { b.Turns = append(b.Turns, turn(ann, s1, "t", 1)) }},
		{"request_id", "q", func(b *core.Batch) { b.Requests = append(b.Requests, request(ann, s1, "x", "q", 1)) }},
		{"key", "k", func(b *core.Batch) {
			b.Keys = append(b.Keys, core.KeyRecord{Owner: ann, Tool: "tool", Key: "k"})
		}},
	}
	for _, c := range clashes {
		if err := wantConflict("a clash of "+c.kind, s.Commit(ctx, batch(c.change)), c.kind, c.id); err != nil {
			return err
		}
		if err := nothingOfBatch(ctx, s); err != nil {
			return fmt.Errorf("after a clash of %s: %w", c.kind, err)
		}
	}
	return s.Commit(ctx, batch(func(*core.Batch) {}))
}

// nothingOfBatch looks for parts of the refused batches of atomicBatch.
func nothingOfBatch(ctx context.Context, s core.Store) error {
	if err := page(ctx, s, "events", core.EventQuery{}, 1); err != nil {
		return err
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil || rec.Session.Title != "" {
		return fmt.Errorf("the session was changed: %q, %v", rec.Session.Title, err)
	}
	_, turnErr := s.Turn(ctx, ann, "new-turn")
	_, requestErr := s.Request(ctx, ann, "new-request")
	_, keyErr := s.Key(ctx, ann, "tool", "new-key")
	return steps(
		func() error { return wantCode("the turn", turnErr, core.CodeNotFound) },
		func() error { return wantCode("the request", requestErr, core.CodeNotFound) },
		func() error { return wantCode("the key", keyErr, core.CodeNotFound) },
	)
}

// malformedBatch proves that Batch.Encode is applied before anything is stored: a
// batch that contradicts itself is CodeInternal, a defect of the caller and not
// a conflict, and adds no event.
func malformedBatch(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	malformed := map[string]func(*core.Batch){
		"events out of order":        func(b *core.Batch) { b.Events = events(s1, 3, 2) },
		"an event twice":             func(b *core.Batch) { b.Events = events(s1, 2, 2) },
		"an event that is expected":  func(b *core.Batch) { b.Events = events(s1, 1) },
		"events of another resource": func(b *core.Batch) { b.Events = events(s2, 2) },
		"no owner":                   func(b *core.Batch) { b.Owner = "" },
		"every owner":                func(b *core.Batch) { b.Owner = core.AllOwners },
		"a session and a process":    func(b *core.Batch) { b.Session, b.Process = session(ann, s1, 0), process(ann, s1, 0) },
		"a snapshot of another id":   func(b *core.Batch) { b.Session = session(ann, s2, 0) },
		"a snapshot of another owner": func(b *core.Batch) {
			b.Session = session(bob, s1, 0)
		},
		"a turn of another session": func(b *core.Batch) { b.Turns = []core.TurnRecord{turn(ann, s2, "t", 1)} },
		"a request of another one":  func(b *core.Batch) { b.Requests = []core.Request{request(ann, s2, "t", "q", 1)} },
		"a key of another owner":    func(b *core.Batch) { b.Keys = []core.KeyRecord{{Owner: bob, Tool: "t", Key: "k"}} },
		"a process with a turn": func(b *core.Batch) {
			b.Process, b.Turns = process(ann, s1, 0), []core.TurnRecord{turn(ann, s1, "t", 1)}
		},
		"data that is not JSON": func(b *core.Batch) { b.Process = process(ann, s1, 0); b.Process.Launch = json.RawMessage("{") },
	}
	for what, change := range malformed {
		b := more(ann, s1, 1, 2)
		change(&b)
		if err := wantCode(what, s.Commit(ctx, b), core.CodeInternal); err != nil {
			return err
		}
	}
	return page(ctx, s, "events", core.EventQuery{}, 1)
}

// createNeedsFreeID proves that Create never overwrites. Sessions and processes of
// one owner share their ids. After Delete the id is free.
func createNeedsFreeID(ctx context.Context, s core.Store) error {
	proc := core.Batch{Owner: ann, Resource: s1, Create: true, Process: process(ann, s1, 0)}
	return steps(
		func() error { return s.Commit(ctx, opened(ann, s1, 0)) },
		func() error {
			return wantConflict("the id again", s.Commit(ctx, opened(ann, s1, 1, 1)), "session_id", s1)
		},
		func() error { return wantConflict("a process of that id", s.Commit(ctx, proc), "process_id", s1) },
		func() error {
			proc.Create = false
			return wantConflict("a process over a session", s.Commit(ctx, proc), "process_id", s1)
		},
		func() error { return s.Delete(ctx, ann, s1) },
		func() error { return s.Commit(ctx, opened(ann, s1, 1, 1)) },
	)
}

// replaceDropsOld proves that Replace removes the rows and events of the old
// aggregate in the same step, frees their ids, expects seq 0, and can be repeated
// like any batch. A replacement needs a snapshot.
func replaceDropsOld(ctx context.Context, s core.Store) error {
	old := opened(ann, s1, 0, 1, 2, 3)
	old.Turns = []core.TurnRecord{turn(ann, s1, "t1", 1), turn(ann, s1, "t2", 2)}
	old.Requests = []core.Request{request(ann, s1, "t1", "q", 1)}
	if err := s.Commit(ctx, old); err != nil {
		return err
	}
	b := opened(ann, s1, 9, 5)
	b.Replace = true
	b.Session.Session.Title = "new"
	b.Turns = []core.TurnRecord{turn(ann, s1, "t2", 9)} // the id is free again with the old session
	if err := s.Commit(ctx, b); err != nil {
		return fmt.Errorf("replacing: %w", err)
	}
	if err := s.Commit(ctx, b); err != nil {
		return fmt.Errorf("the exact same replacement: %w", err)
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	turns, err := s.Turns(ctx, core.ListQuery{Owner: ann, SessionID: s1})
	if err != nil {
		return err
	}
	_, requestErr := s.Request(ctx, ann, "q")
	return steps(
		func() error { return same("the session", rec.Session, b.Session.Session) },
		func() error { return same("its turns", turns, b.Turns) },
		func() error { return wantCode("the old request", requestErr, core.CodeNotFound) },
		func() error { return page(ctx, s, "events", core.EventQuery{}, 5) },
		func() error { return s.Commit(ctx, more(ann, s1, 5, 6)) },
		func() error {
			late := opened(ann, s1, 9, 9)
			late.Replace, late.ExpectSeq = true, 6
			return wantConflict("a replacement that expects events", s.Commit(ctx, late), "seq", s1)
		},
		func() error {
			late := more(ann, s1, 0, 9)
			late.Replace = true
			return wantCode("a replacement without a snapshot", s.Commit(ctx, late), core.CodeNotFound)
		},
		func() error { return page(ctx, s, "events", core.EventQuery{}, 5, 6) },
	)
}

// needsAggregate proves that events alone do not create an aggregate: the error is
// CodeNotFound.
func needsAggregate(ctx context.Context, s core.Store) error {
	return wantCode("events of nothing", s.Commit(ctx, more(ann, s1, 0, 1)), core.CodeNotFound)
}

// snapshotsUpdated proves that a later snapshot of a session, turn or request
// replaces the former one, with its instance. Of two rows with one id in a batch
// the last counts.
func snapshotsUpdated(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1)
	b.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	b.Requests = []core.Request{request(ann, s1, "t", "q", 1)}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	next := more(ann, s1, 1)
	next.Session = session(ann, s1, 0)
	next.Session.Session.Status = core.StatusFailed
	next.Instance = "ins_b"
	next.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	next.Turns[0].Turn.Status = core.TurnDoneFailed
	next.Requests = []core.Request{request(ann, s1, "t", "q", 1), request(ann, s1, "t", "q", 1)}
	next.Requests[1].Status = core.RequestDoneExpired // of two in one batch the last counts
	if err := s.Commit(ctx, next); err != nil {
		return err
	}
	ses, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	tur, err := s.Turn(ctx, ann, "t")
	if err != nil {
		return err
	}
	req, err := s.Request(ctx, ann, "q")
	if err != nil {
		return err
	}
	return steps(
		func() error { return same("the session", ses, next.Session) },
		func() error { return same("its instance", ses.Instance, "ins_b") },
		func() error { return same("the turn", tur, next.Turns[0]) },
		func() error { return same("the request", req, next.Requests[1]) },
	)
}

// idsUnique proves that the id of a turn is unique within its owner, across
// sessions, and that two owners can use the same ids without any effect on each
// other.
func idsUnique(ctx context.Context, s core.Store) error {
	mine, other, hers := opened(ann, s1, 0), opened(ann, s2, 0), opened(bob, s1, 0)
	mine.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	mine.Requests = []core.Request{request(ann, s1, "t", "q", 1)}
	other.Turns = []core.TurnRecord{turn(ann, s2, "t", 1)}
	hers.Turns = []core.TurnRecord{turn(bob, s1, "t", 1)}
	hers.Requests = []core.Request{request(bob, s1, "t", "q", 1)}
	hers.Session.Session.Title = "hers"
	if err := steps(
		func() error { return s.Commit(ctx, mine) },
		func() error {
			return wantConflict("a turn id of another session", s.Commit(ctx, other), "turn_id", "t")
		},
		func() error { return s.Commit(ctx, hers) },
	); err != nil {
		return err
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	rec2, err := s.Session(ctx, bob, s1)
	if err != nil {
		return err
	}
	return steps(
		func() error { return same("one owner's session", rec, mine.Session) },
		func() error { return same("the other's of the same id", rec2, hers.Session) },
	)
}

// scribble overwrites bytes that a store was given or gave.
func scribble(b []byte) {
	for i := range b {
		b[i] = '#'
	}
}

// givenNotKept proves that Commit copies: the caller may change the slices and
// maps of a batch as soon as Commit returns.
func givenNotKept(ctx context.Context, s core.Store) error {
	b, want := opened(ann, s1, 0, 1, 2), opened(ann, s1, 0, 1, 2)
	want.Events[0].Raw, b.Events[0].Raw = json.RawMessage(`{"r":1}`), json.RawMessage(`{"r":1}`)
	b.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	scribble(b.Events[0].Data)
	scribble(b.Events[0].Raw)
	b.Events[1] = event("scribble", 99)
	b.Session.Session.Metadata["n"] = "scribble"
	b.Turns[0].Turn.Metadata["n"] = "scribble"
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1, Raw: true})
	if err != nil {
		return err
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	tur, err := s.Turn(ctx, ann, "t")
	if err != nil {
		return err
	}
	return steps(
		func() error { return same("events", got, want.Events) },
		func() error { return same("session", rec, want.Session) },
		func() error { return same("turn", tur, turn(ann, s1, "t", 1)) },
	)
}

// returnedNotShared proves that a caller may change what Events, Session and
// Secret return, without an effect on later reads.
func returnedNotShared(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1, 2)
	b.Events[0].Raw = json.RawMessage(`{"r":1}`)
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	q := core.EventQuery{Owner: ann, Resource: s1, Raw: true}
	got, err := s.Events(ctx, q)
	if err != nil {
		return err
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	scribble(got[0].Data)
	scribble(got[0].Raw)
	got[1] = event("scribble", 99)
	rec.Session.Metadata["n"] = "scribble"
	secret := s.Secret()
	before := string(secret)
	scribble(secret)
	if string(s.Secret()) != before {
		return errors.New("the secret is shared with the caller")
	}
	if got, err = s.Events(ctx, q); err != nil {
		return err
	}
	if rec, err = s.Session(ctx, ann, s1); err != nil {
		return err
	}
	return steps(
		func() error { return same("events", got, b.Events) },
		func() error { return same("session", rec, b.Session) },
	)
}

// secretsNotStored proves that the values of Launch.Env and Launch.MCPServers are
// not written, since they may hold secrets.
func secretsNotStored(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0)
	b.Session.Launch.Env = map[string]string{"TOKEN": "secret"}
	b.Session.Launch.MCPServers = map[string]json.RawMessage{"m": json.RawMessage(`{}`)}
	b.Session.Launch.EnvNames = []string{"TOKEN"}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	if rec.Launch.Env != nil || rec.Launch.MCPServers != nil {
		return errors.New("the environment or the MCP configuration was stored")
	}
	return same("names of the environment", rec.Launch.EnvNames, []string{"TOKEN"})
}
