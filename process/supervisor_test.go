//go:build unix

package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// room is a Supervisor with a harness above it and a store below.
type room struct {
	t     *testing.T
	s     *Supervisor
	h     *harness.Harness
	store core.Store
}

// roomOptions change what a room is made of.
type roomOptions struct {
	store  core.Store
	local  Options
	limits core.Limits
	cap    int64
	stop   bool
	env    []string
	dirs   []string
}

func newRoom(t *testing.T, o roomOptions) *room {
	t.Helper()
	r := &room{t: t, store: o.store}
	if r.store == nil {
		r.store = memstore.New()
	}
	o.local.Instance = r.store.Instance()
	o.local.PathDirs = o.dirs
	r.s = NewSupervisor(SupervisorOptions{Local: NewLocal(o.local), Store: r.store, OutputCap: o.cap, StopOnStoreFailure: o.stop, PathDirs: o.dirs,
		StoreTimeout: o.limits.StoreTimeout})
	r.h = harness.New(harness.Config{Store: r.store, Processes: r.s, Limits: o.limits, Environ: o.env})
	t.Cleanup(r.close)
	return r
}

func (r *room) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.h.Shutdown(ctx); err != nil {
		r.t.Error(err)
	}
}

var caller = core.Caller{Owner: "o"}

func (r *room) start(spec core.ProcessSpec) core.ProcessSnapshot {
	r.t.Helper()
	p, err := r.h.StartProcess(r.t.Context(), caller, core.StartProcessRequest{Spec: spec})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// sh starts a line of shell.
func (r *room) sh(line string) core.ProcessSnapshot { r.t.Helper(); return r.start(shell(line)) }

func shell(line string) core.ProcessSpec {
	return core.ProcessSpec{Executable: "/bin/sh", Argv: []string{"-c", line}}
}

// patience bounds each wait.
const patience = 30 * time.Second

func (r *room) await(a core.AwaitRequest) core.AwaitResult {
	r.t.Helper()
	if a.Wait == 0 {
		a.Wait = patience
	}
	res, err := r.h.Await(r.t.Context(), caller, a)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// end waits for the end.
func (r *room) end(id string) core.ProcessSnapshot {
	r.t.Helper()
	res := r.await(core.AwaitRequest{IDs: []string{id}})
	if res.Outcome != core.OutcomeDone {
		r.t.Fatalf("not in time: the end of %+v", *res.Results[0].Process)
	}
	return *res.Results[0].Process
}

// ready waits for a line.
func (r *room) ready(id, pattern string) core.OutputMatch {
	r.t.Helper()
	res := r.await(core.AwaitRequest{IDs: []string{id}, Pattern: pattern})
	if res.Outcome != core.OutcomeMatched {
		out, errs := r.output(id)
		r.t.Fatalf("%s: no line like %q in %q and %q", res.Outcome, pattern, out, errs)
	}
	return *res.Results[0].Matched
}

func (r *room) closed(id string, force bool) core.ProcessSnapshot {
	r.t.Helper()
	res, err := r.h.Close(r.t.Context(), caller, core.CloseRequest{ID: id, Force: force})
	if err != nil {
		r.t.Fatal(err)
	}
	return *res.Process
}

func (r *room) events(id string) []core.Event {
	r.t.Helper()
	var all []core.Event
	for after := uint64(0); ; {
		page, err := r.h.Replay(r.t.Context(), caller.Owner, core.ReplayRequest{ID: id, After: after, Limit: 1000, MaxBytes: 1 << 20})
		if err != nil {
			r.t.Fatal(err)
		}
		all, after = append(all, page.Events...), page.Cursor
		if !page.More {
			return all
		}
	}
}

// output returns both streams from the journal, and holds the journal to what
// each one promises.
func (r *room) output(id string) (out, errs string) {
	r.t.Helper()
	var streams [2]bytes.Buffer
	last := uint64(0)
	events := r.events(id)
	for i, e := range events {
		if e.Seq <= last {
			r.t.Errorf("seq %d follows %d", e.Seq, last)
		}
		last = e.Seq
		var d core.OutputData
		switch e.Type {
		case core.TypeStdout, core.TypeStderr:
			if err := json.Unmarshal(e.Data, &d); err != nil {
				r.t.Error(err)
			}
			n := 0
			if e.Type == core.TypeStderr {
				n = 1
			}
			streams[n].Write(d.Bytes())
		case core.ProcessExited, core.ProcessFailed, core.ProcessCancelled, core.ProcessTimedOut:
			if i != len(events)-1 {
				r.t.Errorf("%s is event %d of %d", e.Type, i+1, len(events))
			}
		}
	}
	return streams[0].String(), streams[1].String()
}

func types(events []core.Event) []core.EventType {
	var ts []core.EventType
	for _, e := range events {
		if e.Type != core.TypeStdout && e.Type != core.TypeStderr {
			ts = append(ts, e.Type)
		}
	}
	return ts
}

func TestProcessIsToldFromStartToEnd(t *testing.T) {
	r := newRoom(t, roomOptions{})
	p := r.start(core.ProcessSpec{Executable: "sh", Argv: []string{"-c", `printf 'a b\n'; printf '%s\n' "$X" >&2; exit 3`, "$HOME; rm"},
		Title: "three", Env: map[string]string{"X": "\u20ac"}, Metadata: map[string]string{"k": "v"}})
	if p.Status != core.ProcessIsRunning || p.PID == 0 || p.StartedAt.IsZero() || p.Durability != core.DurabilityDisabled && p.Durability != core.Durable {
		t.Errorf("at its start: %+v", p)
	}
	p = r.end(p.ID)
	if p.Status != core.ProcessDoneExited || p.ExitCode == nil || *p.ExitCode != 3 || p.StdoutBytes != 4 || p.StderrBytes != 4 || p.Title != "three" || p.Metadata["k"] != "v" {
		t.Errorf("at its end: %+v", p)
	}
	if out, errs := r.output(p.ID); out != "a b\n" || errs != "\u20ac\n" {
		t.Errorf("%q and %q", out, errs)
	}
	want := []core.EventType{core.ProcessStarted, core.ProcessExited}
	if d := cmp.Diff(want, types(r.events(p.ID))); d != "" {
		t.Error(d)
	}
}

func TestWhatCannotStartIsAFailedProcess(t *testing.T) {
	r := newRoom(t, roomOptions{})
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]core.Code{"no-such-program": core.CodeNotFound, "/no/such/file": core.CodeNotFound, t.TempDir(): core.CodeNotFound,
		script: core.CodeNotFound} {
		p := r.start(core.ProcessSpec{Executable: path})
		if p.Status != core.ProcessDoneFailed || p.Error == nil || p.Error.Message == "" || p.FinishedAt.IsZero() {
			t.Errorf("%s: %+v", path, p)
			continue
		}
		if p.Error.Code != code && path != script {
			t.Errorf("%s: %+v", path, p.Error)
		}
		if d := cmp.Diff([]core.EventType{core.ProcessFailed}, types(r.events(p.ID))); d != "" {
			t.Error(d)
		}
		if r.end(p.ID).Status != core.ProcessDoneFailed {
			t.Error("await does not find it ended")
		}
	}
}

func TestWrongCallsStartNothing(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, roomOptions{limits: core.Limits{AllowDirs: []string{dir}, AllowExec: []string{"true", "/bin/echo"}, MaxProcesses: 2}})
	for name, tt := range map[string]struct {
		spec core.ProcessSpec
		code core.Code
	}{
		"no executable":      {core.ProcessSpec{CWD: dir}, core.CodeInvalidArgument},
		"no cwd":             {core.ProcessSpec{Executable: "true", CWD: filepath.Join(dir, "none")}, core.CodeInvalidArgument},
		"cwd elsewhere":      {core.ProcessSpec{Executable: "true", CWD: out}, core.CodeForbiddenPath},
		"cwd behind a link":  {core.ProcessSpec{Executable: "true", CWD: filepath.Join(dir, "link")}, core.CodeForbiddenPath},
		"executable":         {core.ProcessSpec{Executable: "sh", CWD: dir}, core.CodeForbiddenExecutable},
		"size without a pty": {core.ProcessSpec{Executable: "true", CWD: dir, Cols: 80}, core.CodeInvalidArgument},
		"size of a pty":      {core.ProcessSpec{Executable: "true", CWD: dir, PTY: true, Cols: 5000}, core.CodeInvalidArgument},
		"env_mode":           {core.ProcessSpec{Executable: "true", CWD: dir, EnvMode: "x"}, core.CodeInvalidArgument},
		"a variable's name":  {core.ProcessSpec{Executable: "true", CWD: dir, Env: map[string]string{"A=B": ""}}, core.CodeInvalidArgument},
		"NUL in an argument": {core.ProcessSpec{Executable: "true", CWD: dir, Argv: []string{"a\x00b"}}, core.CodeInvalidArgument},
		"a time-out below 0": {core.ProcessSpec{Executable: "true", CWD: dir, IdleTimeout: -1}, core.CodeInvalidArgument},
	} {
		_, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: tt.spec})
		if core.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %s", name, err, tt.code)
		}
	}
	if list, err := r.h.List(t.Context(), "o", core.ListRequest{Kind: core.KindProcess}); err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if p := r.start(core.ProcessSpec{Executable: "/bin/true", CWD: dir}); r.end(p.ID).Status != core.ProcessDoneExited {
		t.Error("an allowed one did not run")
	}
}

func TestAllowedExecutables(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write := func(path string) string {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to, path string) string {
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := write(filepath.Join(dir, "one")), write(filepath.Join(other, "two"))
	s := NewSupervisor(SupervisorOptions{PathDirs: []string{other}})
	for _, tt := range []struct {
		name, path string
		allow      []string
		ok         bool
	}{
		{"all", two, nil, true},
		{"by path", one, []string{one}, true},
		{"by a name that is looked for", two, []string{"two"}, true},
		{"by folder", one, []string{dir}, true},
		{"another", two, []string{one, dir}, false},
		{"a link out of the folder", link(two, filepath.Join(dir, "out")), []string{dir}, false},
		{"a link into the folder", link(one, filepath.Join(other, "in")), []string{dir}, true},
		{"another name of the same file", link(two, filepath.Join(other, "alias")), []string{"two"}, false},
		{"the same name by another way", link(two, filepath.Join(t.TempDir(), "two")), []string{"two"}, true},
		{"a folder that is not there", one, []string{filepath.Join(dir, "none")}, false},
		{"a folder that begins alike", one, []string{dir[:len(dir)-1]}, false},
	} {
		if err := s.checkAllowed(tt.path, tt.allow); (err == nil) != tt.ok || err != nil && core.CodeOf(err) != core.CodeForbiddenExecutable {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestNoMoreProcessesThanAllowed(t *testing.T) {
	r := newRoom(t, roomOptions{limits: core.Limits{MaxProcesses: 2}})
	first, _ := r.sh("sleep 600"), r.sh("sleep 600")
	_, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: shell("true")})
	if e := core.AsError(err); e == nil || e.Code != core.CodeCapacity || e.Details["limit"] != "max_processes" || !e.Retryable {
		t.Errorf("the third: %v", err)
	}
	r.closed(first.ID, true)
	r.sh("true")
}

func TestNoOwnerHasMoreProcessesThanItsShare(t *testing.T) {
	r := newRoom(t, roomOptions{limits: core.Limits{MaxProcesses: 3, MaxProcessesPerOwner: 2}})
	start := func(owner, line string) (core.ProcessSnapshot, error) {
		return r.h.StartProcess(t.Context(), core.Caller{Owner: owner}, core.StartProcessRequest{Spec: shell(line)})
	}
	refused := func(owner, limit string) {
		t.Helper()
		_, err := start(owner, "true")
		if e := core.AsError(err); e == nil || e.Code != core.CodeCapacity || e.Details["limit"] != limit || !e.Retryable {
			t.Errorf("one more of %s: %v", owner, err)
		}
	}
	const each = 8
	started := make(chan core.ProcessSnapshot, each)
	var racing sync.WaitGroup
	for range each {
		racing.Go(func() {
			if snap, err := start(caller.Owner, "sleep 600"); err == nil {
				started <- snap
			}
		})
	}
	racing.Wait()
	if len(started) != 2 {
		t.Fatalf("%d of %d that began together run, want 2", len(started), each)
	}
	refused(caller.Owner, "max_processes_per_owner")
	if _, err := start("another", "sleep 600"); err != nil {
		t.Errorf("another owner: %v", err)
	}
	refused("another", "max_processes")
	r.closed((<-started).ID, true)
	r.sh("true")
}

func TestEnvironmentIsOverlaidOrReplaced(t *testing.T) {
	t.Setenv("KEPT", "kept")
	t.Setenv("TAKEN", "taken")
	t.Setenv("CLAUDECODE", "1")
	extra := t.TempDir()
	r := newRoom(t, roomOptions{dirs: []string{extra}})
	const line = `echo "$KEPT/$TAKEN/$CLAUDECODE/$NEW/$TERM/$PATH"`
	path := os.Getenv("PATH")
	for name, tt := range map[string]struct {
		change func(*core.ProcessSpec)
		want   string
	}{
		"overlay": {func(s *core.ProcessSpec) { s.UnsetEnv = []string{"TAKEN", "TERM"} }, "kept///new//" + path + ":" + extra},
		"replace": {func(s *core.ProcessSpec) { s.EnvMode, s.Env["PATH"] = core.EnvReplace, "/p" }, "///new//" + "/p"},
	} {
		s := shell(line)
		s.Env = map[string]string{"NEW": "new"}
		tt.change(&s)
		p := r.end(r.start(s).ID)
		if out, _ := r.output(p.ID); out != tt.want+"\n" {
			t.Errorf("%s: %q, want %q", name, out, tt.want)
		}
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	r := newRoom(t, roomOptions{env: []string{"OUTER_TOKEN=outer-secret-value"}})
	s := shell(`printf 'inner-secret'; sleep 0.05; printf -- '-value outer-secret-value ok'; exec 1>&2; printf inner-secret-value`)
	s.Env = map[string]string{"INNER_PASSWORD": "inner-secret-value"}
	s.Argv = append(s.Argv, "x", "inner-secret-value")
	s.Title = "with outer-secret-value"
	p := r.end(r.start(s).ID)
	out, errs := r.output(p.ID)
	if want := redact.Redacted + " " + redact.Redacted + " ok"; out != want || errs != redact.Redacted {
		t.Errorf("%q and %q", out, errs)
	}
	all, err := json.Marshal([]any{p, r.events(p.ID)})
	if err != nil || strings.Contains(string(all), "secret-value") {
		t.Errorf("%s, %v", all, err)
	}
	if p.StdoutBytes != int64(len("inner-secret-value outer-secret-value ok")) || p.StderrBytes != int64(len("inner-secret-value")) {
		t.Errorf("%d and %d bytes", p.StdoutBytes, p.StderrBytes)
	}
}

func TestAThousandFastExitsLoseNotAByte(t *testing.T) {
	r := newRoom(t, roomOptions{store: openSQLite(t)})
	n := 1000
	if testing.Short() {
		n = 100
	}
	work := make(chan int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range work {
				r.fastExit(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// fastExit runs a program that writes to both streams and is gone.
func (r *room) fastExit(i int) {
	long := strings.Repeat(fmt.Sprintf("%d ", i), 50*(i%7))
	s := core.ProcessSpec{Executable: "/bin/sh", Argv: []string{"-c", `printf '%s' "$1"; printf '%s' "$2" >&2`, "sh", "out " + long, "err " + long}}
	p, err := r.h.StartProcess(r.t.Context(), caller, core.StartProcessRequest{Spec: s})
	if err != nil {
		r.t.Error(err)
		return
	}
	res, err := r.h.Await(r.t.Context(), caller, core.AwaitRequest{IDs: []string{p.ID}, Wait: patience})
	if err != nil || res.Outcome != core.OutcomeDone || res.Results[0].Process.Status != core.ProcessDoneExited {
		r.t.Errorf("%+v, %v", res, err)
		return
	}
	if out, errs := r.output(p.ID); out != s.Argv[3] || errs != s.Argv[4] {
		r.t.Errorf("%d: %q and %q", i, out, errs)
	}
}

func TestOutputIsReadableAfterTheServerIsGone(t *testing.T) {
	store := memstore.New()
	r := newRoom(t, roomOptions{store: store})
	p := r.end(r.sh("echo one; echo two >&2").ID)
	r.close()
	again := newRoom(t, roomOptions{store: store.Reopen()})
	if out, errs := again.output(p.ID); out != "one\n" || errs != "two\n" {
		t.Errorf("%q and %q", out, errs)
	}
	if now := again.end(p.ID); now.Status != core.ProcessDoneExited || now.LastSeq != p.LastSeq {
		t.Errorf("%+v", now)
	}
	if _, err := again.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Data: []byte("x")}}); core.CodeOf(err) != core.CodeProcessNotRunning {
		t.Errorf("input to what has ended: %v", err)
	}
}

func TestProcessesOfADeadServerHaveFailed(t *testing.T) {
	store := memstore.New()
	r := newRoom(t, roomOptions{store: store})
	p := r.sh("echo up; sleep 600")
	r.ready(p.ID, "^up$")
	other := newRoom(t, roomOptions{store: store.Reopen()})
	if now := other.await(core.AwaitRequest{IDs: []string{p.ID}, Pattern: "^up$"}); now.Outcome != core.OutcomeMatched {
		t.Errorf("another server does not read it: %+v", now)
	}
	_, err := other.h.Close(t.Context(), caller, core.CloseRequest{ID: p.ID})
	if core.CodeOf(err) != core.CodeOtherInstance {
		t.Errorf("another server may end it: %v", err)
	}
	// Its server dies: nothing of that is told, but its lock is free.
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	other.h.Recover(t.Context())
	now := other.end(p.ID)
	if now.Status != core.ProcessDoneFailed || now.Reason != core.ReasonServerRestarted || now.FinishedAt.IsZero() {
		t.Errorf("%+v", now)
	}
	if d := cmp.Diff([]core.EventType{core.ProcessStarted, core.ProcessFailed}, types(other.events(p.ID))); d != "" {
		t.Error(d)
	}
	if _, err := other.h.Prune(t.Context(), caller, core.PruneRequest{ID: p.ID}); err != nil {
		t.Error(err)
	}
}

func TestOwnersSeeTheirOwnProcessesOnly(t *testing.T) {
	r := newRoom(t, roomOptions{})
	p := r.sh("sleep 600")
	stranger := core.Caller{Owner: "stranger"}
	_, e1 := r.h.Get(t.Context(), stranger.Owner, p.ID)
	_, e2 := r.h.Close(t.Context(), stranger, core.CloseRequest{ID: p.ID, Force: true})
	_, e3 := r.h.SendInput(t.Context(), stranger, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Signal: "SIGTERM"}})
	_, e4 := r.h.Replay(t.Context(), stranger.Owner, core.ReplayRequest{ID: p.ID})
	for i, err := range []error{e1, e2, e3, e4} {
		if core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%d: %v", i+1, err)
		}
	}
	if now, ok := r.s.Get("o", p.ID); !ok || now.Status != core.ProcessIsRunning {
		t.Errorf("%+v", now)
	}
}

func TestListShowsProcessesAsTheyAre(t *testing.T) {
	r := newRoom(t, roomOptions{})
	done, live := r.end(r.sh("true").ID), r.sh("sleep 600")
	ids := func(q core.ListRequest) (ids []string) {
		q.Kind = core.KindProcess
		res, err := r.h.List(t.Context(), "o", q)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range res.Items {
			ids = append(ids, i.ID)
		}
		return ids
	}
	yes, no := true, false
	for name, tt := range map[string]struct {
		q    core.ListRequest
		want []string
	}{
		"all": {core.ListRequest{}, []string{live.ID, done.ID}}, "live": {core.ListRequest{Live: &yes}, []string{live.ID}},
		"ended": {core.ListRequest{Live: &no}, []string{done.ID}}, "status": {core.ListRequest{Status: []string{"exited"}}, []string{done.ID}},
	} {
		if got := ids(tt.q); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestPruneForgetsWhatHasEnded(t *testing.T) {
	r := newRoom(t, roomOptions{})
	done, live := r.end(r.sh("true").ID), r.sh("sleep 600")
	if _, err := r.h.Prune(t.Context(), caller, core.PruneRequest{ID: live.ID}); core.CodeOf(err) != core.CodeResourceActive {
		t.Errorf("a live one: %v", err)
	}
	if ids, err := r.h.Prune(t.Context(), caller, core.PruneRequest{DryRun: true}); err != nil || !slices.Equal(ids, []string{done.ID}) {
		t.Errorf("dry: %v, %v", ids, err)
	}
	if ids, err := r.h.Prune(t.Context(), caller, core.PruneRequest{}); err != nil || !slices.Equal(ids, []string{done.ID}) {
		t.Errorf("%v, %v", ids, err)
	}
	if _, err := r.h.Get(t.Context(), "o", done.ID); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("it is still there: %v", err)
	}
}

func TestWithAllowedExecutablesNoVariableLoadsOthers(t *testing.T) {
	for _, name := range []string{"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "BASH_ENV", "ENV", "PYTHONSTARTUP", "NODE_OPTIONS",
		"GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "PATH", "Path", "npm_config_script_shell", "BASH_FUNC_echo%%"} {
		for _, allow := range [][]string{nil, {"true"}} {
			r := newRoom(t, roomOptions{limits: core.Limits{AllowExec: allow}})
			_, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: core.ProcessSpec{Executable: "true", Env: map[string]string{"A": "b", name: ""}}})
			if refused := core.CodeOf(err) == core.CodeInvalidArgument; refused != (allow != nil) || err != nil && !refused {
				t.Errorf("%s with %v: %v", name, allow, err)
			}
		}
	}
	r := newRoom(t, roomOptions{limits: core.Limits{AllowExec: []string{"true"}}})
	env := map[string]string{"LANG": "C", "GIT_AUTHOR_NAME": "ann", "PYTHONUNBUFFERED": "1", "ENVIRONMENT": "test", "MY_PATH": "x", "NODE_ENV": "production"}
	if _, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: core.ProcessSpec{Executable: "true", Env: env}}); err != nil {
		t.Error(err)
	}
}

func TestAWaitForAPatternEndsInTimeWithMuchToSearch(t *testing.T) {
	r := newRoom(t, roomOptions{})
	p := r.end(r.start(shell("yes | head -c 2400000; echo at last")).ID)
	look := func(wait time.Duration, pattern string) core.AwaitResult {
		res, err := r.h.Await(t.Context(), caller, core.AwaitRequest{IDs: []string{p.ID}, Wait: wait, Pattern: pattern})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	began := time.Now()
	if res := look(time.Millisecond, "nomatch"); res.Outcome != core.OutcomeTimeout || len(res.WaitingOn) != 1 {
		t.Errorf("with much to search: %s, waiting on %v, after %s", res.Outcome, res.WaitingOn, time.Since(began))
	}
	if res := look(time.Minute, "^at last$"); res.Outcome != core.OutcomeMatched || res.Results[0].Matched.Line != "at last" {
		t.Errorf("%s", res.Outcome)
	}
	if res := look(time.Minute, "nomatch"); res.Outcome != core.OutcomeDone || len(res.WaitingOn) != 0 {
		t.Errorf("with nothing left to search: %s, waiting on %v", res.Outcome, res.WaitingOn)
	}
}

// meeting is a store where two who look a key up meet: neither finds it.
type meeting struct {
	core.Store
	met   *sync.WaitGroup
	first *sync.Once
}

func (m meeting) Key(ctx context.Context, owner, tool, key string) (core.KeyRecord, error) {
	k, err := m.Store.Key(ctx, owner, tool, key)
	m.first.Do(func() { m.met.Done(); m.met.Wait() })
	return k, err
}

func TestOneKeyOnTwoServersRunsACommandOnce(t *testing.T) {
	store, met := memstore.New(), &sync.WaitGroup{}
	met.Add(2)
	ran := filepath.Join(t.TempDir(), "ran")
	req := core.StartProcessRequest{Spec: shell("echo x >> " + ran), Once: core.Once{Tool: "start_process", Key: "k", Args: []byte(`{}`)}}
	type reply struct {
		r   *room
		p   core.ProcessSnapshot
		err error
	}
	replies := make(chan reply, 2)
	for range 2 {
		r := newRoom(t, roomOptions{store: meeting{store, met, &sync.Once{}}})
		go func() {
			p, err := r.h.StartProcess(t.Context(), caller, req)
			replies <- reply{r, p, err}
		}()
	}
	a, b := <-replies, <-replies
	if a.err != nil {
		a, b = b, a
	}
	if a.err != nil || core.CodeOf(b.err) != core.CodeIdempotency {
		t.Fatalf("%+v, %v; %+v, %v", a.p, a.err, b.p, b.err)
	}
	if p := a.r.end(a.p.ID); p.Durability != core.Durable {
		t.Errorf("durability %s", p.Durability)
	}
	if again, err := b.r.h.StartProcess(t.Context(), caller, req); err != nil || again.ID != a.p.ID {
		t.Errorf("the call again: %s, %v, want %s", again.ID, err, a.p.ID)
	}
	if out, err := os.ReadFile(ran); string(out) != "x\n" {
		t.Errorf("it ran %q, %v", out, err)
	}
}

func TestAStartWhoseKeyAnotherHasIsUndone(t *testing.T) {
	store := memstore.New()
	s := NewSupervisor(SupervisorOptions{Local: NewLocal(Options{Instance: store.Instance()}), Store: store})
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	k := core.KeyRecord{Owner: "o", Tool: "start_process", Key: "k", Resource: "prc_other", At: time.Now()}
	if err := store.PutKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	spec := shell("sleep 1000")
	spec.CWD = t.TempDir()
	k.Resource = "prc_one"
	p, err := s.Start(t.Context(), core.ProcessStart{ID: "prc_one", Owner: "o", Spec: spec, Keys: []core.KeyRecord{k}})
	if core.CodeOf(err) != core.CodeIdempotency {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := store.Process(t.Context(), "o", "prc_one"); core.CodeOf(err) != core.CodeNotFound || len(s.All("o")) != 0 {
		t.Errorf("it is there: %v, %+v", err, s.All("o"))
	}
}

func TestAFailedStartFreesItsKey(t *testing.T) {
	r := newRoom(t, roomOptions{limits: core.Limits{AllowExec: []string{"true"}}})
	req := core.StartProcessRequest{Spec: shell("exit 0"), Once: core.Once{Tool: "start_process", Key: "k", Args: []byte(`{}`)}}
	for range 2 {
		if _, err := r.h.StartProcess(t.Context(), caller, req); core.CodeOf(err) != core.CodeForbiddenExecutable {
			t.Fatal(err)
		}
	}
	if _, err := r.store.Key(t.Context(), "o", "start_process", "k"); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("the key is taken: %v", err)
	}
}

func TestARepeatedStartIsTheSameProcess(t *testing.T) {
	r := newRoom(t, roomOptions{})
	once := core.Once{Tool: "start_process", Key: "k", Args: []byte(`{"a":1}`)}
	req := core.StartProcessRequest{Spec: shell("cat"), Once: once}
	req.Spec.Stdin = true
	a, err1 := r.h.StartProcess(t.Context(), caller, req)
	b, err2 := r.h.StartProcess(t.Context(), caller, req)
	if err1 != nil || err2 != nil || a.ID != b.ID {
		t.Fatalf("%s and %s; %v, %v", a.ID, b.ID, err1, err2)
	}
	in := core.InputRequest{ProcessID: a.ID, Input: core.ProcessInput{Data: []byte("x\n")}, Once: core.Once{Tool: "send_input", Key: "k", Args: []byte(`{}`)}}
	for range 3 {
		if _, err := r.h.SendInput(t.Context(), caller, in); err != nil {
			t.Fatal(err)
		}
	}
	last := in
	last.Input, last.Once = core.ProcessInput{EOF: true}, core.Once{}
	if _, err := r.h.SendInput(t.Context(), caller, last); err != nil {
		t.Fatal(err)
	}
	r.end(a.ID)
	if out, _ := r.output(a.ID); out != "x\n" {
		t.Errorf("input with one key was written as %q", out)
	}
}
