package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// scripted is the built program with the built-in agent, on a journal of its
// own.
type scripted struct {
	*mcptest.Client
	t   *testing.T
	db  string
	env []string
	cmd *exec.Cmd
}

// process is the server's own.
func (s *scripted) process() *os.Process { return s.cmd.Process }

func startScripted(t *testing.T, argv ...string) *scripted {
	t.Helper()
	s := &scripted{t: t, db: filepath.Join(t.TempDir(), "journal.db")}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	cmd := exec.Command(binary, append([]string{"serve", "--db", s.db}, argv...)...)
	cmd.Env = s.env
	s.cmd = cmd
	s.Client = mcptest.Start(t, cmd)
	s.Initialize(t.Context())
	return s
}

func (s *scripted) call(tool string, a args) got {
	s.t.Helper()
	r := s.MustCall(s.t.Context(), tool, a)
	var g got
	if err := json.Unmarshal(r.Structured, &g); err != nil {
		s.t.Fatalf("%s answered %s: %v", tool, r.Structured, err)
	}
	return g
}

// command runs the program beside the server, on the same journal.
func (s *scripted) command(argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), binary, append(argv, "--db", s.db)...)
	cmd.Env = s.env
	return cmd
}

func TestALogIsFollowedWhileAnotherServerWritesIt(t *testing.T) {
	s := startScripted(t)
	id := s.call("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
	var out, errs bytes.Buffer
	follow := s.command("log", "--follow", id)
	follow.Stdout, follow.Stderr = &out, &errs
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	s.call("send_message", args{"session_id": id, "prompt": "slow 200\nsay one step\nslow 200\nsay all done", "wait_ms": 20000})
	s.call("close", args{"id": id})
	if err := follow.Wait(); err != nil {
		t.Fatalf("log --follow: %v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, want := range []string{"session started", "turn accepted", "one step", "turn completed", "session closed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nothing of %q in\n%s", want, out.String())
		}
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "session closed") {
		t.Errorf("the last line is %q", last)
	}

	whole, err := s.command("log", "--json", id).Output()
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	for line := range strings.Lines(string(whole)) {
		var e struct {
			Seq  uint64 `json:"seq"`
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq <= seq || e.Type == "" {
			t.Errorf("after seq %d comes %s (%v)", seq, line, err)
		}
		seq = e.Seq
	}
	if seq == 0 {
		t.Error("log --json printed nothing")
	}
}

func TestALogSpellsOutWhatATerminalObeys(t *testing.T) {
	s := startScripted(t)
	id := s.call("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
	s.call("send_message", args{"session_id": id, "prompt": "say \u001b]0;PWN\u0007\u009b2Jevil", "wait_ms": 20000})
	for _, argv := range [][]string{{"log", id}, {"log", "--json", id}} {
		out, err := s.command(argv...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), "evil") || strings.ContainsAny(string(out), "\u001b\u0007\u009b") {
			t.Errorf("%v printed %q", argv, out)
		}
	}
}

// TestAPersonFindsTheIDsOfWhatRuns asks for ids as a person does who has seen
// none, and answers and reads with them.
func TestAPersonFindsTheIDsOfWhatRuns(t *testing.T) {
	s := startScripted(t)
	session := s.call("start_session", args{"provider": "demo", "cwd": t.TempDir()}).SessionID
	turn := s.call("send_message", args{"session_id": session, "prompt": "approve\nsay \u001b[31mred\u0007", "wait_ms": 20000})
	process := s.call("start_process", args{"executable": "sleep", "argv": []string{"600"}}).ProcessID
	listed := func(argv ...string) string {
		t.Helper()
		out, err := s.command(append([]string{"list"}, argv...)...).CombinedOutput()
		if err != nil || bytes.ContainsAny(out, "\x1b\x07") {
			t.Fatalf("list %v: %v\n%q", argv, err, out)
		}
		return string(out)
	}
	live := listed()
	request := requestID.FindString(live)
	for _, want := range []string{session, process, request, "harness-mcp respond", "harness-mcp log"} {
		if want == "" || !strings.Contains(live, want) {
			t.Errorf("list lacks %q:\n%s", want, live)
		}
	}
	if out, err := s.command("respond", request, "approve").CombinedOutput(); err != nil {
		t.Errorf("respond: %v\n%s", err, out)
	}
	s.call("close", args{"id": session, "force": true})
	s.call("close", args{"id": process, "force": true})
	if now := listed(); !strings.Contains(now, "Nothing is live") {
		t.Errorf("list after the end:\n%s", now)
	}
	for kind, id := range map[string]string{"sessions": session, "turns": turn.TurnID, "requests": request, "processes": process} {
		if all := listed(kind); !strings.Contains(all, id) {
			t.Errorf("list %s lacks %s:\n%s", kind, id, all)
		}
	}
}
