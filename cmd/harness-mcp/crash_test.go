package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
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

// victim is a server that is going to be killed, and what its client was told.
type victim struct {
	*mcptest.Client
	cmd *exec.Cmd

	mu   sync.Mutex
	told map[string]map[uint64]string // events by session: seq to id
}

func startVictim(t *testing.T, db string, argv ...string) *victim {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--db", db}, argv...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	v := &victim{cmd: cmd, told: map[string]map[uint64]string{}}
	v.Client = mcptest.Start(t, cmd)
	v.Initialize(t.Context())
	return v
}

func (v *victim) kill(t *testing.T) {
	t.Helper()
	if err := v.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	<-v.Closed()
}

// ask calls a tool until the server is gone.
func (v *victim) ask(ctx context.Context, tool string, a args) (g got, ok bool) {
	r, err := v.Call(ctx, tool, a)
	if err != nil || json.Unmarshal(r.Structured, &g) != nil {
		return g, false
	}
	return g, !r.IsError
}

// live runs one session after another until the server is gone, and notes
// every event that it is shown.
func (v *victim) live(ctx context.Context, cwd string) {
	for n := 0; ; n++ {
		s, ok := v.ask(ctx, "start_session", args{"provider": "demo", "cwd": cwd})
		if !ok {
			return
		}
		prompts := []string{"stream 60\nsay done", "think of it\nslow 30\nstream 20", "approve\nsay never"}
		v.ask(ctx, "send_message", args{"session_id": s.SessionID, "prompt": prompts[n%len(prompts)]})
		v.ask(ctx, "follow_up", args{"session_id": s.SessionID, "prompt": "say later"})
		for after, quiet := uint64(0), 0; quiet < 3; {
			r, err := v.Call(ctx, "replay", args{"id": s.SessionID, "after": after, "view": "events", "limit": 500})
			if err != nil || r.IsError {
				return
			}
			var page struct {
				Cursor uint64 `json:"cursor"`
				Events []struct {
					Seq uint64 `json:"seq"`
					ID  string `json:"id"`
				} `json:"events"`
			}
			if json.Unmarshal(r.Structured, &page) != nil {
				return
			}
			v.mu.Lock()
			if v.told[s.SessionID] == nil {
				v.told[s.SessionID] = map[uint64]string{}
			}
			for _, e := range page.Events {
				v.told[s.SessionID][e.Seq] = e.ID
			}
			v.mu.Unlock()
			if quiet++; len(page.Events) > 0 {
				quiet = 0
			}
			after = page.Cursor
		}
		if n%2 == 0 {
			v.ask(ctx, "close", args{"id": s.SessionID})
		}
	}
}

// journalOf opens the database as it is and looks through all of it.
func journalOf(t *testing.T, db string, look func(s *sqlitestore.Store, sessions []core.SessionRecord)) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Durability: sqlitestore.Normal})
	if err != nil {
		t.Fatalf("opening after the crash: %v", err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	sessions, err := s.Sessions(t.Context(), core.ListQuery{Owner: core.AllOwners, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	look(s, sessions)
}

func eventsOf(t *testing.T, s *sqlitestore.Store, id string) []core.Event {
	t.Helper()
	events, err := s.Events(t.Context(), core.EventQuery{Owner: core.AllOwners, Resource: id, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// checkSession wants a journal in order, with one end for each turn that has
// ended, and rows that say the same.
func checkSession(t *testing.T, s *sqlitestore.Store, rec core.SessionRecord, ended bool) {
	t.Helper()
	id, last, ends := rec.Session.ID, uint64(0), map[string]core.EventType{}
	for _, e := range eventsOf(t, s, id) {
		if e.Seq <= last {
			t.Errorf("%s: seq %d follows %d", id, e.Seq, last)
		}
		last = e.Seq
		if was, twice := ends[e.TurnID]; twice && e.Type.EndsTurn() {
			t.Errorf("%s: turn %s ended as %s and as %s", id, e.TurnID, was, e.Type)
		} else if e.Type.EndsTurn() {
			ends[e.TurnID] = e.Type
		}
	}
	if ended && rec.Session.Status.Live() {
		t.Errorf("%s is %s and its server is dead", id, rec.Session.Status)
	}
	turns, err := s.Turns(t.Context(), core.ListQuery{Owner: core.AllOwners, SessionID: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range turns {
		end, has := ends[r.Turn.ID]
		if has != r.Turn.Status.Ended() || has && end != core.EventType("turn_"+string(r.Turn.Status)) {
			t.Errorf("%s: turn %s is %s and its journal ends with %q", id, r.Turn.ID, r.Turn.Status, end)
		}
		if ended && !has {
			t.Errorf("%s: turn %s has no end", id, r.Turn.ID)
		}
	}
}

// TestNothingThatWasShownIsLostWhenAServerIsKilled kills a busy server at a
// random moment, again and again on the same journal.
func TestNothingThatWasShownIsLostWhenAServerIsKilled(t *testing.T) {
	db, cwd := filepath.Join(t.TempDir(), "journal.db"), t.TempDir()
	told := map[string]map[uint64]string{}
	for round := range amount(t, "CRASHES", 5) {
		v := startVictim(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { v.live(ctx, cwd) })
		}
		time.Sleep(time.Duration(100+rand.IntN(700)) * time.Millisecond) // the moment is what is random
		v.kill(t)
		cancel()
		group.Wait()
		for id, events := range v.told {
			told[id] = events
		}
		journalOf(t, db, func(s *sqlitestore.Store, sessions []core.SessionRecord) {
			for _, rec := range sessions {
				checkSession(t, s, rec, false)
			}
			for id, events := range told {
				stored := map[uint64]string{}
				for _, e := range eventsOf(t, s, id) {
					stored[e.Seq] = e.ID
				}
				for seq, event := range events {
					if stored[seq] != event {
						t.Errorf("round %d: %s: event %d was shown and is gone", round, id, seq)
					}
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	// The next server needs no repair: it finds everything at rest.
	v := startVictim(t, db)
	v.ask(t.Context(), "list", args{"kind": "sessions"})
	journalOf(t, db, func(s *sqlitestore.Store, sessions []core.SessionRecord) {
		if len(sessions) == 0 {
			t.Error("there are no sessions")
		}
		for _, rec := range sessions {
			checkSession(t, s, rec, true)
		}
	})
}

// TestTenServersShareAJournal runs ten servers on one file, kills one every
// now and then and starts another in its place.
func TestTenServersShareAJournal(t *testing.T) {
	db, cwd := filepath.Join(t.TempDir(), "journal.db"), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	start := func() *victim {
		v := startVictim(t, db)
		group.Go(func() { v.live(ctx, cwd) })
		return v
	}
	var servers []*victim
	var starting sync.WaitGroup
	servers = make([]*victim, 10)
	for i := range servers { // all at once, on an empty directory
		starting.Go(func() { servers[i] = start() })
	}
	starting.Wait()
	end := time.Now().Add(time.Duration(amount(t, "CROWD_SECONDS", 6)) * time.Second)
	for time.Now().Before(end) {
		time.Sleep(time.Second)
		i := rand.IntN(len(servers))
		servers[i].kill(t)
		servers[i] = start()
	}
	// Another server's session is awaited here, and ends when its server dies.
	s, ok := servers[0].ask(ctx, "start_session", args{"provider": "demo", "cwd": cwd})
	turn, ok2 := servers[0].ask(ctx, "send_message", args{"session_id": s.SessionID, "prompt": "slow 60000\nsay never"})
	if !ok || !ok2 {
		t.Fatalf("a session among ten: %+v %+v", s, turn)
	}
	waiting := make(chan got, 1)
	go func() {
		g, _ := servers[1].ask(ctx, "await", args{"ids": []string{turn.TurnID}, "wait_ms": 30000})
		waiting <- g
	}()
	if g, _ := servers[2].ask(ctx, "follow_up", args{"session_id": s.SessionID, "prompt": "say x"}); g.Error.Code != string(core.CodeOtherInstance) {
		t.Errorf("a command on another server's session: %+v", g.Error)
	}
	servers[0].kill(t)
	if g := <-waiting; len(g.Results) != 1 || g.Results[0].Status != "interrupted" || g.Results[0].Reason != "server_restarted" {
		t.Errorf("await on a server that died: %+v", g)
	}
	for _, v := range servers {
		v.kill(t)
	}
	cancel()
	group.Wait()
	last := startVictim(t, db)
	last.ask(t.Context(), "list", args{"kind": "sessions"})
	journalOf(t, db, func(s *sqlitestore.Store, sessions []core.SessionRecord) {
		t.Logf("%d sessions", len(sessions))
		for _, rec := range sessions {
			checkSession(t, s, rec, true)
		}
	})
}
