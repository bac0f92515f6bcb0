//go:build unix

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// deaf says when it can be signalled, notes what comes and stays.
const deaf = `trap 'echo INT' INT; trap 'echo TERM' TERM; echo ready; while :; do sleep 0.02; done`

func TestStopGoesFromIntToTermToKill(t *testing.T) {
	r := newRoom(t, roomOptions{local: Options{StopWait: 300 * time.Millisecond}})
	p := r.sh(deaf)
	r.ready(p.ID, "^ready$")
	p = r.closed(p.ID, false)
	if p.Status != core.ProcessDoneCancelled || p.Signal != "SIGKILL" || p.Reason != "" || p.ExitCode != nil {
		t.Errorf("%+v", p)
	}
	if out, _ := r.output(p.ID); out != "ready\nINT\nTERM\n" {
		t.Errorf("it was told %q", out)
	}
	if d := cmp.Diff([]core.EventType{core.ProcessStarted, core.ProcessStopping, core.ProcessCancelled}, types(r.events(p.ID))); d != "" {
		t.Error(d)
	}
	if again := r.closed(p.ID, true); again.Reason != "" || again.LastSeq != p.LastSeq {
		t.Errorf("a close of what has ended changes it: %+v", again)
	}
}

func TestRepeatedStopsDoNotBeginAnew(t *testing.T) {
	r := newRoom(t, roomOptions{local: Options{StopWait: 500 * time.Millisecond}})
	p := r.sh(deaf)
	r.ready(p.ID, "^ready$")
	begin := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	done := make(chan core.ProcessSnapshot)
	go func() { done <- r.closed(p.ID, false) }()
	for {
		select {
		case <-tick.C:
			go r.s.Stop(t.Context(), "o", p.ID, core.ProcessStop{}) //nolint:errcheck // the first one tells
			continue
		case p = <-done:
		}
		break
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if out, _ := r.output(p.ID); out != "ready\nINT\nTERM\n" {
		t.Errorf("it was told %q", out)
	}
}

func TestForceKillsAtOnceAlsoInTheMiddleOfAStop(t *testing.T) {
	r := newRoom(t, roomOptions{local: Options{StopWait: time.Hour}})
	p := r.sh(deaf)
	r.ready(p.ID, "^ready$")
	done := make(chan core.ProcessSnapshot)
	go func() { done <- r.closed(p.ID, false) }()
	r.ready(p.ID, "^INT$")
	forced := r.closed(p.ID, true)
	first := <-done
	if first.Status != core.ProcessDoneCancelled || forced.Reason != "" || first.Signal != "SIGKILL" {
		t.Errorf("the first reason does not count: %+v and %+v", first, forced)
	}
	p = r.sh(deaf)
	if p = r.closed(p.ID, true); p.Reason != core.ReasonForcedStop {
		t.Errorf("%+v", p)
	}
}

func TestAClosedProcessIsCancelledWhateverItsCode(t *testing.T) {
	r := newRoom(t, roomOptions{})
	p := r.sh(`trap 'exit 0' INT; echo ready; while :; do sleep 0.02; done`)
	r.ready(p.ID, "^ready$")
	if p = r.closed(p.ID, false); p.Status != core.ProcessDoneCancelled || p.ExitCode == nil || *p.ExitCode != 0 {
		t.Errorf("%+v", p)
	}
}

func TestProcessesThatTakeTooLongAreTimedOut(t *testing.T) {
	r := newRoom(t, roomOptions{local: Options{StopWait: 200 * time.Millisecond}})
	s := shell("while :; do echo x; sleep 0.03; done")
	s.IdleTimeout, s.RuntimeTimeout = 20*time.Second, 400*time.Millisecond
	if p := r.end(r.start(s).ID); p.Status != core.ProcessDoneTimedOut || p.Reason != "" || p.StdoutBytes < 10 {
		t.Errorf("runtime: %+v", p)
	}
	s = shell("for i in 1 2 3 4 5 6 7 8; do echo x; sleep 0.1; done; sleep 600")
	s.IdleTimeout = 500 * time.Millisecond
	p := r.end(r.start(s).ID)
	if p.Status != core.ProcessDoneTimedOut || p.Reason != core.ReasonIdleTimeout || p.StdoutBytes != 16 {
		t.Errorf("idle: %+v", p)
	}
	if took := p.FinishedAt.Sub(p.StartedAt); took < time.Second {
		t.Errorf("output did not set the idle time back: ended after %v", took)
	}
}

func TestWhatOutlivesAProcessDoesNotDelayItsEndAndEndsWithClose(t *testing.T) {
	if !guardReady() {
		t.Skip("this system has no guards")
	}
	r := newRoom(t, roomOptions{})
	for _, end := range []string{"close", "prune", "shutdown"} {
		t.Run(end, func(t *testing.T) {
			done := filepath.Join(t.TempDir(), "done")
			// It writes on after the end, which must not fail it.
			p := r.sh(`(trap '' INT TERM; sleep 0.6; echo late; echo late >&2; echo ok >` + done + `; exec sleep 600) & echo $!`)
			begin := time.Now()
			p = r.end(p.ID)
			if p.Status != core.ProcessDoneExited || p.Leftover < 1 || time.Since(begin) > 10*time.Second {
				t.Fatalf("%+v after %v", p, time.Since(begin))
			}
			out, errs := r.output(p.ID)
			pid, err := strconv.Atoi(strings.TrimSpace(out))
			if err != nil || errs != "" {
				t.Fatalf("%q, %q, %v", out, errs, err)
			}
			eventually(t, "the leftover writes on", func() bool { b, err := os.ReadFile(done); return err == nil && string(b) == "ok\n" })
			if syscall.Kill(pid, 0) != nil {
				t.Fatal("what it left does not live on")
			}
			switch end {
			case "close":
				if again := r.closed(p.ID, false); again.LastSeq != p.LastSeq || again.Status != p.Status {
					t.Errorf("close changed it: %+v", again)
				}
			case "prune":
				if _, err := r.h.Prune(t.Context(), caller, core.PruneRequest{ID: p.ID}); err != nil {
					t.Error(err)
				}
			default:
				r.close()
			}
			if syscall.Kill(pid, 0) == nil {
				t.Error("what it left is still there")
			}
		})
	}
}

func TestAStreamOfLeftoverOutputCannotDelayTheEnd(t *testing.T) {
	if !guardReady() {
		t.Skip("this system has no guards")
	}
	r := newRoom(t, roomOptions{})
	p := r.sh("(while :; do echo more; done) & echo first")
	begin := time.Now()
	p = r.end(p.ID)
	if took := p.FinishedAt.Sub(p.StartedAt); p.Status != core.ProcessDoneExited || took > 10*time.Second {
		t.Errorf("%+v after %v", p, time.Since(begin))
	}
	if out, _ := r.output(p.ID); !strings.Contains(out, "first\n") {
		t.Errorf("its own output is not among %d bytes", len(out))
	}
	r.closed(p.ID, true)
}

func TestShutdownEndsWhatRunsAndSaysWhy(t *testing.T) {
	store := memstore.New()
	r := newRoom(t, roomOptions{store: store})
	polite, stubborn := r.sh("echo up; sleep 600"), r.sh(deaf)
	r.ready(polite.ID, "^up$")
	r.ready(stubborn.ID, "^ready$")
	r.close()
	for id, signal := range map[string]string{polite.ID: "SIGINT", stubborn.ID: "SIGKILL"} {
		rec, err := store.Process(t.Context(), "o", id)
		if p := rec.Process; err != nil || p.Status != core.ProcessDoneCancelled || p.Reason != core.ReasonSessionShutdown || p.Signal != signal {
			t.Errorf("%+v, %v", p, err)
		}
	}
	_, err := r.h.StartProcess(t.Context(), caller, core.StartProcessRequest{Spec: shell("true")})
	if core.CodeOf(err) != core.CodeShuttingDown {
		t.Errorf("a start after the end: %v", err)
	}
	if rows, err := store.Children(t.Context(), ""); err != nil || len(rows) != 0 {
		t.Errorf("rows of children: %v, %v", rows, err)
	}
}

func TestSignalsGoToTheGroup(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		r := newRoom(t, roomOptions{local: o})
		var traps []string
		for _, s := range core.ProcessSignals {
			traps = append(traps, "trap 'echo got "+s+"' "+strings.TrimPrefix(s, "SIG"))
		}
		s := shell(strings.Join(traps, "; ") + "; echo ready; while :; do sleep 0.02; done")
		p := r.start(s)
		r.ready(p.ID, "^ready$")
		for _, sig := range core.ProcessSignals {
			if _, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Signal: sig}}); err != nil {
				t.Fatal(err)
			}
			r.ready(p.ID, "^got "+sig+"$")
		}
		r.closed(p.ID, true)
	})
}

func TestInputOfAManagedProcess(t *testing.T) {
	r := newRoom(t, roomOptions{})
	send := func(id string, in core.ProcessInput) error {
		_, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: id, Input: in})
		return err
	}
	cat := shell("cat")
	cat.Stdin = true
	p := r.start(cat)
	if err := send(p.ID, core.ProcessInput{Data: []byte("one\n\xff\x00")}); err != nil {
		t.Fatal(err)
	}
	r.ready(p.ID, "^one$")
	if err := send(p.ID, core.ProcessInput{Data: []byte("two"), EOF: true}); err != nil {
		t.Fatal(err)
	}
	p = r.end(p.ID)
	if out, _ := r.output(p.ID); out != "one\n\xff\x00two" || p.Status != core.ProcessDoneExited {
		t.Errorf("%q of %+v", out, p)
	}

	off := r.sh("cat; echo end; sleep 600") // without input cat is at its end
	r.ready(off.ID, "^end$")
	if err := send(off.ID, core.ProcessInput{Data: []byte("x")}); core.CodeOf(err) != core.CodeStdinClosed {
		t.Errorf("input that is off: %v", err)
	}
	never := shell("exec sleep 600")
	never.Stdin = true
	p = r.start(never)
	var err error
	for range 8 {
		if err = send(p.ID, core.ProcessInput{Data: slices.Repeat([]byte("x"), core.MaxInput/2)}); err != nil {
			break
		}
	}
	if core.CodeOf(err) != core.CodeStdinBusy {
		t.Errorf("one that never reads: %v", err)
	}
	if p = r.closed(p.ID, false); p.Status != core.ProcessDoneCancelled {
		t.Errorf("and it can still be ended: %+v", p)
	}
	for name, in := range map[string]struct {
		in   core.ProcessInput
		code core.Code
	}{
		"nothing":     {core.ProcessInput{}, core.CodeInvalidArgument},
		"KILL":        {core.ProcessInput{Signal: "SIGKILL"}, core.CodeInvalidArgument},
		"half a size": {core.ProcessInput{Cols: 80}, core.CodeInvalidArgument},
		"too much":    {core.ProcessInput{Data: make([]byte, core.MaxInput+1)}, core.CodeTooLarge},
	} {
		if err := send(off.ID, in.in); core.CodeOf(err) != in.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATerminalIsTheProcesssOwn(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		r := newRoom(t, roomOptions{local: o})
		s := shell(`stty size; tty; ps -o pid=,pgid=,sid=,tpgid= -p $$ 2>/dev/null; echo err >&2; read x; stty size; echo "got $x"; read y || echo over`)
		s.PTY, s.Cols, s.Rows = true, 91, 17
		p := r.start(s)
		r.ready(p.ID, "^17 91$")
		r.ready(p.ID, "^/dev/")
		if m := r.ready(p.ID, "^err$"); m.Stream != core.TypeStdout {
			t.Errorf("all output of a terminal is stdout, not %s", m.Stream)
		}
		send := func(in core.ProcessInput) {
			if _, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: in}); err != nil {
				t.Fatal(err)
			}
		}
		send(core.ProcessInput{Cols: 100, Rows: 40})
		send(core.ProcessInput{Data: []byte("hello\n")})
		r.ready(p.ID, "^40 100$")
		r.ready(p.ID, "^got hello$")
		send(core.ProcessInput{EOF: true})
		p = r.end(p.ID)
		if out, _ := r.output(p.ID); p.Status != core.ProcessDoneExited || !strings.Contains(out, "over") || p.StderrBytes != 0 {
			t.Errorf("%+v: %q", p, out)
		}
	})
}

func TestASignalOnATerminalReachesItsForeground(t *testing.T) {
	r := newRoom(t, roomOptions{})
	s := core.ProcessSpec{Executable: "/bin/sh", Argv: []string{"-i"}, PTY: true, Env: map[string]string{"PS1": "prompt> ", "ENV": ""}}
	p := r.start(s)
	r.ready(p.ID, "prompt> $")
	res, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Data: []byte("echo on; sleep 600; echo off\n")}})
	if err != nil {
		t.Fatal(err)
	}
	match := func(pattern string) {
		if got := r.await(core.AwaitRequest{IDs: []string{p.ID}, Pattern: pattern, After: res.Before}); got.Outcome != core.OutcomeMatched {
			out, _ := r.output(p.ID)
			t.Fatalf("no %q in %q", pattern, out)
		}
	}
	match("^on$")
	eventually(t, "a prompt after the signal", func() bool {
		if _, err := r.h.SendInput(t.Context(), caller, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Signal: "SIGINT"}}); err != nil {
			t.Fatal(err)
		}
		got := r.await(core.AwaitRequest{IDs: []string{p.ID}, Pattern: "prompt> $", After: res.Before, Wait: 200 * time.Millisecond})
		return got.Outcome == core.OutcomeMatched
	})
	if now, _ := r.s.Get("o", p.ID); now.Status != core.ProcessIsRunning {
		t.Errorf("the shell itself was hit: %+v", now)
	}
	r.closed(p.ID, true)
}
