package link

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// fake is a process in memory. It ends when it is stopped, unless it is
// stubborn, and when it is killed.
type fake struct {
	process.Child
	stubborn bool
	out, err *io.PipeReader
	outW     *io.PipeWriter
	errW     *io.PipeWriter

	once sync.Once
	done chan struct{}
	exit process.Exit
}

func newFake() *fake {
	f := &fake{done: make(chan struct{})}
	f.out, f.outW = io.Pipe()
	f.err, f.errW = io.Pipe()
	return f
}

func (f *fake) Stdin() io.WriteCloser { return nowhere{io.Discard} }
func (f *fake) Stdout() io.Reader     { return f.out }
func (f *fake) Stderr() io.Reader     { return f.err }
func (f *fake) Done() <-chan struct{} { return f.done }
func (f *fake) Exit() process.Exit    { return f.exit }

// nowhere is an input that nobody reads.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

func (f *fake) die(e process.Exit) {
	f.once.Do(func() {
		f.exit = e
		_ = f.outW.Close()
		_ = f.errW.Close()
		close(f.done)
	})
}

func (f *fake) Stop(context.Context) error {
	if !f.stubborn {
		f.die(process.Exit{})
	}
	<-f.done
	return nil
}

func (f *fake) Kill() error { f.die(process.Exit{Signal: "SIGKILL"}); return nil }

// play runs a test on a child in a bubble of time; the child is closed after it.
func play(t *testing.T, test func(t *testing.T, f *fake, c *Child)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := NewChild(f, "Agent", slog.New(slog.DiscardHandler))
		test(t, f, c)
		if err := c.Close(t.Context(), stopping(c)); err != nil {
			t.Error(err)
		}
	})
}

func stopping(c *Child) func(context.Context) error {
	return func(ctx context.Context) error {
		err := c.Stop(ctx)
		c.Wait()
		return err
	}
}

func TestLostSaysHowTheProcessEnded(t *testing.T) {
	play(t, func(t *testing.T, f *fake, c *Child) {
		_, _ = io.WriteString(f.errW, "the token is swordfish\n  Unknown option: --x \n")
		f.die(process.Exit{Code: 7})
		c.Wait() // what was said is read
		err := c.Lost(io.EOF, "Unknown option")
		if core.CodeOf(err) != core.CodeSessionUnavailable || !strings.HasSuffix(err.Error(), "the connection to Agent was lost: it ended: exit code 7: Unknown option: --x") {
			t.Error(err)
		}
		if err := c.Lost(io.EOF); strings.Contains(err.Error(), "option") {
			t.Errorf("stderr was repeated: %v", err)
		}
	})
}

func TestLostDoesNotWaitForAProcessThatLivesOn(t *testing.T) {
	play(t, func(t *testing.T, _ *fake, c *Child) {
		if err := c.Lost(io.EOF); err == nil || !strings.Contains(err.Error(), "it closed its output") {
			t.Error(err)
		}
		broken := errors.New("a line of more than 3 bytes")
		if err := c.Lost(broken); !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

func TestLostIsNothingOnceCloseHasBegun(t *testing.T) {
	for range 100 { // both reasons are there: none may win by chance
		play(t, func(t *testing.T, f *fake, c *Child) {
			f.die(process.Exit{Code: 1})
			if err := c.Close(t.Context(), stopping(c)); err != nil {
				t.Error(err)
			}
			if err := c.Lost(io.EOF); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCloseStopsOnceAndGivesEverybodyTheOutcome(t *testing.T) {
	stuck := errors.New("stuck")
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := NewChild(f, "Agent", slog.New(slog.DiscardHandler))
		stops := 0
		for range 2 {
			err := c.Close(t.Context(), func(ctx context.Context) error {
				stops++
				_ = stopping(c)(ctx)
				return stuck
			})
			if !errors.Is(err, stuck) || core.CodeOf(err) != core.CodeInternal {
				t.Error(err)
			}
		}
		if stops != 1 {
			t.Errorf("stopped %d times", stops)
		}
		<-c.Closing()
	})
}

func TestCloseKillsWhatOutlivesItsContext(t *testing.T) {
	play(t, func(t *testing.T, f *fake, c *Child) {
		f.stubborn = true
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Close(ctx, stopping(c)); err != nil {
			t.Error(err)
		}
		if got := ExitText(f.Exit()); got != "signal SIGKILL" {
			t.Error(got)
		}
	})
}

func TestOnlyTheEndOfStderrIsKept(t *testing.T) {
	play(t, func(t *testing.T, f *fake, c *Child) {
		for _, piece := range []string{"first", strings.Repeat("x", 3*maxStderr), "last"} {
			_, _ = io.WriteString(f.errW, piece)
		}
		_ = f.errW.Close()
		c.Wait()
		if said := c.Said(); len(said) != maxStderr || !strings.HasSuffix(said, "xlast") {
			t.Errorf("%d bytes are kept", len(said))
		}
	})
}

// starter is a runner with one answer.
type starter struct{ err error }

func (s starter) Start(context.Context, process.Spec) (process.Child, error) { return nil, s.err }

func TestStartTellsAMissingAgentFromAWrongWish(t *testing.T) {
	for code, want := range map[core.Code]core.Code{
		core.CodeNotFound:      core.CodeProviderNotReady,
		core.CodeInternal:      core.CodeProviderNotReady,
		core.CodeForbiddenPath: core.CodeForbiddenPath,
	} {
		_, err := Start(t.Context(), starter{core.Errorf(code, "no")}, process.Spec{}, "agent", "Install it.")
		if core.CodeOf(err) != want || (core.AsError(err).Hint != "") != (want != code) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
