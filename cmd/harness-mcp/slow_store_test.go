//go:build linux

package main_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

// within wants a call to be answered in time.
func (v *killedServer) within(t *testing.T, limit time.Duration, tool string, a args) got {
	t.Helper()
	begin := time.Now()
	g, ok := v.ask(t.Context(), tool, a)
	if !ok {
		t.Errorf("%s: %+v", tool, g.Error)
	}
	if took := time.Since(begin); took > limit {
		t.Errorf("%s took %v", tool, took)
	}
	return g
}

// watched starts a process that says a line for each that it is given.
func (v *killedServer) watched(t *testing.T) string {
	t.Helper()
	g, ok := v.ask(t.Context(), "start_process", args{"executable": "sh", "argv": []string{"-c", "echo ready; read x; echo first; read x; exit 3"}, "stdin": true})
	if !ok {
		t.Fatalf("start_process: %+v", g.Error)
	}
	v.ask(t.Context(), "await", args{"ids": []string{g.ProcessID}, "pattern": "ready", "wait_ms": 20000})
	return g.ProcessID
}

// endsOnceStored has a process end while the journal fails, and wants its end
// to be known then, and stored once when the failure is over.
func endsOnceStored(t *testing.T, v *killedServer, id string) (afterwards func()) {
	t.Helper()
	for range 2 {
		if g, ok := v.ask(t.Context(), "send_input", args{"process_id": id, "data": "\n"}); !ok {
			t.Errorf("send_input: %+v", g.Error)
		}
	}
	v.ask(t.Context(), "await", args{"ids": []string{id}, "wait_ms": 40000})
	if g, _ := v.ask(t.Context(), "inspect", args{"id": id}); g.Status != "exited" {
		t.Errorf("the process is %q", g.Status)
	}
	if d := v.durability(t, id); d != "degraded" {
		t.Errorf("the process is %s", d)
	}
	if types := strings.Join(v.events(t, id), " "); !strings.Contains(types, "store_failed") || !strings.HasSuffix(types, "process_exited") {
		t.Errorf("its journal while it fails: %s", types)
	}
	return func() {
		waitFor(t, "the process's journal", func() bool { return v.durability(t, id) != "degraded" })
		types := v.events(t, id)
		if n := len(types); n < 2 || types[n-1] != "process_exited" || types[n-2] != "store_recovered" ||
			len(slices.DeleteFunc(slices.Clone(types), func(s string) bool { return s != "process_exited" })) != 1 {
			t.Errorf("its journal afterwards: %v", types)
		}
	}
}

func TestAProcessLivesThroughADatabaseThatIsLockedForLong(t *testing.T) {
	db := filepath.Join(t.TempDir(), "journal.db")
	v := startKilledServer(t, db)
	id, p := v.started(t), v.watched(t)
	other, err := sql.Open("sqlite", "file:"+db)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	// While the first commit waits for the lock, reading goes on; and so do
	// commands, once it has given up.
	sent := make(chan got, 1)
	go func() {
		g, _ := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "slow 60000\nsay never"})
		sent <- g
	}()
	v.within(t, 2*time.Second, "inspect", args{"id": id})
	v.within(t, 2*time.Second, "list", args{"kind": "sessions"})
	<-sent
	v.within(t, 2*time.Second, "interrupt", args{"session_id": id})
	afterwards := endsOnceStored(t, v, p)
	v.within(t, 5*time.Second, "close", args{"id": id, "force": true})
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	afterwards()
	waitFor(t, "the session's journal", func() bool { return v.durability(t, id) != "degraded" })
	v.kill(t)
	journalOf(t, db, func(s *sqlitestore.Store, sessions []core.SessionRecord) {
		for _, rec := range sessions {
			checkSession(t, s, rec, true)
		}
	})
}

// TestALongAnswerDoesNotSlowOthers has one session say 100,000 pieces, and
// compares what another's turns take beside it with what they take alone.
func TestALongAnswerDoesNotSlowOthers(t *testing.T) {
	const pieces, turns = 100_000, 20
	v := startKilledServer(t, filepath.Join(t.TempDir(), "journal.db"))
	small := v.started(t)
	take := func() (all time.Duration) {
		for range turns {
			begin := time.Now()
			g, ok := v.ask(t.Context(), "send_message", args{"session_id": small, "prompt": "stream 5\nsay x", "wait_ms": 60000})
			if !ok || g.Status != "completed" {
				t.Fatalf("a turn: %+v", g)
			}
			all += time.Since(begin)
		}
		return all
	}
	take() // what is slow once is not counted
	alone := take()
	large := v.started(t)
	long, ok := v.ask(t.Context(), "send_message", args{"session_id": large, "prompt": fmt.Sprint("stream ", pieces)})
	if !ok {
		t.Fatalf("send_message: %+v", long.Error)
	}
	beside, rounds := time.Duration(0), 0
	for {
		beside += take()
		rounds++
		g, _ := v.ask(t.Context(), "inspect", args{"id": long.TurnID})
		if g.Status == "completed" {
			break
		}
		if g.Status == "failed" {
			t.Fatalf("the long one: %+v", g)
		}
	}
	beside /= time.Duration(rounds)
	t.Logf("%d turns alone %v, beside 100,000 deltas %v (%d rounds)", turns, alone, beside, rounds)
	if limit := 15*alone + 2*time.Second; beside > limit { // the machine may be busy with other tests
		t.Errorf("%d turns took %v alone and %v beside a long answer", turns, alone, beside)
	}
	if n := deltasOf(t, v, large); n < pieces {
		t.Errorf("%d deltas are in the journal", n)
	}
}

// deltasOf counts the deltas of a session's journal.
func deltasOf(t *testing.T, v *killedServer, id string) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for after, more := uint64(0), true; more; {
		r := v.MustCall(ctx, "replay", args{"id": id, "after": after, "view": "events", "types": []string{"message_delta"}, "limit": 1000, "max_bytes": 1 << 20})
		var page got
		if err := json.Unmarshal(r.Structured, &page); err != nil {
			t.Fatal(err)
		}
		n += len(page.Events)
		after, more = page.Cursor, page.More
	}
	return n
}
