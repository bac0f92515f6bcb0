package demo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

// folders returns the names of the conversation folders in dir.
func folders(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "harness-mcp-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAnotherProviderResumesTheConversation(t *testing.T) {
	dir := t.TempDir()
	k := open(t, demo.New(demo.Options{Dir: dir}), core.SessionConfig{})
	k.run("t1", "say apples\npatch")
	id := k.conn.Ready().ProviderSessionID
	k.close()

	again := open(t, demo.New(demo.Options{Dir: dir}), core.SessionConfig{ProviderSesID: id})
	if got := again.conn.Ready().ProviderSessionID; got != id {
		t.Errorf("resumed %q as %q", id, got)
	}
	again.run("t2", "recall\npatch")
	if d := cmp.Diff([]string{"Earlier in this conversation:\nsay apples\npatch"}, again.said()); d != "" {
		t.Error(d)
	}
	if c := content[core.FileChange](again); len(c) != 1 || c[0].Changes[0].Kind != core.FileModified {
		t.Errorf("the file of the first opening is gone: %+v", c)
	}
}

func TestAForkLeavesTheOriginalAlone(t *testing.T) {
	p := fast(t)
	k := open(t, p, core.SessionConfig{})
	k.run("t1", "say apples")
	branch := open(t, p, core.SessionConfig{ProviderSesID: k.conn.Ready().ProviderSessionID, Fork: true})
	branch.run("t1", "say pears")
	k.run("t2", "recall")
	if said := k.said()[0]; !strings.Contains(said, "apples") || strings.Contains(said, "pears") {
		t.Errorf("the original remembers %q", said)
	}
	branch.run("t2", "recall")
	if said := branch.said()[0]; !strings.Contains(said, "apples") || !strings.Contains(said, "pears") {
		t.Errorf("the fork remembers %q", said)
	}
}

func TestAnInterruptedTurnIsRemembered(t *testing.T) {
	k := open(t, fast(t), core.SessionConfig{})
	k.start("t1", "ask")
	next[core.RequestRaised](k)
	k.interrupt("t1")
	k.finish()
	k.run("t2", "recall")
	if d := cmp.Diff([]string{"Earlier in this conversation:\nask"}, k.said()); d != "" {
		t.Error(d)
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	p := fast(t)
	k := open(t, p, core.SessionConfig{})
	for i := range 60 {
		k.run(fmt.Sprint("t", i), fmt.Sprintf("say %d %s", i, strings.Repeat("\u6f22", 4000)))
	}
	id := k.conn.Ready().ProviderSessionID
	k.close()
	again := open(t, p, core.SessionConfig{ProviderSesID: id})
	again.run("t", "recall")
	said := again.said()[0]
	if len(said) > 20<<10 || strings.Contains(said, "say 27 ") || !strings.Contains(said, "say 28 ") || !strings.Contains(said, "say 59 ") {
		t.Errorf("it remembers %d bytes: %.60q", len(said), said)
	}
}

func TestAConversationWithoutTurnsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	k := open(t, demo.New(demo.Options{Dir: dir}), core.SessionConfig{})
	if n := len(folders(t, dir)); n != 1 {
		t.Fatalf("%d folders while it is open", n)
	}
	k.close()
	if left := folders(t, dir); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTheFolderIsPrivate(t *testing.T) {
	dir := t.TempDir()
	k := open(t, demo.New(demo.Options{Dir: dir}), core.SessionConfig{})
	k.run("t1", "patch\napprove")
	err := filepath.Walk(folders(t, dir)[0], func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestResumeOpensNothingButItsOwnFolders(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.Mkdir(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "harness-mcp-demo-link")); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "harness-mcp-demo-broken")
	if err := os.Mkdir(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "memory.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		"demo-gone", "demo-link", "demo-broken", "demo-", "demo-../secret", "../secret", "secret", "demo-a/../../secret", "demo-A",
	} {
		conn, err := demo.New(demo.Options{Dir: dir}).Open(t.Context(), core.SessionConfig{ProviderSesID: id})
		if core.CodeOf(err) != core.CodeStartFailed {
			t.Errorf("%q: %v", id, err)
		}
		if conn != nil {
			conn.Close(context.Background())
		}
	}
	if left, _ := os.ReadDir(secret); len(left) != 0 {
		t.Errorf("it wrote %v behind the link", left)
	}
}

func TestStaleFoldersAreRemovedAtTheFirstOpening(t *testing.T) {
	dir := t.TempDir()
	long := time.Now().Add(-demo.Retention - time.Hour)
	for name, at := range map[string]time.Time{
		"harness-mcp-demo-old": long, "harness-mcp-demo-new": time.Now(), "harness-mcp-other": long, "mine": long,
	} {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	k := open(t, demo.New(demo.Options{Dir: dir}), core.SessionConfig{})
	k.close()
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if d := cmp.Diff([]string{"harness-mcp-demo-new", "harness-mcp-other", "mine"}, left); d != "" {
		t.Error(d)
	}
}

// TestALostFolderDoesNotStopTheTurn: what cannot be written is reported, and the
// turn continues.
func TestALostFolderDoesNotStopTheTurn(t *testing.T) {
	dir := t.TempDir()
	k := open(t, demo.New(demo.Options{Dir: dir}), core.SessionConfig{ApprovalMode: core.ApprovalAuto})
	if err := os.RemoveAll(folders(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	k.run("t1", "run\npatch\napprove\nsay still here")
	if w := content[core.Warning](k); len(w) != 1 || !strings.Contains(w[0].Message, "could not be saved") {
		t.Errorf("warnings: %+v", w)
	}
	for _, c := range content[core.ToolCompleted](k) {
		if c.Status != core.ToolFailed || c.Error == "" {
			t.Errorf("a tool ended %+v", c)
		}
	}
	if d := cmp.Diff([]string{"touch approved.txt failed.", "still here"}, k.said()); d != "" {
		t.Error(d)
	}
}
