package providertest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

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

// fault is one way to be broken: the check that finds it and a part of its error.
type fault struct {
	name   string
	check  string
	says   string
	broken builder
}

var faults = []fault{
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
	{"a rejected turn goes on", "an interrupt right after the start", "rejected", notices(func(n core.OpDone) []core.Notice {
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
	{"an agent is not ready", "the status says ready in time", "not ready", func(<-chan struct{}) *brokenProvider {
		return &brokenProvider{status: func(s core.Status) core.Status { s.Ready = false; return s }}
	}},
	{"an opening does not heed its context", "an opening ends with its context", "with an ended context", func(<-chan struct{}) *brokenProvider {
		return &brokenProvider{deaf: true}
	}},
	{"ready facts change", "ready facts do not change", "Ready was", wrapping(func(c core.Conn) core.Conn {
		return &restless{Conn: c}
	})},
	{"a turn forgets the one before", "the second turn remembers the first", "without \"marmalade\"", ops(func(s core.StartTurn) core.Op {
		if s.Input.Prompt == "recall" {
			s.Input.Prompt = "say what was that?"
		}
		return s
	})},
	{"settings cannot be changed after all", "settings change between turns", "was refused", ops(func(c core.Configure) core.Op {
		c.Changes.ReasoningEffort = "high"
		return c
	})},
	{"steering goes astray", "a steered turn goes on", "core.Steer was refused", ops(func(s core.Steer) core.Op {
		s.TurnID = "another"
		return s
	})},
	{"steering of nothing is done", "steering what does not run is refused", "was said to be done", notices(func(n core.OpDone) []core.Notice {
		n.Err = nil
		return []core.Notice{n}
	})},
	{"other words are refused", "a question is answered in other words", "core.Respond was refused", ops(func(r core.Respond) core.Op {
		if r.Response.Answers["greeting"][0] == "something else" {
			r.Response.Action = core.ActionApprove
		}
		return r
	})},
	{"a late interrupt hits the next turn", "an interrupt of what does not run changes nothing", "cancelled, not completed", hitsNext},
	{"close hangs in a turn", "close in the middle of a turn", "Close did not return", closeHangs},
	{"close hangs at a request", "close with a request pending", "Close did not return", closeHangs},
}

// TestTheSuiteCatchesBrokenProviders breaks a good provider in one way and
// wants the named check to say so. The checks run in fake time, so a wait that
// must run out costs nothing.
func TestTheSuiteCatchesBrokenProviders(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				p := f.broken(release)
				p.Provider = demo.New(demo.Options{Dir: t.TempDir()})
				err := check(t, f.check).Func(&Env{Config: demoConfig(p)})
				if err == nil {
					t.Fatalf("the check %q found nothing", f.check)
				}
				if !strings.Contains(err.Error(), f.says) {
					t.Errorf("the check %q said %q, without %q", f.check, err, f.says)
				}
				var rule skip
				if errors.As(err, &rule) {
					t.Errorf("the check %q was skipped", f.check)
				}
			})
		})
	}
}

// TestEveryCheckIsKnownToFail: a check that no fault can fail checks nothing.
func TestEveryCheckIsKnownToFail(t *testing.T) {
	caught := make(map[string]bool)
	for _, f := range faults {
		caught[f.check] = true
	}
	for _, c := range Checks() {
		if !caught[c.Name] {
			t.Errorf("no fault shows what the check %q is for", c.Name)
		}
	}
}

// TestAFailingCheckShowsTheLastNotices: with a real agent they are all that a
// person has to go by.
func TestAFailingCheckShowsTheLastNotices(t *testing.T) {
	p := notices(func(n core.TurnEnded) []core.Notice { return []core.Notice{n, n} })(nil)
	p.Provider = demo.New(demo.Options{Dir: t.TempDir()})
	err := check(t, "a turn with text").Func(&Env{Config: demoConfig(p)})
	if err == nil {
		t.Fatal("the check found nothing")
	}
	for _, want := range []string{"the last notices were:", "OpDone 1\n", "message_delta trn_", "Text:lighthouse", "TurnEnded trn_"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

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
