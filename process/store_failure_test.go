//go:build unix

package process

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// failing is a store that can be made to fail, to hang, or to fail and to keep
// what it was given.
type failing struct {
	core.Store
	fail, hang, late atomic.Bool
	stuck            atomic.Int32 // commits that hang
	kept             core.Batch
}

func (f *failing) Commit(ctx context.Context, b core.Batch) error {
	if f.hang.Load() {
		f.stuck.Add(1)
		defer f.stuck.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}
	if f.late.Load() {
		f.kept = b
		return errors.New("no answer")
	}
	if f.fail.Load() {
		return errors.New("no space")
	}
	return f.Store.Commit(ctx, b)
}

func TestAProcessGoesOnWithoutItsJournalAndSaysSo(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store})
	s := shell("echo one; read x; echo two; read x; echo three; read x")
	s.Stdin = true
	p := r.start(s)
	line := func() {
		if _, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Data: []byte("\n")}}); err != nil {
			t.Fatal(err)
		}
	}
	r.ready(p.ID, "^one$")
	store.fail.Store(true)
	line()
	m := r.ready(p.ID, "^two$")
	if now, _ := r.s.Get("o", p.ID); now.Durability != core.DurabilityDegraded {
		t.Errorf("durability %s", now.Durability)
	}
	if out, _ := r.output(p.ID); out != "one\ntwo\n" {
		t.Errorf("%q", out)
	}
	store.fail.Store(false)
	eventually(t, "a journal that works again", func() bool { now, _ := r.s.Get("o", p.ID); return now.Durability == core.Durable })
	line()
	r.ready(p.ID, "^three$")
	line()
	p = r.end(p.ID)
	if out, _ := r.output(p.ID); out != "one\nthree\n" || p.Status != core.ProcessDoneExited {
		t.Errorf("%q of %+v", out, p)
	}
	want := []core.EventType{core.ProcessStarted, core.ReplayGap, core.StoreRecovered, core.ProcessExited}
	if d := cmp.Diff(want[:1], types(r.events(p.ID))[:1]); d != "" {
		t.Error(d)
	}
	page, err := r.h.Replay(t.Context(), "o", core.ReplayRequest{ID: p.ID, After: m.Seq - 1})
	if err != nil || page.AvailableFrom != m.Seq+1 {
		t.Errorf("what was lost is not said: %+v, %v", page, err)
	}
	if d := cmp.Diff(want[1:], types(page.Events)); d != "" {
		t.Error(d)
	}
}

func TestTheEndOfAProcessIsStoredOnceTheStoreWorksAgain(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store})
	p := r.sh("echo one; sleep 0.1; exit 4")
	r.ready(p.ID, "^one$")
	store.fail.Store(true)
	p = r.end(p.ID)
	if p.Status != core.ProcessDoneExited || p.Durability != core.DurabilityDegraded {
		t.Errorf("%+v", p)
	}
	live := types(r.events(p.ID))
	if d := cmp.Diff([]core.EventType{core.ProcessStarted, core.StoreFailure, core.ProcessExited}, live); d != "" {
		t.Error(d)
	}
	store.fail.Store(false)
	eventually(t, "it is stored", func() bool { _, hosted := r.s.Get("o", p.ID); return !hosted })
	now := r.end(p.ID)
	if now.Status != core.ProcessDoneExited || *now.ExitCode != 4 || now.LastSeq != p.LastSeq || now.Durability != core.Durable {
		t.Errorf("%+v", now)
	}
	if d := cmp.Diff([]core.EventType{core.ProcessStarted, core.StoreRecovered, core.ProcessExited}, types(r.events(p.ID))); d != "" {
		t.Error(d)
	}
}

func TestAServerThatStopsOnStoreFailureEndsTheProcess(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store, stop: true})
	s := shell("echo one; read x; echo two; sleep 600")
	s.Stdin = true
	p := r.start(s)
	r.ready(p.ID, "^one$")
	store.fail.Store(true)
	if _, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: shell("sleep 600")}); core.CodeOf(err) != core.CodeStoreFailed {
		t.Errorf("a start that cannot be stored: %v", err)
	}
	if _, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Data: []byte("\n")}}); err != nil {
		t.Fatal(err)
	}
	if p = r.end(p.ID); p.Status != core.ProcessDoneFailed || p.Error == nil || p.Error.Code != core.CodeStoreFailed {
		t.Errorf("%+v", p)
	}
	store.fail.Store(false)
}

func TestAStoreThatHangsDelaysNoKill(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store, limits: core.Limits{StoreTimeout: 500 * time.Millisecond}})
	p := r.sh("echo one; while :; do echo more; done")
	r.ready(p.ID, "^one$")
	store.hang.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	m := r.s.find("o", p.ID)
	go r.s.Stop(ctx, "o", p.ID, core.ProcessStop{Force: true}) //nolint:errcheck // it may wait for the store
	select {
	case <-m.child.gone:
	case <-ctx.Done():
		t.Error("it lives on")
	}
	store.hang.Store(false)
}

func TestTheOldestOutputGoesWhenThereIsTooMuch(t *testing.T) {
	const limit = 4 << 20
	r := newRoom(t, roomOptions{store: openSQLite(t), cap: limit})
	p := r.sh("i=0; while [ $i -lt 12 ]; do head -c 1000000 /dev/zero | tr '\\0' x; echo; echo mark $i; i=$((i+1)); done")
	p = r.end(p.ID)
	if p.StdoutBytes < 12_000_000 {
		t.Errorf("%+v", p)
	}
	events := r.events(p.ID)
	if len(events) == 0 || events[0].Type != core.ReplayGap {
		t.Fatalf("%d events, and no gap is said", len(events))
	}
	var gap struct {
		From uint64 `json:"available_from"`
	}
	if err := json.Unmarshal(events[0].Data, &gap); err != nil || gap.From != events[1].Seq {
		t.Errorf("the gap says %+v before %d, %v", gap, events[1].Seq, err)
	}
	out, _ := r.output(p.ID)
	if n := int64(len(out)); n > limit || n < limit/2 {
		t.Errorf("%d bytes are kept of a limit of %d", n, limit)
	}
	if !strings.HasSuffix(out, "mark 11\n") {
		t.Errorf("the newest is not kept: %q", out[max(0, len(out)-20):])
	}
	if types := types(events); types[len(types)-1] != core.ProcessExited {
		t.Errorf("%v", types)
	}
	if res := r.await(core.AwaitRequest{IDs: []string{p.ID}, Pattern: "^mark 11$"}); res.Outcome != core.OutcomeMatched {
		t.Errorf("a pattern behind the gap: %s", res.Outcome)
	}
}

// sink is a store that keeps no output, but its hash and the most memory that
// was alive at any commit.
type sink struct {
	*memstore.Store
	hash hash.Hash
	peak uint64
}

func (s *sink) Commit(ctx context.Context, b core.Batch) error {
	s.peak = max(s.peak, liveHeap())
	b.Events = slices.Clone(b.Events)
	for i, e := range b.Events {
		var d core.OutputData
		if e.Type != core.TypeStdout {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.hash.Write(d.Bytes())
		b.Events[i].Data = json.RawMessage("{}")
	}
	return s.Store.Commit(ctx, b)
}

// liveHeap is how much memory the last collection found in use, in bytes. Until
// the next one as much again may be taken.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestAHundredMegabytesComeThroughByteForByteInLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("100 MB take a while")
	}
	const size, most = 100 << 20, 8 << 20 // and so 16 MiB with what waits to be collected
	store := &sink{Store: memstore.New(), hash: sha256.New()}
	r := newRoom(t, roomOptions{store: store})
	runtime.GC()
	before := liveHeap()
	p := r.sh("yes 'the quick brown fox jumps over the lazy dog 0123456789' | head -c 104857600")
	res := r.await(core.AwaitRequest{IDs: []string{p.ID}, Wait: 3 * time.Minute})
	if p = *res.Results[0].Process; p.StdoutBytes != size || p.Status != core.ProcessDoneExited {
		t.Fatalf("%+v", p)
	}
	want := sha256.New()
	line := []byte("the quick brown fox jumps over the lazy dog 0123456789\n")
	for n := 0; n < size; n += len(line) {
		want.Write(line[:min(len(line), size-n)])
	}
	if string(store.hash.Sum(nil)) != string(want.Sum(nil)) {
		t.Error("the bytes differ")
	}
	t.Logf("%d KiB in use before, at most %d KiB meanwhile", before>>10, store.peak>>10)
	if store.peak > before+most {
		t.Errorf("100 MB took %d bytes of memory, at most %d are allowed", store.peak-before, most)
	}
}

func TestShutdownWaitsForNoDisk(t *testing.T) {
	store := &failing{Store: memstore.New()}
	s := NewSupervisor(SupervisorOptions{Local: NewLocal(Options{Instance: store.Instance()}), Store: store})
	h := harness.New(harness.Config{Store: store, Processes: s})
	p, err := h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: shell("while :; do echo more; sleep 0.01; done")})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its output", func() bool { now, _ := s.Get("o", p.ID); return now.LastSeq > 1 })
	store.hang.Store(true)
	stuck, _ := s.Get("o", p.ID)
	eventually(t, "a store that stands still", func() bool { now, _ := s.Get("o", p.ID); was := stuck.LastSeq; stuck = now; return now.LastSeq == was })
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err == nil {
		t.Error("it says that all is stored")
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("the end took %s", d)
	}
	if stuck, hosted := s.Get("o", p.ID); hosted {
		t.Errorf("it is still there: %+v", stuck)
	}
}

func TestACloseDoesNotWaitForAnAttemptToRecover(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store, limits: core.Limits{StoreTimeout: 4 * time.Second}})
	p := r.sh("echo one; trap '' INT TERM; while :; do echo more; sleep 0.01; done")
	r.ready(p.ID, "^one$")
	store.fail.Store(true)
	eventually(t, "the failure", func() bool { now, _ := r.s.Get("o", p.ID); return now.Durability == core.DurabilityDegraded })
	store.hang.Store(true)
	m := r.s.find("o", p.ID)
	eventually(t, "an attempt", func() bool { return store.stuck.Load() > 0 })
	begin := time.Now()
	p, err := r.s.Stop(t.Context(), "o", p.ID, core.ProcessStop{Force: true, Reason: core.ReasonForcedStop})
	if err != nil || p.Status != core.ProcessDoneCancelled {
		t.Errorf("%+v, %v", p, err)
	}
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("the close took %s", d)
	}
	store.fail.Store(false)
	store.hang.Store(false)
	<-m.treeGone
}

func TestAProcessThatWasGivenUpAndComesToTheDiskLateIsPutToRest(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store, stop: true})
	store.late.Store(true)
	_, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: shell("sleep 600")})
	if core.CodeOf(err) != core.CodeStoreFailed {
		t.Fatalf("a start that cannot be stored: %v", err)
	}
	store.late.Store(false)
	if err := store.Store.Commit(t.Context(), store.kept); err != nil {
		t.Fatal(err)
	}
	r.h.Recover(t.Context())
	page, err := r.h.List(t.Context(), "o", core.ListRequest{Kind: core.KindProcess})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d processes, %v", len(page.Items), err)
	}
	p := page.Items[0].Process
	if p.Status != core.ProcessDoneFailed || p.Reason != core.ReasonDurabilityLost {
		t.Errorf("%+v", p)
	}
	if d := cmp.Diff([]core.EventType{core.ProcessStarted, core.ProcessFailed}, types(r.events(p.ID))); d != "" {
		t.Error(d)
	}
}

func TestAProcessThatCouldNotStartIsKnownThoughItIsNotStored(t *testing.T) {
	store := &failing{Store: memstore.New()}
	r := newRoom(t, roomOptions{store: store})
	store.fail.Store(true)
	p := r.start(core.ProcessSpec{Executable: "/nowhere/at/all"})
	if p.Status != core.ProcessDoneFailed || p.Durability != core.DurabilityDegraded {
		t.Errorf("%+v", p)
	}
	if now := r.end(p.ID); now.Status != core.ProcessDoneFailed {
		t.Errorf("%+v", now)
	}
	if now, err := r.h.Close(t.Context(), caller, core.CloseRequest{ID: p.ID, Force: true}); err != nil || now.Process.Status != core.ProcessDoneFailed || now.Process.Reason != "" {
		t.Errorf("%+v, %v", now.Process, err)
	}
	store.fail.Store(false)
	eventually(t, "it is stored", func() bool { _, hosted := r.s.Get("o", p.ID); return !hosted })
	if now := r.end(p.ID); now.Durability != core.Durable || now.Error == nil {
		t.Errorf("%+v", now)
	}
	if d := cmp.Diff([]core.EventType{core.StoreRecovered, core.ProcessFailed}, without(types(r.events(p.ID)), core.ReplayGap)); d != "" {
		t.Error(d)
	}
}

func without(all []core.EventType, one core.EventType) []core.EventType {
	return slices.DeleteFunc(all, func(t core.EventType) bool { return t == one })
}
