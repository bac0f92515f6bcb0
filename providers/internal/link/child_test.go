package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
)

// play runs a test on a child in a bubble of time; the child is closed after it.
func play(t *testing.T, test func(t *testing.T, f *clitest.Child, c *Child)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := clitest.NewChild()
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

func TestLostReportsHowTheProcessEnded(t *testing.T) {
	play(t, func(t *testing.T, f *clitest.Child, c *Child) {
		_, _ = io.WriteString(f.ErrOut, "the token is swordfish\n  Unknown option: --x \n")
		f.End(process.Exit{Code: 7})
		c.Wait() // stderr is read to its end
		err := c.Lost(io.EOF, "Unknown option")
		if core.CodeOf(err) != core.CodeSessionUnavailable || !strings.HasSuffix(err.Error(), "the connection to Agent was lost: it ended: exit code 7: Unknown option: --x") {
			t.Error(err)
		}
		if err := c.Lost(io.EOF); strings.Contains(err.Error(), "option") {
			t.Errorf("stderr was repeated: %v", err)
		}
	})
}

func TestTheLogHasNoSecretsOfAnAgent(t *testing.T) {
	var log bytes.Buffer
	f := clitest.NewChild()
	cfg := core.SessionConfig{MCPServers: map[string]json.RawMessage{"m": json.RawMessage(`{"env":{"API_KEY":"mcp-secret-12345"}}`)}}
	child, err := Start(t.Context(), f, process.Spec{Env: []string{"AG_SECRET=agent-secret-abcdef", "HOME=/nowhere"}}, "agent", "", Secrets(cfg)...)
	if err != nil {
		t.Fatal(err)
	}
	c := NewChild(child, "Agent", slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for _, s := range []string{"in /nowhere agent-", "secret-abcdef mcp-sec\x1b[1mret-12345\n", strings.Repeat("x", maxStderr-len("cdef")-1), "\n"} {
		_, _ = io.WriteString(f.ErrOut, s)
	}
	f.End(process.Exit{Code: 7})
	c.Wait()
	for _, s := range []string{"agent-secret", "abcdef", "cdef", "mcp-sec", "12345"} {
		if strings.Contains(log.String(), s) {
			t.Errorf("%q is in the log: %.300s", s, log.String())
		}
	}
	if !strings.Contains(log.String(), "the agent ended") || !strings.Contains(log.String(), "xxx") {
		t.Errorf("%.300s", log.String())
	}
	if err := c.Close(t.Context(), stopping(c)); err != nil {
		t.Error(err)
	}
}

func TestLostDoesNotWaitForAProcessThatLivesOn(t *testing.T) {
	play(t, func(t *testing.T, _ *clitest.Child, c *Child) {
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
	for range 100 { // both reasons are there: the result must not depend on chance
		play(t, func(t *testing.T, f *clitest.Child, c *Child) {
			f.End(process.Exit{Code: 1})
			if err := c.Close(t.Context(), stopping(c)); err != nil {
				t.Error(err)
			}
			if err := c.Lost(io.EOF); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCloseStopsOnceAndReturnsTheSameOutcome(t *testing.T) {
	stuck := errors.New("stuck")
	synctest.Test(t, func(t *testing.T) {
		f := clitest.NewChild()
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
	play(t, func(t *testing.T, f *clitest.Child, c *Child) {
		f.IgnoresStop = true
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
	play(t, func(t *testing.T, f *clitest.Child, c *Child) {
		for _, piece := range []string{"first", strings.Repeat("x", 3*maxStderr), "last"} {
			_, _ = io.WriteString(f.ErrOut, piece)
		}
		_ = f.ErrOut.Close()
		c.Wait()
		if said := c.StderrEnd(); len(said) != maxStderr || !strings.HasSuffix(said, "xlast") {
			t.Errorf("%d bytes are kept", len(said))
		}
	})
}

// starter is a runner with one answer.
type starter struct{ err error }

func (s starter) Start(context.Context, process.Spec) (process.Child, error) { return nil, s.err }

func TestStartTellsAMissingAgentFromAWrongArgument(t *testing.T) {
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
