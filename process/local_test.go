//go:build unix

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestCommandGetsItsArgumentsAsTheyAre(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		c := start(t, o, helper("args", "a b", "", "$HOME", "--flag", "\xff\n"))
		out, err := io.ReadAll(c.Stdout())
		if err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if want := `["a b" "" "$HOME" "--flag" "\xff\n"]`; string(out) != want {
			t.Errorf("got %s, want %s", out, want)
		}
		if diff := cmp.Diff(Exit{}, c.Exit()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFastExitLosesNoOutput(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		l := NewLocal(o)
		for i := range 200 {
			c, err := l.Start(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", "printf out; printf err >&2; exit 7"}})
			if err != nil {
				t.Fatal(err)
			}
			<-c.Done() // it has ended before anyone reads
			out, _ := io.ReadAll(c.Stdout())
			diag, _ := io.ReadAll(c.Stderr())
			if string(out) != "out" || string(diag) != "err" || c.Exit().Code != 7 {
				t.Fatalf("start %d: stdout %q, stderr %q, exit %+v", i, out, diag, c.Exit())
			}
			<-c.(*child).Gone()
		}
	})
}

func TestLargeOutputArrivesWhole(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		const size = 50 << 20
		c := start(t, o, helper("bulk", "52428800"))
		n, err := io.Copy(io.Discard, c.Stdout())
		if err != nil || n != size+3 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

func TestInputReachesTheCommandAndEnds(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		c := start(t, o, helper("cat"))
		if _, err := io.WriteString(c.Stdin(), "hello"); err != nil {
			t.Fatal(err)
		}
		c.Stdin().Close()
		out, _ := io.ReadAll(c.Stdout())
		<-c.Done()
		if string(out) != "hello" || c.Exit().Code != 0 {
			t.Errorf("%q, %+v", out, c.Exit())
		}
	})
}

func TestExitCodeAndSignalAreTheCommands(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		c := start(t, o, helper("exit", "3"))
		<-c.Done()
		if diff := cmp.Diff(Exit{Code: 3}, c.Exit()); diff != "" {
			t.Error(diff)
		}
		c = start(t, o, Spec{Path: "/bin/sh", Args: []string{"-c", "kill -SEGV $$"}})
		<-c.Done()
		if diff := cmp.Diff(Exit{Code: -1, Signal: "SIGSEGV"}, c.Exit()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEnvironmentIsExactlyTheGivenOneAndTheMarker(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		t.Setenv("PROCESS_TEST_INHERITED", "no")
		spec := helper("env")
		spec.Env = []string{spec.Env[0], spec.Env[1], "A=0", "A=1", MarkerVar + "=forged:x", "BYTES=\xff\xfe"}
		c := start(t, o, spec)
		out, _ := io.ReadAll(c.Stdout())
		got := strings.Split(string(out), "\n")
		want := []string{spec.Env[0], spec.Env[1], "A=1", "BYTES=\xff\xfe", MarkerVar + "=" + testInstance + ":ses_test"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMarkerIsAppendedToAnInheritedOne(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		t.Setenv(MarkerVar, "outer:ses_a")
		c := start(t, o, helper("env"))
		out, _ := io.ReadAll(c.Stdout())
		if want := MarkerVar + "=outer:ses_a/" + testInstance + ":ses_test"; !slices.Contains(strings.Split(string(out), "\n"), want) {
			t.Errorf("no %s in %s", want, out)
		}
	})
}

func TestTooDeepAHarnessIsRefused(t *testing.T) {
	t.Setenv(MarkerVar, "a:1/b:2")
	c, err := NewLocal(Options{Instance: "c"}).Start(t.Context(), helper("exit", "0"))
	if err != nil {
		t.Fatalf("the third is allowed: %v", err)
	}
	_ = c.Kill()
	c.(*child).closePipes()
	t.Setenv(MarkerVar, "a:1/b:2/c:3")
	_, err = NewLocal(Options{Instance: "d"}).Start(t.Context(), helper("exit", "0"))
	if core.CodeOf(err) != core.CodeDepth {
		t.Errorf("got %v", err)
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct {
		spec Spec
		code core.Code
		says string
	}{
		"cwd missing":     {Spec{Path: "/bin/sh", Dir: dir + "/none"}, core.CodeInvalidArgument, "does not exist"},
		"cwd is a file":   {Spec{Path: "/bin/sh", Dir: file("f", "", 0o600)}, core.CodeInvalidArgument, "not a directory"},
		"no executable":   {Spec{Path: "no-such-program"}, core.CodeNotFound, "Searched: "},
		"no name":         {Spec{}, core.CodeInvalidArgument, "no name"},
		"not executable":  {Spec{Path: file("plain", "x", 0o600)}, core.CodeNotFound, "not an executable file"},
		"no format":       {Spec{Path: file("garbage", "\x00\x01", 0o700)}, core.CodeStartFailed, "#!/bin/sh"},
		"no interpreter":  {Spec{Path: file("script", "#!/no/such/interp -x\n", 0o700)}, core.CodeStartFailed, "/no/such/interp"},
		"NUL in argument": {Spec{Path: "/bin/sh", Args: []string{"a\x00b"}}, core.CodeInvalidArgument, "NUL"},
		"too large":       {Spec{Path: "/bin/sh", Args: []string{strings.Repeat("x", 7<<20)}}, core.CodeTooLarge, "too large"},
		"far too large":   {Spec{Path: "/bin/sh", Args: []string{strings.Repeat("x", 9<<20)}}, core.CodeTooLarge, "too large"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, o Options) {
				_, err := NewLocal(o).Start(t.Context(), test.spec)
				var e *core.Error
				if !errors.As(err, &e) || e.Code != test.code || !strings.Contains(e.Message+" "+e.Hint, test.says) {
					t.Errorf("got %v, hint %q; want %s with %q", err, e.Hint, test.code, test.says)
				}
			})
		})
	}
}

func TestStartWhoseContextEndedStartsNothing(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := NewLocal(o).Start(ctx, helper("hang"))
		if !errors.Is(err, context.Canceled) || core.CodeOf(err) != core.CodeStartFailed {
			t.Errorf("got %v", err)
		}
		ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
		defer cancel()
		_, err = NewLocal(o).Start(ctx, helper("hang"))
		if core.CodeOf(err) != core.CodeStartTimeout {
			t.Errorf("got %v", err)
		}
	})
}

func TestStopClimbsTheLadder(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		o.EOFWait, o.StopWait = 50*time.Millisecond, 50*time.Millisecond
		c := start(t, o, helper("stubborn"))
		lines(t, c.Stdout())
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(c.Stdout())
		if want := "eof\ninterrupt\nterminated\n"; string(out) != want {
			t.Errorf("it was asked %q, want %q", out, want)
		}
		if diff := cmp.Diff(Exit{Code: -1, Signal: "SIGKILL"}, c.Exit()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStopLetsEndOfInputDoTheWork(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		o.EOFWait = time.Minute
		c := start(t, o, helper("signals"))
		lines(t, c.Stdout())
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(c.Stdout())
		if string(out) != "eof\n" || c.Exit().Code != 0 {
			t.Errorf("%q %+v", out, c.Exit())
		}
	})
}

func TestKillInTheMiddleOfAStopActsAtOnce(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		o.EOFWait = time.Hour
		c := start(t, o, helper("stubborn"))
		lines(t, c.Stdout())
		stopped := make(chan error, 2)
		for range 2 { // the second joins
			go func() { stopped <- c.Stop(context.Background()) }()
		}
		if b := make([]byte, 4); true { // the ladder has begun
			if _, err := io.ReadFull(c.Stdout(), b); err != nil || string(b) != "eof\n" {
				t.Fatalf("%q, %v", b, err)
			}
		}
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		}
		if c.Exit().Signal != "SIGKILL" {
			t.Errorf("%+v", c.Exit())
		}
	})
}

func TestSecondStopDoesNotRestartTheLadder(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		o.EOFWait, o.StopWait = 100*time.Millisecond, 100*time.Millisecond
		c := start(t, o, helper("stubborn"))
		lines(t, c.Stdout())
		first := make(chan error, 1)
		go func() { first <- c.Stop(context.Background()) }()
		polls := make(chan struct{})
		go func() { // a caller that asks again and again must not put TERM off
			defer close(polls)
			for i := 0; i < 1000; i++ {
				select {
				case <-c.Gone():
					return
				case <-time.After(10 * time.Millisecond):
					go func() { _ = c.Stop(context.Background()) }()
				}
			}
		}()
		if err := <-first; err != nil {
			t.Error(err)
		}
		<-polls
		out, _ := io.ReadAll(c.Stdout())
		if want := "eof\ninterrupt\nterminated\n"; string(out) != want {
			t.Errorf("it was asked %q, want %q", out, want)
		}
	})
}

func TestEndOfTheContextCutsTheLadderShort(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		o.EOFWait = time.Hour
		c := start(t, o, helper("stubborn"))
		lines(t, c.Stdout())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
		if c.Exit().Signal != "SIGKILL" {
			t.Errorf("%+v", c.Exit())
		}
	})
}

func TestStopAndKillOfAnEndedCommandDoNothing(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		c := start(t, o, helper("exit", "4"))
		<-c.Gone()
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
		if c.Exit().Code != 4 {
			t.Errorf("%+v", c.Exit())
		}
	})
}

func TestBlockedWriterIsFreedByKill(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		c := start(t, o, helper("hang"))
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Stdin().Write(make([]byte, 4<<20))
			wrote <- err
		}()
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-wrote; err == nil {
			t.Error("four megabytes went to a command that reads nothing")
		}
	})
}

func TestChildHasARowFromStartToReaping(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		log := &childLog{}
		o.Log = log
		c := start(t, o, helper("hang"))
		rows, _ := log.Children(t.Context(), testInstance)
		if len(rows) != 2 || rows[0].PID != 0 || rows[0].Instance != testInstance {
			t.Fatalf("no row of the instance, in front of the child's: %+v", rows)
		}
		rows = rows[1:]
		if rows[0].PID != c.PID() || rows[0].Resource != "ses_test" || rows[0].Path != c.path {
			t.Fatalf("%+v", rows)
		}
		if rows[0].StartTime != startTimeOf(c.PID()) || rows[0].BootID != bootID() || rows[0].At.IsZero() {
			t.Errorf("%+v", rows[0])
		}
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
		if rows, _ := log.Children(t.Context(), ""); len(rows) != 0 {
			t.Errorf("left: %+v", rows)
		}
	})
}

func TestRowThatCannotBeWrittenDoesNotStopTheWork(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		log := &childLog{fail: errors.New("disk full")}
		o.Log = log
		c := start(t, o, helper("cat"))
		c.Stdin().Close()
		<-c.Done()
		if log.puts != 2 || c.Exit().Code != 0 {
			t.Errorf("%d rows tried, %+v", log.puts, c.Exit())
		}
	})
}

func TestManyCommandsAtOnceKeepTheirOutputApart(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		l := NewLocal(o)
		errs := make(chan error)
		const n = 20
		for i := range n {
			go func() {
				word := strings.Repeat(string(rune('a'+i)), 1000)
				c, err := l.Start(context.Background(), Spec{Path: "/bin/echo", Args: []string{word}})
				if err != nil {
					errs <- err
					return
				}
				out, _ := io.ReadAll(c.Stdout())
				_, _ = io.ReadAll(c.Stderr())
				if string(out) != word+"\n" {
					err = errors.New("wrong output")
				}
				<-c.(*child).Gone()
				errs <- err
			}()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if len(l.live) != 0 {
			t.Errorf("%d children are still known", len(l.live))
		}
	})
}

// hookedLog calls a function before each write.
type hookedLog struct {
	childLog
	put, del func(ctx context.Context) error
}

func (l *hookedLog) PutChild(ctx context.Context, c core.Child) error {
	if err := l.put(ctx); err != nil {
		return err
	}
	return l.childLog.PutChild(ctx, c)
}

func (l *hookedLog) DeleteChild(ctx context.Context, instance string, pid int) error {
	if err := l.del(ctx); err != nil {
		return err
	}
	return l.childLog.DeleteChild(ctx, instance, pid)
}

func TestStartThatIsGivenUpAtItsRowLeavesNothing(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		log := &hookedLog{}
		pid := 0
		l := NewLocal(o)
		log.put = func(ctx context.Context) error {
			l.mu.Lock()
			for c := range l.live {
				pid = c.pid
			}
			l.mu.Unlock()
			if pid == 0 {
				return nil // the row of the instance
			}
			cancel() // the caller leaves while the store works
			<-ctx.Done()
			return ctx.Err()
		}
		log.del = func(context.Context) error { return nil }
		l.opt.Log = log
		_, err := l.Start(ctx, helper("hang"))
		if !errors.Is(err, context.Canceled) || core.CodeOf(err) != core.CodeStartFailed {
			t.Errorf("got %v", err)
		}
		if pid == 0 || syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is left", pid)
		}
		if len(l.live) != 0 {
			t.Error("the child is still known")
		}
	})
}

func TestStoreThatStallsDoesNotDelayAKill(t *testing.T) {
	modes(t, func(t *testing.T, o Options) {
		stalled := make(chan struct{})
		log := &hookedLog{put: func(context.Context) error { return nil }}
		log.del = func(ctx context.Context) error { <-stalled; return nil }
		o.Log = log
		c := start(t, o, helper("hang"))
		killed := make(chan error)
		go func() { killed <- c.Kill() }()
		<-c.Gone() // while the store does not answer
		close(stalled)
		if err := <-killed; err != nil {
			t.Error(err)
		}
		if rows, _ := log.Children(t.Context(), ""); len(rows) != 0 {
			t.Errorf("Kill returned before the row was gone: %+v", rows)
		}
	})
}

func TestExecutableIsFoundInThePathDirectories(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "only-here")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	modes(t, func(t *testing.T, o Options) {
		o.PathDirs = []string{dir}
		c := start(t, o, Spec{Path: "only-here"})
		out, _ := io.ReadAll(c.Stdout())
		if string(out) != path+"\n" {
			t.Errorf("%q", out)
		}
	})
}

func TestGuardIsRefusedOrLeftOutAsAsked(t *testing.T) {
	c := start(t, Options{Guard: GuardOff}, helper("hang"))
	if c.PID() != int(c.root.Load()) {
		t.Error("there is something between us and the command")
	}
	if !guardReady() {
		t.Skip("this system has no guards")
	}
	c = start(t, Options{}, helper("hang"))
	if c.PID() == int(c.root.Load()) {
		t.Error("there is no guard, and there could be one")
	}
}
