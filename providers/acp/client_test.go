package acp

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/acpscript"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// play runs one turn on a table and returns the recorder.
func (b *table) play(cfg core.SessionConfig, script ...string) *conntest.Recorder {
	b.t.Helper()
	r := b.open(cfg)
	r.Start("turn", script...)
	r.TurnEnded("turn")
	return r
}

func TestFilesAreServedWithinTheSessionsDirectoriesOnly(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	outside, added := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(b.work, "in.txt"): "one\ntwo\n", filepath.Join(outside, "secret.txt"): "secret\n",
		filepath.Join(added, "more.txt"): "more\n", filepath.Join(b.work, "binary"): "\xff\xfe",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.txt": filepath.Join(outside, "secret.txt"), "dir": outside, "good": filepath.Join(b.work, "in.txt")} {
		if err := os.Symlink(to, filepath.Join(b.work, link)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := b.session()
	cfg.AddDirs = []string{added}
	in := func(name string) string { return filepath.Join(b.work, name) }
	r := b.open(cfg)
	if w := r.Conn.Ready().Warnings; len(w) != 1 {
		t.Errorf("warnings %q", w)
	}
	for i, c := range []struct{ script, want string }{
		{"read " + in("in.txt"), `gave: {"content":"one\ntwo\n"}`},
		{"read " + filepath.Join(added, "more.txt"), `gave: {"content":"more\n"}`},
		{"read " + filepath.Join(outside, "secret.txt"), "failed"},
		{"read " + in("../x/../"+filepath.Base(b.work)+"/in.txt"), "gave"},
		{"read " + in("../"+filepath.Base(outside)+"/secret.txt"), "failed"},
		{"read " + in("link.txt"), "failed"},
		{"read " + in("dir/secret.txt"), "failed"},
		{"read in.txt", "failed"},
		{"read " + in("binary"), "failed"},
		{"read " + in("missing.txt"), "-32002"},
		{"read " + b.work, "failed"},
		{"read /dev/zero", "failed"},
		{"write " + in("new/deep.txt") + " hello", "gave: {}"},
		{"write " + in("in.txt") + " changed", "gave: {}"},
		{"write " + filepath.Join(outside, "x.txt") + " no", "failed"},
		{"write " + in("dir/x.txt") + " no", "failed"},
		{"write " + in("link.txt") + " no", "failed"},
		{"write " + in("binary") + " no", "failed"},
	} {
		turn := "turn-" + strconv.Itoa(i)
		r.Start(turn, c.script)
		r.TurnEnded(turn)
		m := conntest.Contents[core.Message](r)
		if got := m[len(m)-1].Text; !strings.Contains(got, c.want) || strings.Contains(got, "secret\\n") {
			t.Errorf("%s: %s", c.script, got)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(outside, "secret.txt")); err != nil || string(raw) != "secret\n" {
		t.Errorf("the file outside: %q %v", raw, err)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("outside there is %v", list)
	}
	var got []core.FileEdit
	for _, c := range conntest.Contents[core.FileChange](r) {
		got = append(got, c.Changes...)
	}
	want := []core.FileEdit{
		{Path: in("new/deep.txt"), Kind: core.FileAdded, Diff: "--- /dev/null\n+++ " + in("new/deep.txt") + "\n@@ -0,0 +1,1 @@\n+hello\n"},
		{Path: in("in.txt"), Kind: core.FileModified, Diff: "--- " + in("in.txt") + "\n+++ " + in("in.txt") + "\n@@ -1,2 +1,1 @@\n-one\n-two\n+changed\n"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTerminalsRunHereAndTheirOutputIsReported(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	r := b.play(b.session(), "terminal echo out; echo err >&2; pwd; echo $TERMINAL_VAR; exit 3", "terminal no-such-command-at-all")
	started, done := conntest.Contents[core.ToolStarted](r), conntest.Contents[core.ToolCompleted](r)
	if len(started) != 1 || started[0].Kind != core.ToolCommand || started[0].CWD != b.work {
		t.Fatalf("started %+v", started)
	}
	if len(done) != 1 || done[0].Status != core.ToolFailed || done[0].ExitCode == nil || *done[0].ExitCode != 3 {
		t.Errorf("done %+v", done)
	}
	var out strings.Builder
	for _, d := range conntest.Contents[core.CommandOutputDelta](r) {
		if d.Item != started[0].Item {
			t.Errorf("output of %q", d.Item)
		}
		out.WriteString(d.Text)
	}
	for _, want := range []string{"out\n", "err\n", b.work + "\n", "here\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output %q lacks %q", out.String(), want)
		}
	}
	text := said(r)
	for _, want := range []string{`gave: {"exitCode":3,"signal":null}`, `"truncated":false`, "terminal/release gave: {}", "terminal/create failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the agent was told %s, without %s", text, want)
		}
	}
}

func TestATerminalOutsideOfTheDirectoriesIsRefused(t *testing.T) {
	ts := &terminals{guard: newPathGuard([]string{t.TempDir()}), cwd: "/"}
	if _, err := ts.create(t.Context(), createIn("/")); err == nil {
		t.Error("a terminal in /")
	}
}

func TestEditsInsideAreAcceptedWhereTheModeReportsSo(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalAutoEdit
	r := b.play(cfg, "edit "+filepath.Join(b.work, "a.txt"))
	if changes := conntest.Contents[core.FileChange](r); len(changes) != 1 || !strings.Contains(changes[0].Changes[0].Diff, "-two\n+2\n") {
		t.Errorf("changes %+v", changes)
	}
	if len(events(r, "permission granted by auto_edit")) != 1 {
		t.Error("the grant was not kept")
	}
	for _, script := range []string{"edit /etc/passwd", "edit " + filepath.Join(b.work, ".git", "hooks", "x"), "approve rm x"} {
		r := b.open(cfg)
		r.Start("turn", script)
		q := r.Request()
		if script == "edit /etc/passwd" && (q.Spec.Kind != core.KindFileChangeApproval || q.Spec.Details.Path != "/etc/passwd" || q.Spec.Details.Diff == "") {
			t.Errorf("asked %+v", q.Spec)
		}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionDeny}})
		r.TurnEnded("turn")
	}
}

func TestEverythingIsAcceptedWhereTheCallerSaidSo(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalAuto
	r := b.play(cfg, "approve rm x", "only ls", "edit /etc/passwd")
	if n := len(events(r, "permission granted by auto_approve")); n != 3 {
		t.Errorf("%d grants", n)
	}
	for _, d := range conntest.Contents[core.ToolCompleted](r) {
		if d.Status != core.ToolOK {
			t.Errorf("%+v", d)
		}
	}
}

func TestDiffsShowTheLinesAroundAChange(t *testing.T) {
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, c := range map[string]struct {
		before, after, want string
	}{
		"middle":     {old, strings.Replace(old, "5\n", "five\n", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"no newline": {"a", "b", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		"emptied":    {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"longer":     {"a\n", "a\nb\n", "@@ -1,1 +1,2 @@\n a\n+b\n"},
	} {
		want := "--- f\n+++ f\n" + c.want
		if d := cmp.Diff(want, unified("f", "f", c.before, c.after)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if unified("f", "f", old, old) != "" {
		t.Error("a diff of nothing")
	}
}

func TestAnAgentReadsThePartOfAFileItAsksFor(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, c := range []struct {
		line, limit *int
		want        string
	}{{nil, nil, "a\nb\nc"}, {n(2), nil, "b\nc"}, {n(2), n(1), "b\n"}, {n(0), n(1), "a\n"}, {n(9), n(1), ""}, {nil, n(0), ""}, {n(3), n(9), "c"}} {
		if got := window("a\nb\nc", c.line, c.limit); got != c.want {
			t.Errorf("%v %v gives %q", c.line, c.limit, got)
		}
	}
}
