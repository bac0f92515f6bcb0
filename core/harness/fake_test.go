package harness_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// fakeProvider is an agent made of channels. Its prompts say what it does:
// "say X" answers X, "hold" runs until it is interrupted, "ask" asks for an
// approval, "deaf" never answers anything, "reject" refuses the turn, "die"
// loses the link, "late" starts by a notice only, "write X"
// says X in pieces and goes on, "speak X" says X whole and goes on; a "|"
// in X begins another message.
type fakeProvider struct {
	mu    sync.Mutex
	conns []*fakeConn
	open  func(ctx context.Context, cfg core.SessionConfig) error // nil: at once
	caps  core.Capabilities
}

func newFake() *fakeProvider {
	return &fakeProvider{caps: core.Capabilities{Approvals: core.Native, Interrupt: core.Native, Steer: core.Native,
		Resume: core.Native, Configure: core.Native, Questions: core.Native, TokenStreaming: core.Native}}
}

func (p *fakeProvider) Spec() core.Spec {
	return core.Spec{Name: "fake", Title: "Fake", Transports: []core.TransportSpec{{
		Name: "channels", Default: true, Capabilities: p.caps,
		Approval: []core.ApprovalMode{core.ApprovalDefault, core.ApprovalAuto}, Sandbox: []core.SandboxMode{core.SandboxReadOnly},
	}}, Options: []core.OptionSpec{{Name: "known", Type: "string", Description: "A known one."}}}
}

func (p *fakeProvider) Status(context.Context) core.Status {
	return core.Status{Ready: true, Version: "1", Authenticated: "unknown"}
}

func (p *fakeProvider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if p.open != nil {
		if err := p.open(ctx, cfg); err != nil {
			return nil, err
		}
	}
	c := &fakeConn{cfg: cfg, ops: make(chan core.Op, 64), out: make(chan core.Notice, 64), end: make(chan struct{}), gone: make(chan struct{})}
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
	go c.work()
	return c, nil
}

func (p *fakeProvider) last() *fakeConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) == 0 {
		return nil
	}
	return p.conns[len(p.conns)-1]
}

// count returns how many conversations were opened.
func (p *fakeProvider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

type fakeConn struct {
	cfg  core.SessionConfig
	ops  chan core.Op
	out  chan core.Notice
	end  chan struct{} // closed by Close
	gone chan struct{} // closed when the link is lost
	once sync.Once
	lost sync.Once

	closeTakes time.Duration // how long Close takes

	turn string // the turn that runs
	ref  int
}

func (c *fakeConn) Ready() core.Ready {
	return core.Ready{ProviderSessionID: "conv-" + c.cfg.SessionID, Model: "fake-1"}
}

func (c *fakeConn) Send(op core.Op) error {
	select {
	case <-c.end:
		return errors.New("closed")
	default:
	}
	select {
	case c.ops <- op:
		return nil
	default:
		return errors.New("full")
	}
}

func (c *fakeConn) Recv(ctx context.Context) (core.Notice, error) {
	select {
	case n := <-c.out:
		return n, nil
	default:
	}
	select {
	case n := <-c.out:
		return n, nil
	case <-c.end:
		return nil, io.EOF
	case <-c.gone:
		select {
		case n := <-c.out: // what it said before
			return n, nil
		default:
		}
		return nil, errors.New("the agent crashed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *fakeConn) Close(context.Context) error {
	time.Sleep(c.closeTakes)
	c.once.Do(func() { close(c.end) })
	return nil
}

// crash loses the link.
func (c *fakeConn) crash() { c.lost.Do(func() { close(c.gone) }) }

func (c *fakeConn) say(ns ...core.Notice) {
	for _, n := range ns {
		select {
		case c.out <- n:
		case <-c.end:
			return
		}
	}
}

func (c *fakeConn) work() {
	for {
		select {
		case op := <-c.ops:
			c.do(op)
		case <-c.end:
			return
		case <-c.gone:
			return
		}
	}
}

func (c *fakeConn) do(op core.Op) {
	switch op := op.(type) {
	case core.StartTurn:
		c.start(op)
	case core.Respond:
		c.say(core.OpDone{Op: op.ID})
		switch {
		case op.Response.Action == core.ActionCancel:
			c.finish(core.VerdictCancelled, core.Result{})
		case c.turn != "":
			c.answer("answered " + string(op.Response.Action))
		}
	case core.Interrupt:
		c.say(core.OpDone{Op: op.ID})
		c.finish(core.VerdictCancelled, core.Result{StopReason: "interrupted"})
	case core.Steer, core.Configure:
		c.say(core.OpDone{Op: op.OpID()})
	}
}

func (c *fakeConn) start(op core.StartTurn) {
	word, rest, _ := strings.Cut(op.Input.Prompt, " ")
	if word == "deaf" {
		return
	}
	if word == "reject" {
		c.say(core.OpDone{Op: op.ID, Err: core.Errorf(core.CodeInvalidArgument, "no such model")})
		return
	}
	c.turn = op.TurnID
	if word != "late" {
		c.say(core.OpDone{Op: op.ID, Ref: "ref-" + op.TurnID})
	}
	switch word {
	case "say", "late":
		c.answer(rest)
	case "ask":
		c.ref++
		c.say(core.RequestRaised{Turn: c.turn, Ref: "r" + string(rune('0'+c.ref)), Spec: core.RequestSpec{
			Kind: core.KindCommandApproval, Prompt: "Run it?", Scopes: []core.Scope{core.ScopeOnce},
			Actions: []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel}}})
	case "edit":
		var changes []core.FileEdit
		for name := range strings.FieldsSeq(rest) {
			changes = append(changes, core.FileEdit{Path: name, Kind: core.FileModified})
		}
		c.say(core.Content{Turn: c.turn, Payload: core.FileChange{Item: "f", Changes: changes}})
		c.answer("edited")
	case "write", "speak":
		for i, text := range strings.Split(rest, "|") {
			c.mutter(fmt.Sprintf("m%d-%s", i, c.turn), text)
			if word == "speak" || i < strings.Count(rest, "|") {
				c.say(core.Content{Turn: c.turn, Payload: core.Message{Item: fmt.Sprintf("m%d-%s", i, c.turn), Text: text}})
			}
		}
	case "die":
		c.crash()
	case "fail":
		c.finish(core.VerdictFailed, core.Result{Error: &core.TurnError{Code: core.TurnProviderError, Message: rest}})
	}
}

// mutter says the pieces of a message that is not whole yet.
func (c *fakeConn) mutter(item, text string) {
	half := len(text) / 2
	c.say(core.Content{Turn: c.turn, Payload: core.MessageDelta{Item: item, Text: text[:half]}},
		core.Content{Turn: c.turn, Payload: core.MessageDelta{Item: item, Text: text[half:]}})
}

func (c *fakeConn) answer(text string) {
	c.mutter("m-"+c.turn, text)
	c.say(core.Content{Turn: c.turn, Payload: core.Message{Item: "m-" + c.turn, Text: text}})
	c.finish(core.VerdictCompleted, core.Result{StopReason: "end_turn"})
}

func (c *fakeConn) finish(v core.Verdict, r core.Result) {
	if c.turn == "" {
		return
	}
	turn := c.turn
	c.turn = ""
	c.say(core.TurnEnded{Turn: turn, Verdict: v, Result: r})
}
