package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// keyOnce proves that an idempotency key is written once per owner, tool and key: a
// second write is a conflict and the first record stays.
func keyOnce(ctx context.Context, s core.Store) error {
	k := core.KeyRecord{Owner: ann, Tool: "send_input", Key: "k", ArgsHash: "h", Resource: s1, TurnID: "t", At: at(0)}
	other := k
	other.ArgsHash = "other"
	elsewhere := k
	elsewhere.Tool = "steer"
	if err := steps(
		func() error { return s.PutKey(ctx, k) },
		func() error { return wantConflict("the key again", s.PutKey(ctx, other), "key", "k") },
		func() error { return s.PutKey(ctx, elsewhere) },
		func() error { k := k; k.Owner = bob; return s.PutKey(ctx, k) },
	); err != nil {
		return err
	}
	got, err := s.Key(ctx, ann, "send_input", "k")
	if err != nil {
		return err
	}
	return same("the key", got, k)
}

// keyInBatch proves that a key is stored in one step with its effect, that a
// second batch with the key has no effect, and that the key outlives the deletion of
// the resource.
func keyInBatch(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0)
	b.Keys = []core.KeyRecord{{Owner: ann, Tool: "start_session", Key: "k", ArgsHash: "h", Resource: s1, At: at(0)}}
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	got, err := s.Key(ctx, ann, "start_session", "k")
	if err != nil {
		return err
	}
	second := opened(ann, s2, 0)
	second.Keys = b.Keys
	_, gone := s.Session(ctx, ann, s2)
	return steps(
		func() error { return same("the key", got, b.Keys[0]) },
		func() error {
			return wantConflict("a second effect of one key", s.Commit(ctx, second), "key", "k")
		},
		func() error { return wantCode("the second session", gone, core.CodeNotFound) },
		func() error { return s.Delete(ctx, ann, s1) },
		func() error { _, err := s.Key(ctx, ann, "start_session", "k"); return err },
	)
}

// keyCompleted claims keys before their effect, as a call does whose effect
// cannot be taken back.
func keyCompleted(ctx context.Context, s core.Store) error {
	claim := core.KeyRecord{Owner: ann, Tool: "steer", Key: "k", ArgsHash: "h", At: at(0)}
	done := claim
	done.Resource, done.TurnID, done.At = s1, "t", at(1)
	other := done
	other.ArgsHash = "other"
	batch := func(expect, seq uint64, k core.KeyRecord) core.Batch {
		b := more(ann, s1, expect, seq)
		b.Keys = []core.KeyRecord{claim, k} // of two in one batch the last counts
		return b
	}
	if err := steps(
		func() error { return s.Commit(ctx, opened(ann, s1, 0, 1)) },
		func() error { return s.PutKey(ctx, claim) },
		func() error {
			return wantConflict("a claim of other arguments", s.Commit(ctx, batch(1, 2, other)), "key", "k")
		},
		func() error { return s.Commit(ctx, batch(1, 2, done)) },
		func() error {
			return wantConflict("a completed key", s.Commit(ctx, batch(2, 3, done)), "key", "k")
		},
	); err != nil {
		return err
	}
	got, err := s.Key(ctx, ann, "steer", "k")
	if err != nil {
		return err
	}
	return same("the completed key", got, done)
}

// keysGo proves that DeleteKey can be repeated, that SweepKeys removes the keys
// older than its time and no others, and that a removed key is free again.
func keysGo(ctx context.Context, s core.Store) error {
	for i, key := range []string{"k0", "k1", "k2"} {
		if err := s.PutKey(ctx, core.KeyRecord{Owner: ann, Tool: "tool", Key: key, At: at(i)}); err != nil {
			return err
		}
	}
	free := func(key string) error {
		_, err := s.Key(ctx, ann, "tool", key)
		return wantCode("the key "+key, err, core.CodeNotFound)
	}
	return steps(
		func() error { return s.DeleteKey(ctx, ann, "tool", "k2") },
		func() error { return s.DeleteKey(ctx, ann, "tool", "k2") },
		func() error { return free("k2") },
		func() error { return s.SweepKeys(ctx, at(1)) },
		func() error { return free("k0") },
		func() error { _, err := s.Key(ctx, ann, "tool", "k1"); return err },
		func() error { return s.PutKey(ctx, core.KeyRecord{Owner: ann, Tool: "tool", Key: "k0", At: at(9)}) },
	)
}

// racers is how many callers race in the checks of concurrency.
const racers = 16

// race runs f many times at once and joins the errors.
func race(f func(i int) error) error {
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// claimRace proves that Claim is an atomic comparison and exchange: of all racers
// with the same expected instance, exactly one gets true and the record has its
// instance. Claiming what does not exist is false without an error.
func claimRace(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	won := make([]bool, racers)
	if err := race(func(i int) (err error) {
		won[i], err = s.Claim(ctx, ann, s1, "ins_a", fmt.Sprintf("racer-%d", i))
		return err
	}); err != nil {
		return err
	}
	winners, winner := 0, ""
	for i, w := range won {
		if w {
			winners++
			winner = fmt.Sprintf("racer-%d", i)
		}
	}
	if winners != 1 {
		return fmt.Errorf("%d of %d racers claimed the session", winners, racers)
	}
	rec, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	back, err := s.Claim(ctx, ann, s1, winner, "ins_a")
	if err != nil {
		return err
	}
	none, err := s.Claim(ctx, ann, "nothing", "", "ins_a")
	if err != nil {
		return err
	}
	return steps(
		func() error { return same("the owning instance", rec.Instance, winner) },
		func() error { return same("giving it back", back, true) },
		func() error { return same("claiming nothing", none, false) },
	)
}

// childLog proves that a child is identified by instance and pid, that a later
// record replaces the former (the system uses pids again), that the list is ordered
// by instance and pid, and that DeleteChild can be repeated.
func childLog(ctx context.Context, s core.Store) error {
	child := func(instance string, pid int) core.Child {
		return core.Child{PID: pid, StartTime: 77, BootID: "boot", Instance: instance, Resource: s1, Path: "/bin/true", At: at(pid)}
	}
	again := child("ins_a", 2)
	again.StartTime = 99
	for _, c := range []core.Child{child("ins_a", 1), child("ins_a", 2), child("ins_b", 1), again} {
		if err := s.PutChild(ctx, c); err != nil {
			return err
		}
	}
	want := func(what, instance string, want ...core.Child) error {
		got, err := s.Children(ctx, instance)
		if err != nil {
			return err
		}
		return same(what, append([]core.Child{}, got...), append([]core.Child{}, want...))
	}
	return steps(
		func() error { return want("one instance's children", "ins_a", child("ins_a", 1), again) },
		func() error { return want("all children", "", child("ins_a", 1), again, child("ins_b", 1)) },
		func() error { return s.DeleteChild(ctx, "ins_a", 1) },
		func() error { return s.DeleteChild(ctx, "ins_a", 1) },
		func() error { return want("children left", "", again, child("ins_b", 1)) },
		func() error { return want("children of no instance", "ins_c") },
	)
}

// trim proves that Trim removes the events below a seq and no others, and that
// LastSeq stays even if no event is left: a seq is never used twice.
func trim(ctx context.Context, s core.Store) error {
	if err := tenEvents(ctx, s); err != nil {
		return err
	}
	lastSeq := func() error {
		last, err := s.LastSeq(ctx, ann, s1)
		if err != nil {
			return err
		}
		return same("last seq", last, 100)
	}
	return steps(
		func() error { return s.Trim(ctx, ann, s1, 80) },
		func() error { return page(ctx, s, "events before 80 trimmed", core.EventQuery{}, 80, 90, 100) },
		func() error { return s.Trim(ctx, ann, s1, 10) },
		func() error { return page(ctx, s, "trimmed again, less", core.EventQuery{}, 80, 90, 100) },
		func() error { return s.Trim(ctx, ann, s1, ^uint64(0)) },
		func() error { return page(ctx, s, "all trimmed", core.EventQuery{}) },
		lastSeq,
		func() error { return wantConflict("a used seq", s.Commit(ctx, more(ann, s1, 0, 1)), "seq", s1) },
		func() error { return s.Commit(ctx, more(ann, s1, 100, 101)) },
		func() error { return page(ctx, s, "events after trimming", core.EventQuery{}, 101) },
		func() error { return s.Trim(ctx, ann, "nothing", 5) },
	)
}

// deleteCascades deletes a session that has more events than a store may care
// to delete at once.
func deleteCascades(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 0)
	b.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	b.Requests = []core.Request{request(ann, s1, "t", "q", 1)}
	for n := range uint64(2500) {
		ev := event(s1, n+1)
		ev.TurnID = "t"
		ev.Raw = []byte(`{}`)
		b.Events = append(b.Events, ev)
	}
	if err := steps(
		func() error { return s.Commit(ctx, b) },
		func() error { return s.Commit(ctx, opened(ann, s2, 0, 1)) },
		func() error {
			return s.Commit(ctx, core.Batch{Owner: ann, Resource: "p", Create: true, Process: process(ann, "p", 0)})
		},
		func() error { return s.Delete(ctx, ann, s1) },
		func() error { return s.Delete(ctx, ann, s1) },
		func() error { return s.Delete(ctx, ann, "nothing") },
		func() error { return s.Delete(ctx, ann, "p") },
	); err != nil {
		return err
	}
	last, err := s.LastSeq(ctx, ann, s1)
	if err != nil {
		return err
	}
	_, turnErr := s.Turn(ctx, ann, "t")
	_, requestErr := s.Request(ctx, ann, "q")
	return steps(
		func() error { return wantLists(ctx, s, "lists", core.ListQuery{}, ids{core.KindSession: {s2}}) },
		func() error { return wantCode("its turn", turnErr, core.CodeNotFound) },
		func() error { return wantCode("its request", requestErr, core.CodeNotFound) },
		func() error { return same("its last seq", last, 0) },
		func() error { return page(ctx, s, "its events", core.EventQuery{}) },
		func() error { return page(ctx, s, "another's events", core.EventQuery{Resource: s2}, 1) },
		func() error {
			return wantCode("a late batch", s.Commit(ctx, more(ann, s1, 0, 3000)), core.CodeNotFound)
		},
		func() error {
			return wantConflict("a late batch that expects events", s.Commit(ctx, more(ann, s1, 2500, 3000)), "seq", s1)
		},
		func() error { return s.Commit(ctx, opened(ann, s1, 9, 4)) },
		func() error { return page(ctx, s, "events of the id's next session", core.EventQuery{}, 4) },
	)
}

// instanceAlive proves that the instance of an open store is alive, that unknown and
// malformed ids are not, and that Close ends the instance.
func instanceAlive(ctx context.Context, s core.Store) error {
	if s.Instance() == "" || !s.Alive(s.Instance()) {
		return fmt.Errorf("the store's own instance %q is not alive", s.Instance())
	}
	for _, id := range []string{"", "ins_unknown", "../x"} {
		if s.Alive(id) {
			return fmt.Errorf("the instance %q is alive", id)
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s.Alive(s.Instance()) {
		return errors.New("the instance of a closed store is alive")
	}
	return nil
}

// secretStays proves that the secret has at least 32 bytes and does not change.
func secretStays(ctx context.Context, s core.Store) error {
	if len(s.Secret()) < 32 {
		return fmt.Errorf("a secret of %d bytes", len(s.Secret()))
	}
	return same("the secret", s.Secret(), s.Secret())
}

// commitSideBySide lets each racer write a session of its own while the others
// do, and one more clash all the time.
func commitSideBySide(ctx context.Context, s core.Store) error {
	const batches = 20
	if err := race(func(i int) error {
		id := fmt.Sprintf("s%d", i)
		if err := s.Commit(ctx, opened(ann, id, i, 1)); err != nil {
			return err
		}
		for n := range uint64(batches) {
			seq := 1 + 2*n
			if err := s.Commit(ctx, more(ann, id, seq, seq+1, seq+2)); err != nil {
				return err
			}
			if err := wantConflict("a batch that clashes", s.Commit(ctx, more(ann, id, seq, seq+1)), "seq", id); err != nil {
				return err
			}
			last, err := s.LastSeq(ctx, ann, id)
			if err != nil {
				return err
			}
			if err := same("own write read back", last, seq+2); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range racers {
		id := fmt.Sprintf("s%d", i)
		want := []uint64{}
		for n := range uint64(1 + 2*batches) {
			want = append(want, n+1)
		}
		if err := page(ctx, s, "events of "+id, core.EventQuery{Resource: id}, want...); err != nil {
			return err
		}
	}
	return nil
}

// seqRace proves that of concurrent batches with the same ExpectSeq exactly one is
// stored, the one whose caller got no error. All others get a "seq" conflict.
func seqRace(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	won := make([]bool, racers)
	if err := race(func(i int) error {
		b := more(ann, s1, 1, 2)
		b.Events[0].ID = fmt.Sprintf("evt_racer_%d", i)
		err := s.Commit(ctx, b)
		if won[i] = err == nil; won[i] {
			return nil
		}
		return wantConflict("a racer that lost", err, "seq", s1)
	}); err != nil {
		return err
	}
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1, After: 1})
	if err != nil {
		return err
	}
	winners := 0
	for i, w := range won {
		if w {
			winners++
			if len(got) != 1 || got[0].ID != fmt.Sprintf("evt_racer_%d", i) {
				return fmt.Errorf("racer %d won and the journal has %v", i, got)
			}
		}
	}
	return same("winners", winners, 1)
}

// endedContext proves that each call with an ended context has no effect and returns
// CodeStoreFailed, wrapped around the error of the context.
func endedContext(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := eachCall(ended, s, func(what string, err error) error {
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: got error %v, want the context's", what, err)
		}
		return wantCode(what, err, core.CodeStoreFailed)
	}); err != nil {
		return err
	}
	return page(ctx, s, "events", core.EventQuery{}, 1)
}

// closedStore proves that Close can be repeated and that each call after it returns
// CodeStoreFailed.
func closedStore(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 0, 1)); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("closing again: %w", err)
	}
	return eachCall(ctx, s, func(what string, err error) error {
		return wantCode(what+" of a closed store", err, core.CodeStoreFailed)
	})
}

// eachCall makes one call of every method that takes a context.
func eachCall(ctx context.Context, s core.Store, check func(what string, err error) error) error {
	calls := map[string]func() error{
		"Commit":      func() error { return s.Commit(ctx, more(ann, s1, 1, 2)) },
		"Events":      func() error { _, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1}); return err },
		"LastSeq":     func() error { _, err := s.LastSeq(ctx, ann, s1); return err },
		"Session":     func() error { _, err := s.Session(ctx, ann, s1); return err },
		"Turn":        func() error { _, err := s.Turn(ctx, ann, "t"); return err },
		"Request":     func() error { _, err := s.Request(ctx, ann, "q"); return err },
		"Process":     func() error { _, err := s.Process(ctx, ann, "p"); return err },
		"Sessions":    func() error { _, err := s.Sessions(ctx, core.ListQuery{Owner: ann}); return err },
		"Turns":       func() error { _, err := s.Turns(ctx, core.ListQuery{Owner: ann}); return err },
		"Requests":    func() error { _, err := s.Requests(ctx, core.ListQuery{Owner: ann}); return err },
		"Processes":   func() error { _, err := s.Processes(ctx, core.ListQuery{Owner: ann}); return err },
		"Delete":      func() error { return s.Delete(ctx, ann, s1) },
		"Trim":        func() error { return s.Trim(ctx, ann, s1, 100) },
		"Key":         func() error { _, err := s.Key(ctx, ann, "tool", "k"); return err },
		"PutKey":      func() error { return s.PutKey(ctx, core.KeyRecord{Owner: ann, Tool: "tool", Key: "k"}) },
		"DeleteKey":   func() error { return s.DeleteKey(ctx, ann, "tool", "k") },
		"SweepKeys":   func() error { return s.SweepKeys(ctx, at(0)) },
		"Claim":       func() error { _, err := s.Claim(ctx, ann, s1, "a", "b"); return err },
		"PutChild":    func() error { return s.PutChild(ctx, core.Child{Instance: "i", PID: 1}) },
		"DeleteChild": func() error { return s.DeleteChild(ctx, "i", 1) },
		"Children":    func() error { _, err := s.Children(ctx, ""); return err },
	}
	for what, call := range calls {
		if err := check(what, call()); err != nil {
			return err
		}
	}
	return nil
}
