package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// diary is the journal of one process on a store that a test makes fail, and
// what a reader of it has seen.
type diary struct {
	*journal.Journal
	t      *testing.T
	store  core.Store
	status core.ProcessStatus
	seen   map[uint64]string
}

const proc = "prc_1"

func newDiary(t *testing.T, s core.Store) *diary {
	return &diary{t: t, store: s, status: core.ProcessIsRunning, seen: map[uint64]string{},
		Journal: journal.New(journal.Options{Store: s, Owner: me.Owner, Resource: proc, Timeout: time.Second})}
}

// write commits events as the process's host does, and looks.
func (d *diary) write(ctx context.Context, keys []core.KeyRecord, types ...core.EventType) core.ProcessSnapshot {
	d.t.Helper()
	w := journal.Write{Keys: keys, Snapshot: d.record}
	for _, typ := range types {
		w.Entries = append(w.Entries, journal.Entry{Type: typ, At: time.Now(), Data: json.RawMessage(`{}`)})
		if typ == core.ProcessExited {
			d.status = core.ProcessDoneExited
		}
	}
	snap, err := d.Write(ctx, w)
	if err != nil {
		d.t.Fatal(err)
	}
	d.look()
	return snap
}

func (d *diary) record(seq uint64, dur core.Durability) core.ProcessRecord {
	return core.ProcessRecord{Process: core.ProcessSnapshot{ID: proc, Owner: me.Owner, Status: d.status, Durability: dur,
		Executable: "/bin/true", Argv: []string{}, CreatedAt: time.Now(), LastSeq: seq}}
}

// look wants that no number stands for two events.
func (d *diary) look() {
	d.t.Helper()
	events, err := d.Events(d.t.Context(), core.EventQuery{Resource: proc, Limit: 1000})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range events {
		if was, ok := d.seen[e.Seq]; ok && was != e.ID && e.Type != core.ReplayGap {
			d.t.Errorf("seq %d is %s and was another event", e.Seq, e.Type)
		}
		if e.Type != core.ReplayGap {
			d.seen[e.Seq] = e.ID
		}
	}
}

// recover lets time pass until the journal is durable again, or a minute.
func (d *diary) recover() bool {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if done := d.Trying(); done != nil {
			<-done
		} else {
			time.Sleep(time.Until(d.RetryAt()))
		}
		if _, ok := d.Retry(d.t.Context()); ok {
			d.look()
			return true
		}
		d.look()
	}
	return false
}

// stored lists the types of what is on disk.
func (d *diary) stored(s core.Store) (types []core.EventType) {
	for _, e := range eventsOf(d.t, s, proc) {
		types = append(types, e.Type)
	}
	return types
}

func inDiary(t *testing.T, f func(t *testing.T, d *diary, st *lateStore)) {
	synctest.Test(t, func(t *testing.T) {
		st := &lateStore{Store: memstore.New()}
		f(t, newDiary(t, st), st)
	})
}

func TestAProcessCommitThatComesThroughLateIsCountedAndNoNumberIsUsedTwice(t *testing.T) {
	inDiary(t, func(t *testing.T, d *diary, st *lateStore) {
		d.write(t.Context(), nil, core.ProcessStarted)
		st.stop()
		if got := d.write(t.Context(), nil, core.TypeStdout, core.TypeStdout).Durability; got != core.DurabilityDegraded {
			t.Errorf("durability = %s", got)
		}
		d.write(t.Context(), nil, core.TypeStdout)
		d.Retry(t.Context())
		<-d.Trying()
		d.Retry(t.Context())
		st.move(t)
		if !d.recover() {
			t.Fatal("it does not become durable again")
		}
		if snap := d.write(t.Context(), nil, core.TypeStdout); snap.Durability != core.Durable {
			t.Errorf("durability = %s", snap.Durability)
		}
		d.look()
		events := eventsOf(t, st.Store, proc)
		for _, e := range events {
			d.seen[e.Seq] += ""
			if d.seen[e.Seq] != "" && d.seen[e.Seq] != e.ID {
				t.Errorf("seq %d was shown as another event", e.Seq)
			}
			var gap struct {
				From uint64 `json:"lost_from"`
				To   uint64 `json:"lost_to"`
			}
			if e.Type != core.StoreRecovered {
				continue
			}
			if err := json.Unmarshal(e.Data, &gap); err != nil || gap.From != 4 || gap.To != e.Seq-1 {
				t.Errorf("what is on disk is said to be lost: %+v before %d", gap, e.Seq)
			}
		}
		want := []core.EventType{core.ProcessStarted, core.TypeStdout, core.TypeStdout, core.StoreRecovered, core.TypeStdout}
		if diff := cmp.Diff(want, d.stored(st.Store)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAProcessEndsOnceWhateverComesThroughLate(t *testing.T) {
	for name, c := range map[string]struct {
		before []core.EventType // written while the disk stands still
		after  []core.EventType // written in memory
		tries  int              // attempts that fail, the first of which comes through
		want   []core.EventType
	}{
		"the end itself": {[]core.EventType{core.TypeStdout, core.ProcessExited}, nil, 1,
			[]core.EventType{core.ProcessStarted, core.TypeStdout, core.ProcessExited}},
		"output before the end": {[]core.EventType{core.TypeStdout}, []core.EventType{core.TypeStdout, core.ProcessExited}, 1,
			[]core.EventType{core.ProcessStarted, core.TypeStdout, core.StoreRecovered, core.ProcessExited}},
	} {
		t.Run(name, func(t *testing.T) {
			inDiary(t, func(t *testing.T, d *diary, st *lateStore) {
				d.write(t.Context(), nil, core.ProcessStarted)
				st.stop()
				d.write(t.Context(), nil, c.before...)
				if len(c.after) > 0 {
					d.write(t.Context(), nil, c.after...)
				}
				for range c.tries {
					d.Retry(t.Context())
					<-d.Trying()
					d.Retry(t.Context())
				}
				st.move(t)
				if !d.recover() {
					t.Fatal("it does not become durable again")
				}
				if diff := cmp.Diff(c.want, d.stored(st.Store)); diff != "" {
					t.Error(diff)
				}
				rec, err := st.Process(t.Context(), me.Owner, proc)
				if err != nil || rec.Process.Status != core.ProcessDoneExited || rec.Process.Durability != core.Durable {
					t.Errorf("stored as %+v, %v", rec.Process, err)
				}
				// A restart finds it at rest.
				h := harness.New(harness.Config{Store: st.Store.(*memstore.Store).Reopen()})
				defer h.Shutdown(context.Background()) //nolint:errcheck // it has nothing
				if err := st.Store.Close(); err != nil {
					t.Fatal(err)
				}
				h.Recover(t.Context())
				res, err := h.Get(t.Context(), me.Owner, proc)
				if err != nil || res.Process.Status != core.ProcessDoneExited {
					t.Errorf("after a restart: %+v, %v", res.Process, err)
				}
			})
		})
	}
}

func TestAnAttemptThatCameThroughIsTheRecovery(t *testing.T) {
	inDiary(t, func(t *testing.T, d *diary, st *lateStore) {
		d.write(t.Context(), nil, core.ProcessStarted)
		st.fail.Store(true)
		d.write(t.Context(), nil, core.TypeStdout)
		d.write(t.Context(), nil, core.ProcessExited)
		st.fail.Store(false)
		st.stop()
		d.Retry(t.Context()) // this attempt comes through late
		<-d.Trying()
		d.Retry(t.Context())
		st.move(t)
		if !d.recover() {
			t.Fatal("it does not become durable again")
		}
		want := []core.EventType{core.ProcessStarted, core.StoreRecovered, core.ProcessExited}
		if diff := cmp.Diff(want, d.stored(st.Store)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKeysThatCameThroughLateDoNotKeepAProcessDegraded(t *testing.T) {
	inDiary(t, func(t *testing.T, d *diary, st *lateStore) {
		d.write(t.Context(), nil, core.ProcessStarted)
		st.stop()
		k := core.KeyRecord{Owner: me.Owner, Tool: "send_input", Key: "k", ArgsHash: "h", Resource: proc}
		d.write(t.Context(), []core.KeyRecord{k}, core.TypeStdout)
		st.move(t)
		k2 := k
		k2.Key = "k2"
		d.write(t.Context(), []core.KeyRecord{k2})
		if err := st.PutKey(t.Context(), core.KeyRecord{Owner: me.Owner, Tool: "send_input", Key: "k2", ArgsHash: "another's", Resource: "prc_2"}); err != nil {
			t.Fatal(err)
		}
		if !d.recover() {
			t.Fatal("it does not become durable again")
		}
		if got, err := st.Key(t.Context(), me.Owner, "send_input", "k"); err != nil || got.Resource != proc {
			t.Errorf("the key = %+v, %v", got, err)
		}
	})
}

// mutteringStore writes what it is given, or another's batch in its place, and
// says that it failed.
type mutteringStore struct {
	core.Store
	instead func(core.Batch) core.Batch // nil: works
}

func (s *mutteringStore) Commit(ctx context.Context, b core.Batch) error {
	if s.instead == nil {
		return s.Store.Commit(ctx, b)
	}
	if err := s.Store.Commit(ctx, s.instead(b)); err != nil {
		return err
	}
	return errors.New("the answer was lost")
}

func TestACommitWhoseAnswerWasLostIsFoundByItsEventsAndNotByItsNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		instead func(core.Batch) core.Batch
		want    core.Durability
	}{
		"its own": {func(b core.Batch) core.Batch { return b }, core.Durable},
		"another server's of the same numbers": {func(b core.Batch) core.Batch {
			b.Events = append([]core.Event{}, b.Events...)
			for i := range b.Events {
				b.Events[i].ID = core.NewEventID()
			}
			b.Instance = "ins_other"
			return b
		}, core.DurabilityDegraded},
		"an older one of this server": {func(b core.Batch) core.Batch {
			b.Events = append([]core.Event{}, b.Events...)
			for i := range b.Events {
				b.Events[i].ID = core.NewEventID()
			}
			return b
		}, core.DurabilityDegraded},
	} {
		t.Run(name, func(t *testing.T) {
			st := &mutteringStore{Store: memstore.New()}
			d := newDiary(t, st)
			d.write(t.Context(), nil, core.ProcessStarted)
			st.instead = c.instead
			if got := d.write(t.Context(), nil, core.TypeStdout).Durability; got != c.want {
				t.Errorf("durability = %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatAProcessWritesDuringAnAttemptStaysInOrderBehindIt(t *testing.T) {
	inDiary(t, func(t *testing.T, d *diary, st *lateStore) {
		d.write(t.Context(), nil, core.ProcessStarted)
		st.fail.Store(true)
		d.write(t.Context(), nil, core.TypeStdout)
		st.fail.Store(false)
		st.stop()
		d.Retry(t.Context())
		synctest.Wait() // the attempt stands still
		begin := time.Now()
		d.write(t.Context(), nil, core.TypeStderr)
		d.write(t.Context(), nil, core.ProcessStopping, core.ProcessExited)
		if took := time.Since(begin); took > 0 {
			t.Errorf("writing waited %s for an attempt", took)
		}
		st.move(t) // and it comes through, though its deadline passes
		if !d.recover() {
			t.Fatal("it does not become durable again")
		}
		got := d.stored(st.Store)
		if got[len(got)-1] != core.ProcessExited || count(eventsOf(t, st.Store, proc), func(e core.Event) bool { return e.Type == core.ProcessExited }) != 1 {
			t.Errorf("stored: %v", got)
		}
	})
}

func TestAWriteEndsWithTheServer(t *testing.T) {
	inDiary(t, func(t *testing.T, d *diary, st *lateStore) {
		d.write(t.Context(), nil, core.ProcessStarted)
		st.stop()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		d.write(ctx, nil, core.TypeStdout)
		d.Retry(ctx)
		<-d.Trying()
		if took := time.Since(begin); took > 200*time.Millisecond {
			t.Errorf("it waited %s for the disk", took)
		}
		st.move(t)
	})
}

// keysFail is a store that fails for batches that have keys and no events, as
// long as it is to.
type keysFail struct {
	*lateStore
	times int
}

func (s *keysFail) Commit(ctx context.Context, b core.Batch) error {
	if len(b.Keys) > 0 && len(b.Events) == 0 && s.times > 0 {
		s.times--
		return errors.New("disk full")
	}
	return s.lateStore.Commit(ctx, b)
}

func TestNothingFollowsAnEndThatAFailedAttemptFoundOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := &lateStore{Store: memstore.New()}
		d := newDiary(t, &keysFail{late, 2})
		d.write(t.Context(), nil, core.ProcessStarted)
		late.stop()
		d.write(t.Context(), nil, core.TypeStdout, core.ProcessExited)
		k := core.KeyRecord{Owner: me.Owner, Tool: "send_input", Key: "k", ArgsHash: "h", Resource: proc}
		d.write(t.Context(), []core.KeyRecord{k})
		late.move(t)
		if !d.recover() {
			t.Fatal("it does not become durable again")
		}
		want := []core.EventType{core.ProcessStarted, core.TypeStdout, core.ProcessExited}
		if diff := cmp.Diff(want, d.stored(late.Store)); diff != "" {
			t.Error(diff)
		}
		if got, err := late.Key(t.Context(), me.Owner, "send_input", "k"); err != nil || got.Resource != proc {
			t.Errorf("the key = %+v, %v", got, err)
		}
		if rec, err := late.Process(t.Context(), me.Owner, proc); err != nil || rec.Process.Status != core.ProcessDoneExited || rec.Process.LastSeq != d.Seq() {
			t.Errorf("stored as %+v, %v; the journal is at %d", rec.Process, err, d.Seq())
		}
	})
}
