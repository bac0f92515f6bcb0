package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running reports whether a process is there and not dead.
func running(pid int) bool {
	p, ok := readProc(pid)
	return ok && !p.dead()
}

func noneRunning(pids []int) bool { return !slices.ContainsFunc(pids, running) }

// everyKind is what a coding agent's tools may turn into.
var everyKind = []string{"plain", "setsid", "daemon", "bare"}

func TestKillEndsTheWholeTree(t *testing.T) {
	tests := map[string]struct {
		guard GuardMode
		kinds []string
	}{
		"guard": {GuardRequired, everyKind},
		// Without a guard, what has neither group nor marker escapes.
		"plain": {GuardOff, []string{"plain", "setsid", "daemon"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := start(t, Options{Guard: test.guard, Instance: testInstance}, helper("family", test.kinds...))
			tree := pids(t, lines(t, c.Stdout()))
			if slices.ContainsFunc(tree, func(pid int) bool { return !running(pid) }) || len(tree) != len(test.kinds) {
				t.Fatalf("the family %v is not complete", tree)
			}
			if err := c.Kill(); err != nil {
				t.Fatal(err)
			}
			if tree = append(tree, c.PID()); !noneRunning(tree) {
				t.Errorf("one of %v is left", tree)
			}
		})
	}
}

func TestGrandchildrenDoNotSurviveTheSIGKILLOfTheirParent(t *testing.T) {
	c := start(t, Options{Guard: GuardRequired, Instance: testInstance, StopWait: 20 * time.Millisecond, LeftoverWait: 20 * time.Millisecond},
		helper("family", everyKind...))
	tree := pids(t, lines(t, c.Stdout()))
	if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if c.Exit().Signal != "SIGKILL" || c.Leftover() != len(tree) {
		t.Errorf("exit %+v, leftover %d of %d", c.Exit(), c.Leftover(), len(tree))
	}
	select {
	case <-c.Gone():
		t.Fatal("nothing is left, it says")
	default:
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !noneRunning(tree) {
		t.Errorf("one of %v is left", tree)
	}
}

func TestLeftoverGetsTermOnlyOnceTheCommandIsGone(t *testing.T) {
	c := start(t, Options{Guard: GuardRequired, EOFWait: time.Hour, StopWait: time.Hour}, helper("family", "setsid", "exit"))
	tree := pids(t, lines(t, c.Stdout()))
	if err := c.Stop(t.Context()); err != nil { // a rung would take an hour
		t.Fatal(err)
	}
	if !noneRunning(tree) || c.Exit().Code != 0 || c.Exit().Signal != "" {
		t.Errorf("tree %v, exit %+v", tree, c.Exit())
	}
}

func TestOutputOfLeftoverIsReadUntilItEnds(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, Options{Guard: GuardRequired}, Spec{Path: "/bin/sh",
		Args: []string{"-c", `(read word <"$0"; echo $word) & exit 0`, fifo}})
	<-c.Done()
	if err := os.WriteFile(fifo, []byte("late\n"), 0); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c.Stdout())
	if err != nil || string(out) != "late\n" || c.Leftover() != 1 {
		t.Errorf("%q, %v, leftover %d", out, err, c.Leftover())
	}
	<-c.Gone()
}

func TestDeathOfTheServerEndsEverythingWithoutANextBoot(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"KILL": syscall.SIGKILL, "SEGV": syscall.SIGSEGV} {
		t.Run(name, func(t *testing.T) {
			exe, _ := os.Executable()
			cmd := exec.Command(exe, everyKind...)
			cmd.Env = append(os.Environ(), helperVar+"=server")
			cmd.Stderr = nil
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			tree := pids(t, lines(t, out))
			if len(tree) != 2+len(everyKind) || slices.ContainsFunc(tree, func(pid int) bool { return !running(pid) }) {
				t.Errorf("the tree %v is not complete", tree)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			eventually(t, "everything is gone", func() bool { return noneRunning(tree) })
		})
	}
}

func TestDeathOfTheGuardEndsItsTree(t *testing.T) {
	c := start(t, Options{Guard: GuardRequired, Instance: testInstance}, helper("family", "plain", "setsid", "daemon"))
	tree := append(pids(t, lines(t, c.Stdout())), c.PID())
	if err := syscall.Kill(int(c.root.Load()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Gone()
	if !noneRunning(tree) {
		t.Errorf("one of %v is left", tree)
	}
	if c.Exit().Err != errGuardLost || c.Exit().Code != -1 {
		t.Errorf("%+v", c.Exit())
	}
}

func TestStoppedGuardIsKilledInTheEnd(t *testing.T) {
	c := start(t, Options{Guard: GuardRequired, Instance: testInstance}, helper("family", "setsid"))
	tree := append(pids(t, lines(t, c.Stdout())), c.PID())
	if err := syscall.Kill(int(c.root.Load()), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if !noneRunning(tree) {
		t.Errorf("one of %v is left", tree)
	}
}

func TestSignalsToTheServersGroupDoNotReachTheGuard(t *testing.T) {
	c := start(t, Options{Guard: GuardRequired}, helper("cat"))
	guard := int(c.root.Load())
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGUSR1} {
		if err := syscall.Kill(-guard, sig); err != nil { // its own group, even
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(c.Stdin(), "still here"); err != nil {
		t.Fatal(err)
	}
	c.Stdin().Close()
	out, _ := io.ReadAll(c.Stdout())
	<-c.Done()
	if string(out) != "still here" || c.Exit().Code != 0 {
		t.Errorf("%q %+v", out, c.Exit())
	}
}

func TestSignalsThatTheServerIgnoresAreNotIgnoredByCommands(t *testing.T) {
	// What a shell does to a background job: INT is ignored by all below.
	exe, _ := os.Executable()
	cmd := exec.Command("/bin/sh", "-c", `trap "" INT QUIT HUP; exec "$0" /bin/grep SigIgn /proc/self/status`, exe)
	cmd.Env = append(os.Environ(), helperVar+"=relay")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, ok := strings.CutPrefix(string(out), "SigIgn:")
	mask, perr := strconv.ParseUint(strings.TrimSpace(got), 16, 64)
	const ours = 1<<(syscall.SIGINT-1) | 1<<(syscall.SIGQUIT-1) | 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGTERM-1)
	if !ok || perr != nil || mask&ours != 0 {
		t.Errorf("ignored: %s", out)
	}
}

func TestCommandInheritsNoFileButItsPipes(t *testing.T) {
	// A file that whoever started us forgot to close.
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	leaked, err := syscall.Dup(int(f.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	c := start(t, Options{Guard: GuardRequired}, Spec{Path: "/bin/ls", Args: []string{"/proc/self/fd"}})
	out, _ := io.ReadAll(c.Stdout())
	// ls itself opens the directory: 3.
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("files %v", got)
	}
}

func TestCommandHasASessionAndGroupAwayFromOurs(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		c := start(t, o, helper("hang"))
		p, _ := readProc(c.PID())
		if p.pgrp != c.PID() || p.pgrp == syscall.Getpgrp() {
			t.Errorf("group %d of process %d", p.pgrp, c.PID())
		}
	})
}

func TestForkingTreeIsOvertaken(t *testing.T) {
	// Each shell starts the next and ends: the tree is never where it was.
	script := filepath.Join(t.TempDir(), "comet")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n\"$0\" &\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, Options{Guard: GuardRequired, Instance: testInstance}, Spec{Path: script, Env: []string{"PATH=/bin:/usr/bin"}, Resource: "comet"})
	<-c.Done()
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if environMarker(p.pid) == testInstance+":comet" && !p.dead() {
			t.Errorf("process %d is left", p.pid)
		}
	}
}

func TestKillEndsReadersThoughAnOutsiderHoldsThePipe(t *testing.T) {
	c := start(t, Options{Guard: GuardRequired}, helper("hang"))
	// An outsider: we, with the write end of the command's stdout.
	w, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", c.PID()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c.Stdout())
	if err != nil || string(out) != "last words" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestManyStartsLeakNothing(t *testing.T) {
	l := NewLocal(Options{Guard: GuardRequired, Instance: testInstance, Log: &childLog{}})
	run := func() {
		c, err := l.Start(t.Context(), Spec{Path: "/bin/true"})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, c.Stdout())
		_, _ = io.Copy(io.Discard, c.Stderr())
		<-c.(*child).Gone()
	}
	run()
	fds, goroutines := openFiles(t), runtime.NumGoroutine()
	for range manyStarts {
		run()
	}
	if now := openFiles(t); now > fds {
		t.Errorf("%d files open, %d before", now, fds)
	}
	eventually(t, "goroutines are gone", func() bool { return runtime.NumGoroutine() <= goroutines })
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	if left := descendants(all, []int{os.Getpid()}, nil); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
	if len(l.live) != 0 {
		t.Errorf("%d children are still known", len(l.live))
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestFailedStartsLeakNothing covers the ways out of a start.
func TestFailedStartsLeakNothing(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		l := NewLocal(o)
		garbage := filepath.Join(t.TempDir(), "garbage")
		if err := os.WriteFile(garbage, []byte("\x00"), 0o700); err != nil {
			t.Fatal(err)
		}
		fail := func() {
			if _, err := l.Start(t.Context(), Spec{Path: garbage}); err == nil {
				t.Fatal("garbage was executed")
			}
		}
		fail()
		fds := openFiles(t)
		for range 50 {
			fail()
		}
		if now := openFiles(t); now > fds {
			t.Errorf("%d files open, %d before", now, fds)
		}
		if len(l.live) != 0 {
			t.Errorf("%d children are still known", len(l.live))
		}
	})
}
