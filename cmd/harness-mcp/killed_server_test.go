package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// amount is how much of a dear test is run: HARNESS_MCP_TEST_<name>, or less.
func amount(t *testing.T, name string, usual int) int {
	t.Helper()
	text := os.Getenv("HARNESS_MCP_TEST_" + name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("HARNESS_MCP_TEST_%s: %v", name, err)
	}
	return n
}

// killedServer is a server that is going to be killed, and what its client was told.
type killedServer struct {
	*mcptest.Client
	cmd *exec.Cmd

	mu   sync.Mutex
	told map[string]*toldFacts // by session
}

// toldFacts is what a client was told of a session: that has happened, whatever
// becomes of the server. What it was told not to be stored is left out.
type toldFacts struct {
	events  map[uint64]string // ids by seq
	turns   []string
	closed  bool
	pruning bool // asked for: it is there as a whole, or gone
	pruned  bool
	failed  bool // its journal has said that it could not be written
	lossy   bool // and not yet that it can be again
}

// shown adds events in their order.
func (s *toldFacts) shown(list []shownEvent) {
	for _, e := range list {
		switch e.Type {
		case core.StoreFailure:
			s.failed, s.lossy = true, true
		case core.StoreRecovered:
			s.lossy = false
		}
		if !s.lossy && e.ID != "" { // as what stands for a gap has none
			s.events[e.Seq] = e.ID
		}
	}
}

// shownEvent is what is noted of an event.
type shownEvent struct {
	Seq  uint64         `json:"seq"`
	ID   string         `json:"id"`
	Type core.EventType `json:"type"`
}

// serveCommand is a server on a journal.
func serveCommand(t *testing.T, db string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--db", db}, argv...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	return cmd
}

func startKilledServer(t *testing.T, db string, argv ...string) *killedServer {
	t.Helper()
	v := &killedServer{cmd: serveCommand(t, db, argv...)}
	v.Client = mcptest.Start(t, v.cmd)
	v.Forgetful = true
	v.Initialize(t.Context())
	return v
}

func (v *killedServer) kill(t *testing.T) {
	t.Helper()
	if err := v.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-v.Closed()
}

// ask calls a tool until the server is gone.
func (v *killedServer) ask(ctx context.Context, tool string, a args) (g got, ok bool) {
	r, err := v.Call(ctx, tool, a)
	if err != nil || json.Unmarshal(r.Structured, &g) != nil {
		return g, false
	}
	return g, !r.IsError
}

// note adds to what the client was told of a session.
func (v *killedServer) note(id string, what func(*toldFacts)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.told[id] == nil {
		if v.told == nil {
			v.told = map[string]*toldFacts{}
		}
		v.told[id] = &toldFacts{events: map[uint64]string{}}
	}
	what(v.told[id])
}

// openAtOnce is how many of its sessions a client leaves open.
const openAtOnce = 6

// live runs one session after another until the server is gone, and notes
// whatever it is told.
func (v *killedServer) live(ctx context.Context, cwd string) {
	prompts := []string{"stream 60\nsay done", "think of it\nslow 30\nstream 20", "approve\nsay never", "stream 1200"}
	var open []string
	for n := 0; ; n++ {
		s, ok := v.ask(ctx, "start_session", args{"provider": "demo", "cwd": cwd})
		if !ok {
			return
		}
		v.note(s.SessionID, func(*toldFacts) {})
		v.turn(ctx, "send_message", s.SessionID, prompts[n%len(prompts)])
		v.turn(ctx, "follow_up", s.SessionID, "say later")
		if !v.watch(ctx, s.SessionID) {
			return
		}
		if open = append(open, s.SessionID); n%2 == 1 && len(open) < openAtOnce {
			continue
		}
		v.end(ctx, open[0], n%3 == 0)
		open = open[1:]
	}
}

// turn begins one and notes that it was taken.
func (v *killedServer) turn(ctx context.Context, tool, id, prompt string) {
	if g, ok := v.ask(ctx, tool, args{"session_id": id, "prompt": prompt}); ok {
		v.note(id, func(s *toldFacts) { s.turns = append(s.turns, g.TurnID) })
	}
}

// watch reads a session's journal until the session is at rest or asks, and
// notes every event that it is shown. It returns up with the server, or when that
// takes too long.
func (v *killedServer) watch(ctx context.Context, id string) (rested bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for after, rests := uint64(0), false; ; {
		r, err := v.Call(ctx, "replay", args{"id": id, "after": after, "view": "events", "limit": 500, "max_bytes": 64 << 10})
		if err != nil || r.IsError {
			return false
		}
		var page struct {
			Cursor uint64       `json:"cursor"`
			Events []shownEvent `json:"events"`
		}
		if json.Unmarshal(r.Structured, &page) != nil {
			return false
		}
		v.note(id, func(s *toldFacts) { s.shown(page.Events) })
		after = page.Cursor
		if len(page.Events) > 0 {
			continue
		}
		if rests {
			return true
		}
		g, ok := v.ask(ctx, "await", args{"ids": []string{id}, "wait_ms": 20})
		if !ok {
			return false
		}
		rests = g.Outcome != "timeout"
	}
}

// end closes a session, and prunes it if that is wanted.
func (v *killedServer) end(ctx context.Context, id string, prune bool) {
	g, ok := v.ask(ctx, "close", args{"id": id})
	if !ok || g.Status != "closed" {
		return
	}
	v.note(id, func(s *toldFacts) { s.closed = true })
	if !prune {
		return
	}
	v.note(id, func(s *toldFacts) { s.pruning = true })
	if _, ok := v.ask(ctx, "prune", args{"id": id}); ok {
		v.note(id, func(s *toldFacts) { s.pruned = true })
	}
}
