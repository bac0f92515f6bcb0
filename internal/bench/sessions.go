package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

var caller = core.Caller{Owner: owner, Client: "bench"}

// talker is an agent that does nothing but talk: a prompt is the number of
// pieces that it says.
type talker struct{}

func (talker) Spec() core.Spec {
	return core.Spec{Name: "bench", Title: "Bench", Transports: []core.TransportSpec{{Name: "memory", Default: true,
		Capabilities: core.Capabilities{Resume: core.Native}}}}
}

func (talker) Status(context.Context) core.Status { return core.Status{Ready: true} }

func (talker) Open(context.Context, core.SessionConfig) (core.Conn, error) {
	return &talk{out: make(chan core.Notice), end: make(chan struct{})}, nil
}

type talk struct {
	out  chan core.Notice
	end  chan struct{}
	once sync.Once
}

func (*talk) Ready() core.Ready { return core.Ready{ProviderSessionID: "x"} }

func (c *talk) Send(op core.Op) error {
	if start, ok := op.(core.StartTurn); ok {
		go c.speak(start)
	}
	return nil
}

func (c *talk) speak(op core.StartTurn) {
	say := func(n core.Notice) bool {
		select {
		case c.out <- n:
			return true
		case <-c.end:
			return false
		}
	}
	say(core.OpDone{Op: op.ID, Ref: "r"})
	n, _ := strconv.Atoi(op.Input.Prompt) // the prompts are ours
	text := string(payload(0))
	for range n {
		if !say(core.Content{Turn: op.TurnID, Payload: core.MessageDelta{Item: "m", Text: text[25:325]}}) {
			return
		}
	}
	if n > 0 {
		say(core.TurnEnded{Turn: op.TurnID, Verdict: core.VerdictCompleted})
	}
}

func (c *talk) Recv(ctx context.Context) (core.Notice, error) {
	select {
	case n := <-c.out:
		return n, nil
	case <-c.end:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *talk) Close(context.Context) error {
	c.once.Do(func() { close(c.end) })
	return nil
}

// newHarness is the whole stack but for the agents' processes.
func newHarness(ctx context.Context, path string) (*harness.Harness, *sqlitestore.Store, error) {
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Durability: *durability})
	if err != nil {
		return nil, nil, err
	}
	h := harness.New(harness.Config{Store: s, Providers: []core.Provider{talker{}}, Limits: core.Limits{MaxSessions: 1 << 20}})
	return h, s, nil
}

func startAll(ctx context.Context, h *harness.Harness, dir string, n int) ([]string, error) {
	ids := make([]string, n)
	return ids, sideBySide(n, func(i int) error {
		v, err := h.StartSession(ctx, caller, core.StartRequest{Config: core.SessionConfig{Provider: "bench", CWD: dir}})
		ids[i] = v.Session.ID
		return err
	})
}

// stack lets many sessions talk at once and waits until every word of them is
// durable. The floor is as for the store alone.
func stack(ctx context.Context, dir string) (rows []row, err error) {
	for _, c := range []struct {
		sessions, each int
		goal           string
	}{{64, 200, "0.5"}, {1000, 40, "0.3"}} {
		if *onlySessions != 0 && c.sessions != *onlySessions {
			continue
		}
		h, s, err := newHarness(ctx, filepath.Join(dir, fmt.Sprintf("stack%d.db", c.sessions)))
		if err != nil {
			return nil, err
		}
		ids, err := startAll(ctx, h, dir, c.sessions)
		if err != nil {
			return nil, err
		}
		f, err := newFloor(dir)
		if err != nil {
			return nil, err
		}
		write, stop := f.grouped()
		var ratios []float64
		for range *rounds {
			raw, rawCPU, err := closedLoop(ids, 0, c.each, func(b core.Batch) error { return write(b.Events[0]) })
			if err != nil {
				return nil, err
			}
			bytes, objects := allocated()
			ours, cpu, err := timed(c.sessions*c.each, func() error {
				return sideBySide(c.sessions, func(i int) error {
					t, err := h.SendMessage(ctx, caller, core.SendRequest{SessionID: ids[i], Input: core.TurnInput{Prompt: fmt.Sprint(c.each)}})
					if err != nil {
						return err
					}
					_, err = h.Await(ctx, caller, core.AwaitRequest{IDs: []string{t.ID}, Wait: time.Hour})
					return err
				})
			})
			if err != nil {
				return nil, err
			}
			bytesAfter, objectsAfter := allocated()
			n := uint64(c.sessions * c.each)
			details("%d sessions, us/event (of processor time): floor %.2f (%.2f), stack %.2f (%.2f), which allocates %d bytes in %d objects",
				c.sessions, raw, rawCPU, ours, cpu, (bytesAfter-bytes)/n, (objectsAfter-objects)/n)
			ratios = append(ratios, raw/ours)
		}
		stop()
		if err := heapProfile(); err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("durable append through the whole stack, %d sessions / raw append and fdatasync", c.sessions), spread(ratios), c.goal})
		if err := errors.Join(h.Shutdown(ctx), s.Close(), f.f.Close()); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// allocated is what the process has allocated so far.
func allocated() (bytes, objects uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc, m.Mallocs
}

// idle measures what a session that waits costs.
func idle(ctx context.Context, dir string) ([]row, error) {
	const sessions = 2000
	h, s, err := newHarness(ctx, filepath.Join(dir, "idle.db"))
	if err != nil {
		return nil, err
	}
	used := func() (heap, stacks uint64) {
		var m runtime.MemStats
		for range 3 { // stacks shrink at a collection
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.StackInuse
	}
	if _, err := startAll(ctx, h, dir, 100); err != nil { // what the first ones bring for all
		return nil, err
	}
	heapBefore, stacksBefore := used()
	if _, err := startAll(ctx, h, dir, sessions); err != nil {
		return nil, err
	}
	time.Sleep(untilPacked)
	heapAfter, stacksAfter := used()
	for range 3 { // the housekeeper's look at what lives is no session's, and passes
		time.Sleep(time.Second)
		if heap, stacks := used(); heap+stacks < heapAfter+stacksAfter {
			heapAfter, stacksAfter = heap, stacks
		}
	}
	perHeap, perStacks := float64(heapAfter-heapBefore)/sessions, float64(stacksAfter-stacksBefore)/sessions
	details("per idle session: %.1f KiB of heap, %.1f KiB of stacks", perHeap/1024, perStacks/1024)
	if err := heapProfile(); err != nil {
		return nil, err
	}
	return []row{{"memory per idle session without a child", fmt.Sprintf("%.1f KiB", (perHeap+perStacks)/1024), "at most 24 KiB"}}, errors.Join(h.Shutdown(ctx), s.Close())
}

// recovery starts a server on what another left behind that was killed with a
// thousand running turns.
func recovery(ctx context.Context, dir string) ([]row, error) {
	const sessions = 1000
	h, s, err := newHarness(ctx, filepath.Join(dir, "before.db"))
	if err != nil {
		return nil, err
	}
	ids, err := startAll(ctx, h, dir, sessions)
	if err != nil {
		return nil, err
	}
	if err := sideBySide(sessions, func(i int) error {
		_, err := h.SendMessage(ctx, caller, core.SendRequest{SessionID: ids[i], Input: core.TurnInput{Prompt: "0"}})
		return err
	}); err != nil {
		return nil, err
	}
	after := filepath.Join(dir, "after.db") // as the disk is now: its server is not there
	if err := s.Copy(after); err != nil {
		return nil, err
	}
	if err := errors.Join(h.Shutdown(ctx), s.Close()); err != nil {
		return nil, err
	}
	begin := time.Now()
	next, store, err := newHarness(ctx, after)
	if err != nil {
		return nil, err
	}
	next.Recover(ctx)
	took := time.Since(begin)
	live := true
	left, err := store.Sessions(ctx, core.ListQuery{Owner: core.AllOwners, Live: &live})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d sessions are still live", len(left))
	}
	return []row{{"recovery at boot with 1,000 interrupted sessions", fmt.Sprintf("%.2f s", took.Seconds()), "at most 1 s"}}, errors.Join(err, next.Shutdown(ctx), store.Close())
}
