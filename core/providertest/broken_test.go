package providertest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// brokenProvider is a good provider with one fault. Its zero fields leave the
// good behaviour as it is.
type brokenProvider struct {
	core.Provider
	spec   func(core.Spec) core.Spec
	status func(core.Status) core.Status
	open   func(core.SessionConfig) core.SessionConfig
	conn   func(core.Conn) core.Conn
	deaf   bool // Open ignores its context
}

func (p *brokenProvider) Status(ctx context.Context) core.Status {
	s := p.Provider.Status(ctx)
	if p.status != nil {
		s = p.status(s)
	}
	return s
}

func (p *brokenProvider) Spec() core.Spec {
	s := p.Provider.Spec()
	if p.spec != nil {
		s = p.spec(s)
	}
	return s
}

func (p *brokenProvider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if p.open != nil {
		cfg = p.open(cfg)
	}
	if p.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	c, err := p.Provider.Open(ctx, cfg)
	if err == nil && p.conn != nil {
		c = p.conn(c)
	}
	return c, err
}

// rewritten is a Conn whose notices go through rewrite, which may drop, change
// and add to them, and whose ops go through ops.
type rewritten struct {
	core.Conn
	rewrite func(core.Notice) []core.Notice
	ops     func(core.Op) core.Op
	held    []core.Notice
}

func (c *rewritten) Recv(ctx context.Context) (core.Notice, error) {
	for c.rewrite != nil {
		if len(c.held) > 0 {
			n := c.held[0]
			c.held = c.held[1:]
			return n, nil
		}
		n, err := c.Conn.Recv(ctx)
		if err != nil {
			return nil, err
		}
		c.held = c.rewrite(n)
	}
	return c.Conn.Recv(ctx)
}

func (c *rewritten) Send(op core.Op) error {
	if c.ops != nil {
		op = c.ops(op)
	}
	return c.Conn.Send(op)
}

// rewriting returns Conns whose notices of type N are replaced by f's.
func rewriting[N core.Notice](f func(N) []core.Notice) func(core.Conn) core.Conn {
	return func(c core.Conn) core.Conn {
		return &rewritten{Conn: c, rewrite: func(n core.Notice) []core.Notice {
			if v, ok := n.(N); ok {
				return f(v)
			}
			return []core.Notice{n}
		}}
	}
}

// respelling returns Conns whose content of type P is replaced by f's; nil drops it.
func respelling[P core.Payload](f func(P) core.Payload) func(core.Conn) core.Conn {
	return rewriting(func(c core.Content) []core.Notice {
		if p, ok := c.Payload.(P); ok {
			if c.Payload = f(p); c.Payload == nil {
				return nil
			}
		}
		return []core.Notice{c}
	})
}

func drop[T any](T) core.Payload { return nil }

// hung is a Conn with calls that wait for release.
type hung struct {
	core.Conn
	release <-chan struct{}
	recv    func(*hung, context.Context) (core.Notice, error)
	unread  atomic.Int64
	most    int64 // ops that Send takes before it waits for a Recv; 0: any
	close   bool  // Close waits
}

func (c *hung) Close(ctx context.Context) error {
	if c.close {
		<-c.release
	}
	return c.Conn.Close(ctx)
}

func (c *hung) Recv(ctx context.Context) (core.Notice, error) {
	c.unread.Store(0)
	if c.recv != nil {
		return c.recv(c, ctx)
	}
	return c.Conn.Recv(ctx)
}

func (c *hung) Send(op core.Op) error {
	if c.most > 0 && c.unread.Add(1) > c.most {
		<-c.release
	}
	return c.Conn.Send(op)
}

// closing is a Conn with its own idea of what comes after Close.
type closing struct {
	core.Conn
	closed     atomic.Bool
	takesAfter bool // Send takes ops after Close
	errsAgain  bool // a second Close is an error
}

func (c *closing) Close(ctx context.Context) error {
	if c.closed.Swap(true) && c.errsAgain {
		return errors.New("already closed")
	}
	return c.Conn.Close(ctx)
}

func (c *closing) Send(op core.Op) error {
	if c.closed.Load() && c.takesAfter {
		return nil
	}
	return c.Conn.Send(op)
}

// restless is a Conn whose Ready facts change.
type restless struct {
	core.Conn
	asked int
}

func (c *restless) Ready() core.Ready {
	r := c.Conn.Ready()
	c.asked++
	r.PID = c.asked
	return r
}

func demoConfig(p core.Provider) Config {
	return Config{
		Provider: p,
		Session:  func(testing.TB) core.SessionConfig { return core.SessionConfig{} },
		Prompts: Prompts{
			Say:     func(text string) string { return "say " + text },
			Stream:  func(n int) string { return fmt.Sprintf("stream %d", n) },
			Think:   "think about it",
			Run:     "run",
			Approve: "approve",
			Ask:     "ask",
			Fail:    "fail",
			Slow:    func(d time.Duration) string { return fmt.Sprintf("slow %d", d.Milliseconds()) },
			Recall:  "recall",
		},
		Timeout: DefaultTimeout,
	}
}

// The builders below return providers with one fault, or with that of each of
// the others inside it too.

type builder = func(<-chan struct{}) *brokenProvider

func wrapping(wrap func(core.Conn) core.Conn, inner ...builder) builder {
	return func(release <-chan struct{}) *brokenProvider {
		return &brokenProvider{conn: func(c core.Conn) core.Conn {
			for _, b := range inner {
				c = b(release).conn(c)
			}
			return wrap(c)
		}}
	}
}

func notices[N core.Notice](f func(N) []core.Notice) builder { return wrapping(rewriting(f)) }

func content[P core.Payload](f func(P) core.Payload, inner ...builder) builder {
	return wrapping(respelling(f), inner...)
}

func ops[O core.Op](f func(O) core.Op) builder {
	return wrapping(func(c core.Conn) core.Conn {
		return &rewritten{Conn: c, ops: func(op core.Op) core.Op {
			if v, ok := op.(O); ok {
				return f(v)
			}
			return op
		}}
	})
}

func hangs(recv func(*hung, context.Context) (core.Notice, error)) builder {
	return func(release <-chan struct{}) *brokenProvider {
		return &brokenProvider{conn: func(c core.Conn) core.Conn {
			return &hung{Conn: c, release: release, recv: recv}
		}}
	}
}

func closeHangs(release <-chan struct{}) *brokenProvider {
	return &brokenProvider{conn: func(c core.Conn) core.Conn { return &hung{Conn: c, release: release, close: true} }}
}

// hitsNext keeps a late interrupt for the turn that comes next.
var hitsNext = wrapping(func(c core.Conn) core.Conn {
	var late atomic.Bool
	return &rewritten{
		Conn: c,
		ops: func(op core.Op) core.Op {
			if _, ok := op.(core.Interrupt); ok {
				late.Store(true)
			}
			return op
		},
		rewrite: func(n core.Notice) []core.Notice {
			if end, ok := n.(core.TurnEnded); ok && late.Load() {
				end.Verdict = core.VerdictCancelled
				n = end
			}
			return []core.Notice{n}
		},
	}
})

// endsLate repeats the end of a turn behind the beginning of the next.
var endsLate = wrapping(func(c core.Conn) core.Conn {
	var last *core.TurnEnded
	return &rewritten{Conn: c, rewrite: func(n core.Notice) []core.Notice {
		switch n := n.(type) {
		case core.TurnEnded:
			last = &n
		case core.OpDone:
			if last != nil {
				return []core.Notice{n, *last}
			}
		}
		return []core.Notice{n}
	}}
})
