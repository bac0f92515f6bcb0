package main_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// TestAServerThatDiesWithWhatItCouldNotStoreSaysSoAtTheNextBoot kills a server
// whose journal is locked by another program, with a session and a process that
// live in its memory only from then on, and beside them one of each that
// nothing happened to.
func TestAServerThatDiesWithWhatItCouldNotStoreSaysSoAtTheNextBoot(t *testing.T) {
	db := filepath.Join(t.TempDir(), "journal.db")
	v := startKilledServer(t, db)
	id, calm := v.started(t), v.started(t)
	turn, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "slow 600000\nsay never"})
	if !ok {
		t.Fatalf("send_message: %+v", turn)
	}
	start := func() string {
		g, ok := v.ask(t.Context(), "start_process", args{"executable": "sh", "argv": []string{"-c", "echo one; read x; echo two; read x"}, "stdin": true})
		if !ok {
			t.Fatalf("start_process: %+v", g)
		}
		v.ask(t.Context(), "await", args{"ids": []string{g.ProcessID}, "pattern": "one", "wait_ms": 20000})
		return g.ProcessID
	}
	proc, calmProc := start(), start()
	other, err := sql.Open("sqlite", "file:"+db)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	v.ask(t.Context(), "send_input", args{"process_id": proc, "data": "\n"})
	v.ask(t.Context(), "follow_up", args{"session_id": id, "prompt": "say later"})
	waitFor(t, "the failures", func() bool { return v.durability(t, id) == "degraded" && v.durability(t, proc) == "degraded" })
	v.kill(t)
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}

	v = startKilledServer(t, db)
	for what, want := range map[string][2]string{
		id: {"unavailable", "durability_lost"}, turn.TurnID: {"interrupted", "durability_lost"}, proc: {"failed", "durability_lost"},
		calm: {"unavailable", "server_restarted"}, calmProc: {"failed", "server_restarted"},
	} {
		g, _ := v.ask(t.Context(), "inspect", args{"id": what})
		if g.Status != want[0] || g.Reason != want[1] {
			t.Errorf("%s is %s %q, want %v", what, g.Status, g.Reason, want)
		}
	}
	for _, what := range []string{id, proc} {
		g, _ := v.ask(t.Context(), "replay", args{"id": what, "view": "events", "limit": 1000})
		said := false
		for _, e := range g.Events {
			said = said || e.Data["reason"] == "durability_lost"
		}
		if !said {
			t.Errorf("the journal of %s does not say that a part of it is lost: %v", what, strings.Join(v.events(t, what), " "))
		}
	}
	notes, err := filepath.Glob(db + "-instances/*.lost")
	if err != nil || len(notes) > 0 {
		t.Errorf("notes that are not needed any more: %v, %v", notes, err)
	}
}
