package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// rowsNotFound proves that reading an unknown row is CodeNotFound, never an empty row,
// and that an id is looked up within its kind only.
func rowsNotFound(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	_, sessionErr := s.Session(ctx, ann, s2)
	_, turnErr := s.Turn(ctx, ann, s1)
	_, requestErr := s.Request(ctx, ann, s1)
	_, processErr := s.Process(ctx, ann, s1)
	_, keyErr := s.Key(ctx, ann, "tool", "key")
	for what, err := range map[string]error{
		"session": sessionErr, "turn": turnErr, "request": requestErr, "process": processErr, "key": keyErr,
	} {
		if err := wantCode("an unknown "+what, err, core.CodeNotFound); err != nil {
			return err
		}
	}
	return nil
}

// populate writes sessions a to d of ann, one of them ended, with turns and
// requests, two processes, and one session of bob.
func populate(ctx context.Context, s core.Store) error {
	var all []core.Batch
	for i, id := range []string{"a", "b", "c", "d"} {
		b := opened(ann, id, i, 1)
		for j := range 2 {
			t := fmt.Sprintf("%s-t%d", id, j)
			b.Turns = append(b.Turns, turn(ann, id, t, 10*i+j))
			b.Requests = append(b.Requests, request(ann, id, t, t+"-q", 10*i+j))
		}
		all = append(all, b)
	}
	all[1].Session.Session.Status, all[1].Session.Session.UpdatedAt = core.StatusFailed, at(100)
	all[1].Turns[0].Turn.Status, all[1].Turns[0].Turn.FinishedAt = core.TurnDoneCompleted, at(50)
	all[1].Requests[0].Status = core.RequestDoneResolved
	all[1].Requests[0].Resolution = &core.Resolution{By: core.ByCaller, At: at(40)}
	all[2].Session.Session.Status, all[2].Session.Session.UpdatedAt = core.StatusUnavailable, at(200)
	all[2].Session.Session.Provider = "codex"
	all[3].Instance = "ins_b"
	for i, id := range []string{"p", "r"} {
		all = append(all, core.Batch{Owner: ann, Resource: id, Create: true, Instance: "ins_a", Process: process(ann, id, i)})
	}
	last := all[len(all)-1].Process
	last.Process.Status, last.Process.FinishedAt = core.ProcessDoneExited, at(60)
	all = append(all, opened(bob, "z", 5, 1))
	for _, b := range all {
		if err := s.Commit(ctx, b); err != nil {
			return fmt.Errorf("populating: %w", err)
		}
	}
	return nil
}

// lists reads a page of each kind and returns the ids.
func lists(ctx context.Context, s core.Store, q core.ListQuery) (map[core.ResourceKind][]string, error) {
	ids := map[core.ResourceKind][]string{}
	sessions, err := s.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range sessions {
		ids[core.KindSession] = append(ids[core.KindSession], r.Session.ID)
	}
	turns, err := s.Turns(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range turns {
		ids[core.KindTurn] = append(ids[core.KindTurn], r.Turn.ID)
	}
	requests, err := s.Requests(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		ids[core.KindRequest] = append(ids[core.KindRequest], r.ID)
	}
	processes, err := s.Processes(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, r := range processes {
		ids[core.KindProcess] = append(ids[core.KindProcess], r.Process.ID)
	}
	return ids, nil
}

// wantLists compares the ids of every kind; a kind that is missing in want
// must be empty.
func wantLists(ctx context.Context, s core.Store, what string, q core.ListQuery, want map[core.ResourceKind][]string) error {
	if q.Owner == "" {
		q.Owner = ann
	}
	got, err := lists(ctx, s, q)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return same(what, got, want)
}

// ids is short for what wantLists wants.
type ids = map[core.ResourceKind][]string

// listsNewestFirst proves that every kind is listed by creation time, the newest
// first, and that listed and read records are complete, with their instance.
func listsNewestFirst(ctx context.Context, s core.Store) error {
	if err := populate(ctx, s); err != nil {
		return err
	}
	if err := wantLists(ctx, s, "all lists", core.ListQuery{}, ids{
		core.KindSession: {"d", "c", "b", "a"},
		core.KindTurn:    {"d-t1", "d-t0", "c-t1", "c-t0", "b-t1", "b-t0", "a-t1", "a-t0"},
		core.KindRequest: {"d-t1-q", "d-t0-q", "c-t1-q", "c-t0-q", "b-t1-q", "b-t0-q", "a-t1-q", "a-t0-q"},
		core.KindProcess: {"r", "p"},
	}); err != nil {
		return err
	}
	sessions, err := s.Sessions(ctx, core.ListQuery{Owner: ann, Limit: 1})
	if err != nil {
		return err
	}
	want := *session(ann, "d", 3)
	if err := same("a listed session", sessions, []core.SessionRecord{want}); err != nil {
		return err
	}
	if err := same("its instance", sessions[0].Instance, "ins_b"); err != nil {
		return err
	}
	rec, err := s.Process(ctx, ann, "p")
	if err != nil {
		return err
	}
	return steps(
		func() error { return same("a process", rec, process(ann, "p", 0)) },
		func() error { return same("its instance", rec.Instance, "ins_a") },
	)
}

// listsPage walks lists of rows that share creation times, in pages of every
// size.
func listsPage(ctx context.Context, s core.Store) error {
	var want []string
	for i := range 10 {
		id := fmt.Sprintf("s%d", i)
		if err := s.Commit(ctx, opened(ann, id, i/4)); err != nil {
			return err
		}
		want = append(want, id)
	}
	slices.Reverse(want)
	for size := 1; size <= 11; size++ {
		var got []string
		q := core.ListQuery{Owner: ann, Limit: size}
		for pages := 0; ; pages++ {
			rows, err := s.Sessions(ctx, q)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			if len(rows) > size || pages > len(want) {
				return fmt.Errorf("a page of %d rows with limit %d, after %d pages", len(rows), size, pages)
			}
			for _, r := range rows {
				got = append(got, r.Session.ID)
			}
			last := rows[len(rows)-1].Session
			q.Before = core.Cursor(last.CreatedAt, last.ID)
		}
		if err := same(fmt.Sprintf("pages of %d", size), got, want); err != nil {
			return err
		}
	}
	return nil
}

// filterSessionTurn proves that SessionID and TurnID select rows of every kind that
// belong to the session or turn. A process belongs to neither.
func filterSessionTurn(ctx context.Context, s core.Store) error {
	if err := populate(ctx, s); err != nil {
		return err
	}
	return steps(
		func() error {
			return wantLists(ctx, s, "of session b", core.ListQuery{SessionID: "b"}, ids{
				core.KindSession: {"b"}, core.KindTurn: {"b-t1", "b-t0"}, core.KindRequest: {"b-t1-q", "b-t0-q"},
			})
		},
		func() error {
			return wantLists(ctx, s, "of turn c-t1", core.ListQuery{TurnID: "c-t1"}, ids{
				core.KindTurn: {"c-t1"}, core.KindRequest: {"c-t1-q"},
			})
		},
		func() error {
			return wantLists(ctx, s, "of a process", core.ListQuery{SessionID: "p"}, ids{})
		},
	)
}

// filterColumns proves that Provider and Instance select turns and requests by the
// session they belong to, and that Status selects rows of any of its values.
func filterColumns(ctx context.Context, s core.Store) error {
	if err := populate(ctx, s); err != nil {
		return err
	}
	return steps(
		func() error {
			return wantLists(ctx, s, "of provider codex", core.ListQuery{Provider: "codex"}, ids{
				core.KindSession: {"c"}, core.KindTurn: {"c-t1", "c-t0"}, core.KindRequest: {"c-t1-q", "c-t0-q"},
			})
		},
		func() error {
			return wantLists(ctx, s, "by status", core.ListQuery{Status: []string{"failed", "completed", "pending", "exited"}, Limit: 3}, ids{
				core.KindSession: {"b"}, core.KindTurn: {"b-t0"},
				core.KindRequest: {"d-t1-q", "d-t0-q", "c-t1-q"}, core.KindProcess: {"r"},
			})
		},
		func() error {
			return wantLists(ctx, s, "of instance ins_b", core.ListQuery{Instance: "ins_b"}, ids{
				core.KindSession: {"d"}, core.KindTurn: {"d-t1", "d-t0"}, core.KindRequest: {"d-t1-q", "d-t0-q"},
			})
		},
	)
}

// filterLife proves that Live selects by the status of the row itself, not that of its
// session, and that EndedBefore is exclusive and selects ended rows only.
func filterLife(ctx context.Context, s core.Store) error {
	if err := populate(ctx, s); err != nil {
		return err
	}
	yes, no := true, false
	before := func(t time.Time) core.ListQuery { return core.ListQuery{EndedBefore: t} }
	return steps(
		func() error {
			return wantLists(ctx, s, "live rows of a and b", core.ListQuery{Live: &yes, Before: core.Cursor(at(2), "0")}, ids{
				core.KindSession: {"a"}, core.KindTurn: {"a-t1", "a-t0"}, core.KindRequest: {"a-t1-q", "a-t0-q"},
				core.KindProcess: {"p"},
			})
		},
		func() error {
			return wantLists(ctx, s, "ended rows", core.ListQuery{Live: &no}, ids{
				core.KindSession: {"c", "b"}, core.KindTurn: {"b-t0"}, core.KindRequest: {"b-t0-q"}, core.KindProcess: {"r"},
			})
		},
		func() error {
			return wantLists(ctx, s, "ended before 150", before(at(150)), ids{
				core.KindSession: {"b"}, core.KindTurn: {"b-t0"}, core.KindRequest: {"b-t0-q"}, core.KindProcess: {"r"},
			})
		},
		func() error { return wantLists(ctx, s, "ended before 40", before(at(40)), ids{}) },
		func() error {
			return wantLists(ctx, s, "ended before 41", before(at(41)), ids{core.KindRequest: {"b-t0-q"}})
		},
	)
}

// badCursor proves that a malformed cursor is CodeInvalidArgument, not an empty page or
// the first one.
func badCursor(ctx context.Context, s core.Store) error {
	for _, cursor := range []string{"x", "20260304T050607.000000000Z/", "/a", "yesterday/a"} {
		_, err := s.Sessions(ctx, core.ListQuery{Owner: ann, Before: cursor})
		if err := wantCode("the cursor "+cursor, err, core.CodeInvalidArgument); err != nil {
			return err
		}
	}
	return nil
}

// ownersApart lets bob ask for all that is ann's.
func ownersApart(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0, 1)
	b.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	b.Requests = []core.Request{request(ann, s1, "t", "q", 1)}
	b.Keys = []core.KeyRecord{{Owner: ann, Tool: "tool", Key: "k", Resource: s1, At: at(0)}}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	if err := s.Commit(ctx, core.Batch{Owner: ann, Resource: "p", Create: true, Process: process(ann, "p", 0)}); err != nil {
		return err
	}
	_, sessionErr := s.Session(ctx, bob, s1)
	_, turnErr := s.Turn(ctx, bob, "t")
	_, requestErr := s.Request(ctx, bob, "q")
	_, processErr := s.Process(ctx, bob, "p")
	_, keyErr := s.Key(ctx, bob, "tool", "k")
	for what, err := range map[string]error{
		"session": sessionErr, "turn": turnErr, "request": requestErr, "process": processErr, "key": keyErr,
	} {
		if err := wantCode("another owner's "+what, err, core.CodeNotFound); err != nil {
			return err
		}
	}
	last, err := s.LastSeq(ctx, bob, s1)
	if err != nil {
		return err
	}
	claimed, err := s.Claim(ctx, bob, s1, "ins_a", "ins_b")
	if err != nil {
		return err
	}
	return steps(
		func() error { return same("another owner's last seq", last, 0) },
		func() error { return same("claiming what is another owner's", claimed, false) },
		func() error { return page(ctx, s, "another owner's events", core.EventQuery{Owner: bob}) },
		func() error { return wantLists(ctx, s, "another owner's rows", core.ListQuery{Owner: bob}, ids{}) },
		func() error {
			return wantLists(ctx, s, "of another owner's session", core.ListQuery{Owner: bob, SessionID: s1}, ids{})
		},
		func() error { return s.Delete(ctx, bob, s1) },
		func() error { return s.Trim(ctx, bob, s1, 100) },
		func() error { return s.DeleteKey(ctx, bob, "tool", "k") },
		func() error { return page(ctx, s, "her events after his writes", core.EventQuery{}, 1) },
		func() error { _, err := s.Key(ctx, ann, "tool", "k"); return err },
		func() error { _, err := s.Session(ctx, ann, s1); return err },
		func() error {
			return wantCode("his events for her session", s.Commit(ctx, more(bob, s1, 0, 2)), core.CodeNotFound)
		},
	)
}

// allOwners proves that AllOwners reads the rows and events of every owner, and that
// it is no owner for writes: Delete and Trim with it change nothing.
func allOwners(ctx context.Context, s core.Store) error {
	if err := populate(ctx, s); err != nil {
		return err
	}
	rec, err := s.Session(ctx, core.AllOwners, "z")
	if err != nil {
		return err
	}
	last, err := s.LastSeq(ctx, core.AllOwners, "a")
	if err != nil {
		return err
	}
	sessions, err := s.Sessions(ctx, core.ListQuery{Owner: core.AllOwners})
	if err != nil {
		return err
	}
	var got []string
	for _, r := range sessions {
		got = append(got, r.Session.ID)
	}
	return steps(
		func() error { return same("a session of any owner", rec, session(bob, "z", 5)) },
		func() error { return same("a last seq of any owner", last, 1) },
		func() error { return same("sessions of all owners", got, []string{"z", "d", "c", "b", "a"}) },
		func() error {
			return page(ctx, s, "events of any owner", core.EventQuery{Owner: core.AllOwners, Resource: "z"}, 1)
		},
		func() error { return s.Delete(ctx, core.AllOwners, "a") },
		func() error { return s.Trim(ctx, core.AllOwners, "a", 100) },
		func() error {
			return page(ctx, s, "events after a deletion by nobody", core.EventQuery{Resource: "a"}, 1)
		},
	)
}
