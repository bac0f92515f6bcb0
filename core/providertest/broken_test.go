package providertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

// brokenProvider is a good provider with one fault. Its zero fields leave the
// good behaviour as it is.
type brokenProvider struct {
	core.Provider
	spec func(core.Spec) core.Spec
	open func(core.SessionConfig) core.SessionConfig
	conn func(core.Conn) core.Conn
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

// rewriting gives Conns whose notices of type N go through f.
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

// respelling gives Conns whose content of type P goes through f; nil drops it.
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

func check(t *testing.T, name string) Check {
	t.Helper()
	for _, c := range Checks() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check is called %q", name)
	return Check{}
}

// TestTheSuiteCatchesBrokenProviders breaks a good provider in one way and
// wants the named check to say so. The checks run in fake time, so a wait that
// must run out costs nothing.
func TestTheSuiteCatchesBrokenProviders(t *testing.T) {
	for _, tc := range []struct {
		fault  string
		check  string
		says   string
		broken func(release <-chan struct{}) *brokenProvider
	}{
		{"an op is done twice", "a turn with text", "second OpDone", notices(func(n core.OpDone) []core.Notice {
			return []core.Notice{n, n}
		})},
		{"an op is never done", "an approval is approved", "no OpDone for core.Respond", notices(func(n core.OpDone) []core.Notice {
			if n.Op == 2 { // the answer: 1 is the turn
				return nil
			}
			return []core.Notice{n}
		})},
		{"an op is done that nobody sent", "a turn with text", "which was not sent", notices(func(n core.OpDone) []core.Notice {
			return []core.Notice{n, core.OpDone{Op: 99}}
		})},
		{"the terminal is missing", "a turn with text", "waiting for the end of the turn", notices(func(core.TurnEnded) []core.Notice {
			return nil
		})},
		{"a turn ends twice", "a turn with text", "second TurnEnded", notices(func(n core.TurnEnded) []core.Notice {
			return []core.Notice{n, n}
		})},
		{"a turn ends twice, the second time while the next one runs", "turns do not mix", "second TurnEnded", endsLate},
		{"content follows the terminal", "a turn with text", "after the terminal", notices(func(n core.TurnEnded) []core.Notice {
			return []core.Notice{n, core.Content{Turn: n.Turn, Payload: core.Warning{Message: "late"}}}
		})},
		{"a rejected turn goes on", "a turn with text", "rejected", notices(func(n core.OpDone) []core.Notice {
			n.Err = core.Errorf(core.CodeInternal, "no")
			return []core.Notice{n}
		})},
		{"deltas do not join", "a message streams", "join to", content(func(p core.MessageDelta) core.Payload {
			p.Text = strings.TrimSpace(p.Text)
			return p
		})},
		{"a message has no end", "a turn with text", "left open", content(drop[core.Message])},
		{"reasoning has no end", "reasoning is reported", "left open", content(drop[core.Reasoning])},
		{"a tool has no end", "a tool is reported", "left open", content(drop[core.ToolCompleted])},
		{"a tool has no start", "a tool is reported", "was not started", content(drop[core.ToolStarted])},
		{"a cut message loses its text", "an interrupt stops a stream", "join to", content(func(p core.Message) core.Payload {
			if p.Partial {
				p.Text = ""
			}
			return p
		})},
		{"two messages share an item", "turns do not mix", "shows up in turn", content(func(p core.Message) core.Payload {
			p.Item = "the-only-one"
			return p
		}, content(drop[core.MessageDelta]))},
		{"text is changed", "text arrives unchanged", "without", content(func(p core.Message) core.Payload {
			p.Text = strings.ReplaceAll(p.Text, "  ", " ")
			return p
		}, content(drop[core.MessageDelta]))},
		{"a long text is cut", "a long text arrives whole", "without", content(func(p core.Message) core.Payload {
			p.Text = p.Text[:min(len(p.Text), 64<<10)]
			return p
		}, content(drop[core.MessageDelta]))},
		{"conversations share a Conn", "two conversations at once do not mix", "nobody began", func(<-chan struct{}) *brokenProvider {
			var first core.Conn
			return &brokenProvider{conn: func(c core.Conn) core.Conn {
				if first == nil {
					first = c
					return c
				}
				c.Close(context.Background())
				return first
			}}
		}},
		{"a request name is used twice", "an approval is approved", "used again", notices(func(n core.RequestRaised) []core.Notice {
			return []core.Notice{n, n}
		})},
		{"a request has no actions", "a question is answered", "no actions", notices(func(n core.RequestRaised) []core.Notice {
			n.Spec.Actions = nil
			return []core.Notice{n}
		})},
		{"a denial is taken for leave", "an approval is denied and the turn goes on", "ended ok", ops(func(r core.Respond) core.Op {
			if r.Response.Action == core.ActionDeny {
				r.Response = core.Response{Action: core.ActionApprove}
			}
			return r
		})},
		{"a cancel lets the turn go on", "an approval is cancelled and stops the turn", "completed, not cancelled", ops(func(r core.Respond) core.Op {
			if r.Response.Action == core.ActionCancel {
				r.Response = core.Response{Action: core.ActionDeny}
			}
			return r
		})},
		{"an answer to nobody is done", "an answer that nobody waits for is refused", "was said to be done", notices(func(n core.OpDone) []core.Notice {
			n.Err = nil
			return []core.Notice{n}
		})},
		{"an interrupt does nothing", "an interrupt right after the start", "waiting for the verdict", ops(func(i core.Interrupt) core.Op {
			i.TurnID = "another"
			return i
		})},
		{"an interrupt is called a completion", "an interrupt with a request pending", "completed, not cancelled", notices(func(n core.TurnEnded) []core.Notice {
			n.Verdict = core.VerdictCompleted
			return []core.Notice{n}
		})},
		{"a failure says no reason", "a failed turn says why and the next one works", "does not say why", notices(func(n core.TurnEnded) []core.Notice {
			n.Result.Error = nil
			return []core.Notice{n}
		})},
		{"a resume begins anew", "a resumed conversation remembers", "without \"marmalade\"", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{open: func(c core.SessionConfig) core.SessionConfig { c.ProviderSesID = ""; return c }}
		}},
		{"a fork continues the original", "a forked conversation remembers and is another", "after the fork it is", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{open: func(c core.SessionConfig) core.SessionConfig { c.Fork = false; return c }}
		}},
		{"a capability is not declared", "an approval is approved", "does not declare it", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{spec: func(s core.Spec) core.Spec { s.Transports[0].Capabilities.Approvals = core.Unsupported; return s }}
		}},
		{"a capability has no word", "the spec is whole", "Fork", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{spec: func(s core.Spec) core.Spec { s.Transports[0].Capabilities.Fork = ""; return s }}
		}},
		{"recv hangs after close", "open and close", "Recv ignores its context", hangs(func(c *hung, ctx context.Context) (core.Notice, error) {
			n, err := c.Conn.Recv(ctx)
			if errors.Is(err, io.EOF) {
				<-c.release
			}
			return n, err
		})},
		{"close does not unblock recv", "close unblocks recv", "Recv in Close did not return", hangs(func(c *hung, ctx context.Context) (core.Notice, error) {
			n, err := c.Conn.Recv(ctx)
			if errors.Is(err, io.EOF) {
				<-c.release
			}
			return n, err
		})},
		{"recv does not heed its context", "recv ends with its context and goes on", "Recv ignores its context", hangs(func(c *hung, _ context.Context) (core.Notice, error) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				select {
				case <-c.release:
					cancel()
				case <-ctx.Done():
				}
			}()
			return c.Conn.Recv(ctx)
		})},
		{"send waits for a reader", "send never blocks", "Send did not return", func(release <-chan struct{}) *brokenProvider {
			return &brokenProvider{conn: func(c core.Conn) core.Conn { return &hung{Conn: c, release: release, most: 8} }}
		}},
		{"send takes ops after close", "send after close is refused", "took a turn after Close", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{conn: func(c core.Conn) core.Conn { return &closing{Conn: c, takesAfter: true} }}
		}},
		{"a second close is an error", "open and close", "the second time", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{conn: func(c core.Conn) core.Conn { return &closing{Conn: c, errsAgain: true} }}
		}},
		{"closes at once are an error", "a hundred closes at once", "already closed", func(<-chan struct{}) *brokenProvider {
			return &brokenProvider{conn: func(c core.Conn) core.Conn { return &closing{Conn: c, errsAgain: true} }}
		}},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				p := tc.broken(release)
				p.Provider = demo.New(demo.Options{Dir: t.TempDir()})
				err := check(t, tc.check).Func(&Env{Config: demoConfig(p)})
				if err == nil {
					t.Fatalf("the check %q found nothing", tc.check)
				}
				if !strings.Contains(err.Error(), tc.says) {
					t.Errorf("the check %q said %q, without %q", tc.check, err, tc.says)
				}
				var rule skip
				if errors.As(err, &rule) {
					t.Errorf("the check %q was skipped", tc.check)
				}
			})
		})
	}
}

// The builders below give providers with one fault, or with that of each of
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

// TestTheSuiteFindsGoroutinesLeftBehind cannot run in fake time: goleak looks
// at every goroutine of the program.
func TestTheSuiteFindsGoroutinesLeftBehind(t *testing.T) {
	release, over := make(chan struct{}), make(chan struct{})
	p := &brokenProvider{Provider: demo.New(demo.Options{Dir: t.TempDir()}), conn: func(c core.Conn) core.Conn {
		go func() { <-release; close(over) }()
		return c
	}}
	err := runCheck(check(t, "open and close"), demoConfig(p), core.SessionConfig{})
	if err == nil || !strings.Contains(err.Error(), "outlive Close") {
		t.Errorf("the suite said %v", err)
	}
	close(release)
	<-over
}

// TestAGoodProviderPassesEveryCheck makes the faults above the only reason
// that a check has to fail.
func TestAGoodProviderPassesEveryCheck(t *testing.T) {
	Run(t, demoConfig(&brokenProvider{Provider: demo.New(demo.Options{Dir: t.TempDir()})}))
}

// TestBehaviourWithoutPromptIsSkippedOnlyWhenNotDeclared: a provider cannot
// get out of a check by leaving the prompt out.
func TestBehaviourWithoutPromptIsSkippedOnlyWhenNotDeclared(t *testing.T) {
	cfg := demoConfig(&brokenProvider{Provider: demo.New(demo.Options{Dir: t.TempDir()})})
	cfg.Prompts.Ask = ""
	err := runCheck(check(t, "a question is answered"), cfg, core.SessionConfig{})
	if err == nil || !strings.Contains(err.Error(), "declares questions") {
		t.Errorf("declared and without a prompt: %v", err)
	}
	cfg.Provider.(*brokenProvider).spec = func(s core.Spec) core.Spec {
		s.Transports[0].Capabilities.Questions = core.Unsupported
		return s
	}
	err = runCheck(check(t, "a question is answered"), cfg, core.SessionConfig{})
	var s skip
	if !errors.As(err, &s) || !strings.Contains(s.reason, "no questions") {
		t.Errorf("not declared and without a prompt: %v", err)
	}
}
