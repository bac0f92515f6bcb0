package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

func outputEvents(texts ...string) []core.Event {
	var events []core.Event
	for i, s := range texts {
		events = append(events, core.Event{Seq: uint64(i + 2), Type: core.TypeStdout, Data: core.NewOutputData([]byte(s)).Raw()})
	}
	return events
}

func TestOutputIsShownAsAPersonWouldSeeIt(t *testing.T) {
	for name, tt := range map[string]struct {
		in   []string
		want string
	}{
		"as it is":                 {[]string{"a\n", "b"}, "a\nb"},
		"a terminal's line ends":   {[]string{"a\r", "\nb\r\n"}, "a\nb\n"},
		"colours, cut anywhere":    {[]string{"\x1b[3", "1mred\x1b[0m"}, "red"},
		"a line that is rewritten": {[]string{"10%\r", "50%\rdone\n"}, "done\n"},
		"bytes that are no text":   {[]string{"a\xffb"}, "a\uFFFDb"},
		"nothing":                  {nil, ""},
	} {
		if got := plainOutput(outputEvents(tt.in...)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestTheTailIsTwentyLinesAndTwoKilobytes(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	got := lastLines(text.String())
	if n := strings.Count(got, "\n"); n != tailLines || !strings.HasPrefix(got, "line 31\n") || !strings.HasSuffix(got, "line 50\n") {
		t.Errorf("%d lines: %q", n, got)
	}
	if got := lastLines(strings.Repeat("\u20ac", tailBytes)); len(got) > tailBytes || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes", len(got))
	}
	if got := lastLines("one\ntwo"); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
}

// processFake is a harness with one process, which notes what it is asked.
type processFake struct {
	*fake
	process core.ProcessSnapshot
	matched *core.OutputMatch
	outcome core.Outcome
	started core.StartProcessRequest
	input   core.InputRequest
	awaited core.AwaitRequest
}

func newProcessFake(journal ...string) *processFake {
	f := &processFake{fake: &fake{journal: outputEvents(journal...)}, outcome: core.OutcomeDone, process: core.ProcessSnapshot{
		ID: "prc_1", Status: core.ProcessIsRunning, Executable: "/bin/x", CWD: "/", StdoutBytes: 6, LastSeq: 9}}
	f.get = func(string) (core.Resource, error) { return f.resource(), nil }
	f.await = func(_ context.Context, a core.AwaitRequest) (core.AwaitResult, error) {
		f.awaited = a
		return core.AwaitResult{Outcome: f.outcome, Results: []core.Resource{f.resource()}}, nil
	}
	return f
}

func (f *processFake) resource() core.Resource {
	return core.Resource{Kind: core.KindProcess, ID: f.process.ID, Process: &f.process, Matched: f.matched}
}

func (f *processFake) StartProcess(_ context.Context, _ core.Caller, r core.StartProcessRequest) (core.ProcessSnapshot, error) {
	f.started = r
	return f.process, nil
}

func (f *processFake) SendInput(_ context.Context, _ core.Caller, r core.InputRequest) (core.InputResult, error) {
	f.input = r
	return core.InputResult{Process: f.process, Before: 4}, nil
}

func TestAMatchIsInTheReplyOfAwait(t *testing.T) {
	f := newProcessFake("up on 80\n")
	f.matched, f.outcome = &core.OutputMatch{Seq: 3, Stream: core.TypeStdout, Line: "up on 80"}, core.OutcomeMatched
	r := callTool(t, f, Options{}, "await", `{"ids": ["prc_1"], "pattern": "up", "after": 1}`)
	if f.awaited.Pattern != "up" || f.awaited.After != 1 {
		t.Errorf("asked for %+v", f.awaited)
	}
	o := r.object(t)
	results, _ := o["results"].([]any)
	if o["outcome"] != "matched" || len(results) != 1 {
		t.Fatalf("%s", r.Structured)
	}
	got, _ := results[0].(map[string]any)
	want := map[string]any{"seq": 3.0, "stream": "stdout", "line": "up on 80"}
	if d := cmp.Diff(want, got["matched"]); d != "" {
		t.Error(d)
	}
	want = map[string]any{"text": "up on 80\n", "from": 2.0, "to": 2.0}
	if d := cmp.Diff(want, got["output"]); d != "" {
		t.Error(d)
	}
	if !strings.Contains(r.Text, "matched on stdout at 3: up on 80") {
		t.Errorf("the text half says %q", r.Text)
	}
}

func TestStartProcessHandsEverythingOnAndWaitsForAPattern(t *testing.T) {
	f := newProcessFake("ready\n")
	f.matched, f.outcome = &core.OutputMatch{Seq: 2, Stream: core.TypeStdout, Line: "ready"}, core.OutcomeMatched
	r := callTool(t, f, Options{}, "start_process", `{"executable": "x", "argv": ["a", "b c"], "cwd": "/w", "title": "t", "env": {"A": "1"},
		"unset_env": ["B"], "env_mode": "replace", "stdin": true, "pty": "true", "cols": 100, "rows": 30, "runtime_timeout_ms": 5, "idle_timeout_ms": 6,
		"metadata": {"k": "v"}, "wait_ms": 7, "pattern": "ready", "idempotency_key": "key"}`)
	want := core.ProcessSpec{Executable: "x", Argv: []string{"a", "b c"}, CWD: "/w", Title: "t", Env: map[string]string{"A": "1"}, UnsetEnv: []string{"B"},
		EnvMode: core.EnvReplace, Stdin: true, PTY: true, Cols: 100, Rows: 30, RuntimeTimeout: 5e6, IdleTimeout: 6e6, Metadata: map[string]string{"k": "v"}}
	if d := cmp.Diff(want, f.started.Spec); d != "" || f.started.Once.Key != "key" {
		t.Errorf("%+v %s", f.started.Once, d)
	}
	if f.awaited.Pattern != "ready" || f.awaited.Wait != 7e6 || f.awaited.After != 0 {
		t.Errorf("it waited for %+v", f.awaited)
	}
	if o := r.object(t); o["matched"] == nil || o["output"] == nil || !strings.HasSuffix(r.Text, "\n\nready\n") {
		t.Errorf("%s\n%s", r.Text, r.Structured)
	}
	f.started = core.StartProcessRequest{}
	if r := callTool(t, f, Options{}, "start_process", `{"executable": "x", "pattern": "("}`); r.code(t) != "invalid_argument" || f.started.Spec.Executable != "" {
		t.Errorf("a pattern that is none: %s", r.Text)
	}
}

func TestSendInputShowsWhatCameSinceAndTheCursorBefore(t *testing.T) {
	f := newProcessFake("a", "b", "old", "new\n") // 2 to 5; the input came behind 4
	r := callTool(t, f, Options{}, "send_input", `{"process_id": "prc_1", "data_base64": "/wA=", "eof": true, "signal": "SIGINT", "cols": 9, "rows": 8,
		"pattern": "x", "wait_ms": 1}`)
	want := core.ProcessInput{Data: []byte{0xff, 0}, EOF: true, Signal: "SIGINT", Cols: 9, Rows: 8}
	if d := cmp.Diff(want, f.input.Input); d != "" {
		t.Error(d)
	}
	if f.awaited.After != 4 || f.awaited.Pattern != "x" {
		t.Errorf("it waited for %+v", f.awaited)
	}
	o := r.object(t)
	if d := cmp.Diff(map[string]any{"text": "new\n", "from": 5.0, "to": 5.0}, o["output"]); d != "" || o["cursor"] != 4.0 {
		t.Errorf("cursor %v %s", o["cursor"], d)
	}
	for _, wrong := range []string{`{"process_id": "prc_1", "data_base64": "?"}`, `{"process_id": "prc_1", "data_base64": "AA==", "data": "x"}`,
		`{"process_id": "prc_1", "signal": "SIGKILL"}`, `{"process_id": "prc_1", "data": "x", "pattern": "("}`} {
		if r := callTool(t, f, Options{}, "send_input", wrong); r.code(t) != "invalid_argument" {
			t.Errorf("%s: %s", wrong, r.Text)
		}
	}
}

func TestALongOutputKeepsTheReplySmall(t *testing.T) {
	f := newProcessFake(strings.Repeat("line of output\n", 4000))
	f.process.Status, f.process.ExitCode = core.ProcessDoneExited, new(int)
	for tool, arguments := range map[string]string{"start_process": `{"executable": "x", "wait_ms": 1}`, "inspect": `{"id": "prc_1"}`,
		"await": `{"ids": ["prc_1"], "after": 0}`} {
		r := callTool(t, f, Options{}, tool, arguments)
		if len(r.Structured) > defaultBudget || len(r.Text) > defaultBudget {
			t.Errorf("%s: halves of %d and %d bytes", tool, len(r.Structured), len(r.Text))
		}
		if tool == "inspect" {
			if tail, _ := r.object(t)["tail"].(string); strings.Count(tail, "\n") != tailLines {
				t.Errorf("the tail is %q", tail)
			}
			continue
		}
		if !strings.Contains(string(r.Structured), `"truncated":true`) || !strings.Contains(r.Text, "replay {id: ") {
			t.Errorf("%s does not say what is missing: %s", tool, r.Text)
		}
	}
}

func TestTheLastOutputIsSuggestedInLines(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		tail    string
		written int
		output  bool
		status  core.ProcessStatus
		want    string // tools, behind the wait for a running one
	}{
		"running, nothing shown":  {"", 0, false, core.ProcessIsRunning, "await inspect close"},
		"running, its tail shown": {lines(20), 9000, false, core.ProcessIsRunning, "await replay close"},
		"running, output shown":   {"", 9000, true, core.ProcessIsRunning, "await close"},
		"ended, all of it shown":  {lines(2), len(lines(2)), false, core.ProcessDoneExited, ""},
		"ended, more than a tail": {lines(20), 9000, false, core.ProcessDoneExited, "replay"},
		"ended, nothing shown":    {"", 9000, false, core.ProcessDoneExited, "inspect"},
		"ended, and never a word": {"", 0, false, core.ProcessDoneExited, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := &processObject{ProcessID: "prc_x", Status: c.status, Tail: c.tail, StdoutBytes: int64(c.written)}
			if c.output {
				o.Output = &outputObject{}
			}
			(&call{}).afterProcess(o)
			var got []string
			for _, n := range o.Next {
				got = append(got, n.Tool)
				if _, ok := n.Arguments["tail"]; ok {
					t.Errorf("it suggests to count events: %v", n.Arguments)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("it suggests %q, want %q", s, c.want)
			}
		})
	}
}
