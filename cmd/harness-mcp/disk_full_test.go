package main_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"

	_ "modernc.org/sqlite"
)

// durabilities are the ways to keep a journal; each has promises to hold on a
// disk that fails.
var durabilities = []string{"full", "normal"}

// durability is what inspect says of a session.
func (v *killedServer) durability(t *testing.T, id string) string {
	t.Helper()
	var view map[string]any
	if err := json.Unmarshal(v.MustCall(t.Context(), "inspect", args{"id": id}).Structured, &view); err != nil {
		t.Fatal(err)
	}
	if s, ok := view["session"].(map[string]any); ok {
		view = s
	}
	word, _ := view["durability"].(string)
	return word
}

// events lists the types of a session's journal.
func (v *killedServer) events(t *testing.T, id string) (types []string) {
	t.Helper()
	g, _ := v.ask(t.Context(), "replay", args{"id": id, "view": "events", "limit": 1000})
	for _, e := range g.Events {
		types = append(types, e.Type)
	}
	return types
}

func (v *killedServer) started(t *testing.T) string {
	t.Helper()
	g, ok := v.ask(t.Context(), "start_session", args{"provider": "demo", "cwd": t.TempDir()})
	if !ok {
		t.Fatalf("start_session: %+v", g)
	}
	return g.SessionID
}

// checkDegradedAndRecovers wants a turn that completes while the journal fails, an
// event that says so first, and durability again when break is undone.
func checkDegradedAndRecovers(t *testing.T, v *killedServer, id string, undo func()) {
	t.Helper()
	g, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "say while it fails", "wait_ms": 40000})
	if !ok || g.Status != "completed" || g.Text != "while it fails" {
		t.Errorf("a turn while the journal fails: %+v", g)
	}
	if d := v.durability(t, id); d != "degraded" {
		t.Errorf("inspect says %q", d)
	}
	if types := strings.Join(v.events(t, id), " "); !strings.Contains(types, "store_failed turn_accepted") {
		t.Errorf("the journal does not say first that it fails: %s", types)
	}
	undo()
	deadline := time.Now().Add(patience)
	for v.durability(t, id) == "degraded" {
		if time.Now().After(deadline) {
			t.Fatal("the session does not become durable again")
		}
		time.Sleep(50 * time.Millisecond) // another process's work is waited for
	}
	types := strings.Join(v.events(t, id), " ")
	if !strings.Contains(types, "turn_completed store_recovered") || strings.Count(types, "turn_completed") != 1 {
		t.Errorf("the journal after recovery: %s", types)
	}
	next := v.started(t)
	if d := v.durability(t, next); d == "degraded" {
		t.Error("a new session is degraded")
	}
}

func TestALockedDatabaseIsLivedThrough(t *testing.T) {
	db := filepath.Join(t.TempDir(), "journal.db")
	v := startKilledServer(t, db)
	id := v.started(t)
	other, err := sql.Open("sqlite", "file:"+db)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	checkDegradedAndRecovers(t, v, id, func() {
		if _, err := other.Exec("ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	})
}

// startOnSmallDisk runs a server whose journal lies on a file system of its own
// of that many MiB, and returns the directory as this process sees it.
func startOnSmallDisk(t *testing.T, mib int, options string, argv ...string) (v *killedServer, disk string, out *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("mount -t tmpfs -o size=%dm%s tmpfs %s && exec %s serve --db %s/journal.db %s", mib, options, dir, binary, dir, strings.Join(argv, " "))
	if err := exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs "+dir).Run(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	cmd := exec.Command("unshare", "-rm", "sh", "-c", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	if options != "" {
		text, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("the server ran on %s", options)
		}
		out = &strings.Builder{}
		out.Write(text)
		return nil, "", out
	}
	v = &killedServer{cmd: cmd}
	v.Client = mcptest.Start(t, cmd)
	v.Initialize(t.Context())
	return v, fmt.Sprintf("/proc/%d/root%s", cmd.Process.Pid, dir), nil
}

// fill takes all the space of a disk and returns the way to free it.
func fill(t *testing.T, disk string) (free func()) {
	t.Helper()
	path := filepath.Join(disk, "fill")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskIsLivedThrough(t *testing.T) {
	for _, durability := range durabilities {
		t.Run(durability, func(t *testing.T) { checkFullDiskIsSurvived(t, durability) })
	}
}

func checkFullDiskIsSurvived(t *testing.T, durability string) {
	v, disk, _ := startOnSmallDisk(t, 8, "", "--durability", durability)
	id := v.started(t)
	free := fill(t, disk)
	// What SQLite had reserved is used up first.
	for n := 0; v.durability(t, id) != "degraded"; n++ {
		if n == 200 {
			t.Fatal("the disk is full and nothing fails")
		}
		v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "say " + strings.Repeat("much to store ", 200), "wait_ms": 40000})
	}
	if types := v.events(t, id); !strings.Contains(strings.Join(types, " "), "store_failed") {
		t.Errorf("nothing says that the journal fails: %v", types)
	}
	notes := func() int { // for the next server, in case that this one dies
		found, err := filepath.Glob(disk + "/journal.db-instances/*.lost")
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if notes() != 1 {
		t.Errorf("%d notes on a full disk", notes())
	}
	free()
	deadline := time.Now().Add(patience)
	for v.durability(t, id) == "degraded" {
		if time.Now().After(deadline) {
			t.Fatal("the session does not become durable again")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if notes() != 0 {
		t.Errorf("%d notes of a session that is durable again", notes())
	}
	if d := v.durability(t, v.started(t)); d == "degraded" {
		t.Error("a new session is degraded")
	}
}

func TestAFullDiskStopsASessionWhereThatIsAskedFor(t *testing.T) {
	for _, durability := range durabilities {
		t.Run(durability, func(t *testing.T) { checkFullDiskStopsSession(t, durability) })
	}
}

func checkFullDiskStopsSession(t *testing.T, durability string) {
	v, disk, _ := startOnSmallDisk(t, 8, "", "--store-failure", "stop", "--durability", durability)
	id := v.started(t)
	free := fill(t, disk)
	defer free()
	for n := 0; ; n++ {
		g, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "say " + strings.Repeat("much to store ", 200), "wait_ms": 40000})
		if !ok && g.Error.Code == "store_failed" || ok && g.Status == "failed" {
			break
		}
		if n == 200 {
			t.Fatalf("the disk is full and nothing stops: %+v", g)
		}
	}
	v.ask(t.Context(), "await", args{"ids": []string{id}, "wait_ms": 20000})
	if g, _ := v.ask(t.Context(), "inspect", args{"id": id}); g.Status != "failed" && g.SessionStatus != "failed" {
		t.Errorf("the session is %q %q", g.Status, g.SessionStatus)
	}
}

func TestAReadOnlyDiskIsRefusedWithWhatToDo(t *testing.T) {
	_, _, out := startOnSmallDisk(t, 8, ",ro")
	if out == nil || !strings.Contains(out.String(), "read-only") {
		t.Errorf("the server said %q", out)
	}
}

func TestATornDatabaseIsRefusedWithWhatToDo(t *testing.T) {
	db := filepath.Join(t.TempDir(), "journal.db")
	v := startKilledServer(t, db)
	v.started(t)
	if err := v.CloseInput(); err != nil {
		t.Fatal(err)
	}
	<-v.Closed()
	whole, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	for name, bytes := range map[string][]byte{"a torn one": whole[:len(whole)/3], "one without a beginning": whole[100:]} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "torn.db")
			if err := os.WriteFile(db, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(binary, "serve", "--db", db)
			cmd.Env = []string{"HOME=" + t.TempDir()}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "torn.db") || strings.Count(strings.TrimSpace(string(out)), "\n") < 1 {
				t.Errorf("the server said %q, %v", out, err)
			}
		})
	}
}
