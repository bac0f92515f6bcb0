package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/clitest"
)

// echo is a translator that reports each line as an event of that kind.
type echo struct {
	LineOutput
	lost bool
}

func (e *echo) line(raw []byte) {
	if string(raw) == "fault" {
		panic("fault")
	}
	e.event(string(raw))
}

func (e *echo) event(kind string) {
	e.Notice(core.Content{Payload: core.ProviderEvent{Kind: kind}})
}

func (e *echo) StartTurn(op core.StartTurn) *core.Error {
	e.Send(op.TurnID, op.ID)
	return nil
}

func (e *echo) Steer(core.Steer) *core.Error {
	return core.Errorf(core.CodeCapability, "no")
}
func (e *echo) Respond(op core.Respond) *core.Error {
	if op.Ref == "fault" {
		panic("fault")
	}
	return nil
}
func (e *echo) Interrupt(core.Interrupt) *core.Error { e.Fatal = errors.New("fatal"); return nil }
func (e *echo) Configure(core.Configure) *core.Error { return nil }
func (e *echo) Lost() {
	if e.lost {
		panic("a second fault")
	}
	e.event("lost")
	e.lost = true
}

// connected runs a test on a Conn in a bubble of time; the Conn is closed after
// it.
func connected(t *testing.T, test func(t *testing.T, f *clitest.Child, c *Conn[Line], e *echo)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, e := clitest.NewChild(), &echo{}
		c := NewConn(f, slog.New(slog.DiscardHandler), Agent[Line]{
			Name: "Agent", Translator: e, Wire: Lines(f, e.line), Refusals: []string{"Unknown option"},
		})
		c.Start()
		test(t, f, c, e)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for {
			if _, err := c.Recv(t.Context()); err != nil {
				return
			}
		}
	})
}

// next returns the next notice as one word.
func next(t *testing.T, c *Conn[Line]) string {
	t.Helper()
	n, err := c.Recv(t.Context())
	switch n := n.(type) {
	case core.Content:
		return n.Payload.(core.ProviderEvent).Kind
	case core.OpDone:
		return fmt.Sprintf("op %d %s", n.Op, core.CodeOf(errOf(n.Err)))
	}
	return string(core.CodeOf(err))
}

func errOf(e *core.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestAnOpIsDoneWhenItsFrameIsInThePipe(t *testing.T) {
	connected(t, func(t *testing.T, f *clitest.Child, c *Conn[Line], _ *echo) {
		if err := c.Send(core.StartTurn{ID: 7, TurnID: "turn"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n, err := c.Recv(ctx); err == nil {
			t.Errorf("%v came before the frame was read", n)
		}
		if line, err := f.In.Next(); err != nil || string(line) != `"turn"` {
			t.Errorf("the agent read %s, %v", line, err)
		}
		if got := next(t, c); got != "op 7 " {
			t.Errorf("got %q", got)
		}
	})
}

func TestARejectedOpIsDoneWithItsError(t *testing.T) {
	connected(t, func(t *testing.T, _ *clitest.Child, c *Conn[Line], _ *echo) {
		if err := c.Send(core.Steer{ID: 3}); err != nil {
			t.Fatal(err)
		}
		if got, want := next(t, c), "op 3 "+string(core.CodeCapability); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWhatIsOpenIsClosedBeforeTheError(t *testing.T) {
	ends := map[string]func(f *clitest.Child, c *Conn[Line]){
		"the agent ends":       func(f *clitest.Child, _ *Conn[Line]) { f.End(process.Exit{Code: 1}) },
		"the translator fails": func(_ *clitest.Child, c *Conn[Line]) { _ = c.Send(core.Interrupt{ID: 1}) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			connected(t, func(t *testing.T, f *clitest.Child, c *Conn[Line], _ *echo) {
				_, _ = io.WriteString(f.Out, "a\nb\n")
				for _, want := range []string{"a", "b"} {
					if got := next(t, c); got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				}
				end(f, c)
				if got := next(t, c); got != "lost" {
					t.Errorf("got %q", got)
				}
				if _, err := c.Recv(t.Context()); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("Recv ended with %v", err)
				}
				if err := c.Send(core.Steer{ID: 2}); core.CodeOf(err) != core.CodeSessionUnavailable {
					t.Errorf("Send said %v", err)
				}
			})
		})
	}
}

func TestOneTimerOfANameRuns(t *testing.T) {
	connected(t, func(t *testing.T, _ *clitest.Child, c *Conn[Line], e *echo) {
		timer := func(kind string, after time.Duration, keep bool) {
			c.Step(func() { e.Timer(Timer{Name: "x", After: after, Keep: keep, Fire: func() { e.event(kind) }}) })
		}
		timer("first", time.Second, false)
		timer("second", 2*time.Second, false) // replaces the first
		timer("third", time.Second, true)     // the second continues
		begin := time.Now()
		if got := next(t, c); got != "second" || time.Since(begin) != 2*time.Second {
			t.Errorf("got %q after %v", got, time.Since(begin))
		}
		timer("fourth", time.Second, false)
		c.Step(func() { e.Timer(Timer{Name: "x"}) }) // stops it
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if n, err := c.Recv(ctx); err == nil {
			t.Errorf("%v came of a stopped timer", n)
		}
	})
}

func TestNoTimerFiresOnceTheConnectionIsClosed(t *testing.T) {
	connected(t, func(t *testing.T, _ *clitest.Child, c *Conn[Line], e *echo) {
		c.Step(func() { e.Timer(Timer{Name: "x", After: time.Second, Fire: func() { t.Error("it fired") }}) })
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
		if _, err := c.Recv(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Recv ended with %v", err)
		}
		if e.lost {
			t.Error("a clean end was reported as a loss")
		}
	})
}

func TestAwaitEndsWithTheConnection(t *testing.T) {
	connected(t, func(t *testing.T, f *clitest.Child, c *Conn[Line], _ *echo) {
		go f.End(process.Exit{Code: 4})
		err := c.Await(t.Context(), func(func()) {})
		if core.CodeOf(err) != core.CodeSessionUnavailable {
			t.Errorf("Await said %v", err)
		}
		if err := c.Await(t.Context(), func(done func()) { done() }); err == nil {
			t.Error("a step ran on a lost connection")
		}
	})
}

func TestAPanicOfTheAdapterLosesTheConnection(t *testing.T) {
	for name, fault := range map[string]func(f *clitest.Child, c *Conn[Line], e *echo){
		"a message": func(f *clitest.Child, c *Conn[Line], e *echo) { _, _ = io.WriteString(f.Out, "fault\n") },
		"an op":     func(f *clitest.Child, c *Conn[Line], e *echo) { _ = c.Send(core.Respond{ID: 1, Ref: "fault"}) },
		"a timer": func(f *clitest.Child, c *Conn[Line], e *echo) {
			c.Step(func() {
				e.Timers = append(e.Timers, Timer{Name: "t", After: time.Second, Fire: func() { panic("fault") }})
			})
		},
		"its end": func(f *clitest.Child, c *Conn[Line], e *echo) { e.lost = true; c.Step(func() { panic("fault") }) },
	} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(t *testing.T, f *clitest.Child, c *Conn[Line], e *echo) {
				fault(f, c, e)
				for {
					_, err := c.Recv(t.Context())
					if err == nil {
						continue
					}
					var p *core.PanicError
					if !errors.As(err, &p) || p.ID == "" {
						t.Errorf("%v", err)
					}
					break
				}
				if err := c.Send(core.Respond{ID: 2}); core.CodeOf(err) != core.CodeSessionUnavailable {
					t.Errorf("an op after it: %v", err)
				}
			})
		})
	}
}
