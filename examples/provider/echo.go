package main

import (
	"context"
	"io"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// echo is a minimal provider: an agent that says what it is
// told. It has no process, no pauses and no memory, and declares so.
type echo struct{}

// Spec is what list_providers shows and what core goes by: every op that is
// declared unsupported is refused before it reaches a Conn.
func (echo) Spec() core.Spec {
	return core.Spec{
		Name:  "echo",
		Title: "Echo",
		Transports: []core.TransportSpec{{
			Name:    "builtin",
			Default: true,
			Capabilities: core.Capabilities{
				TokenStreaming: core.Unsupported, Questions: core.Unsupported, Approvals: core.Unsupported,
				Interrupt: core.Unsupported, Steer: core.Unsupported, Resume: core.Unsupported,
				Fork: core.Unsupported, Configure: core.Unsupported, PerSessionMCP: core.Unsupported,
				Skills: core.Unsupported, Attachments: core.Unsupported, StructuredOutput: core.Unsupported,
			},
			Approval: []core.ApprovalMode{core.ApprovalDefault},
			Sandbox:  []core.SandboxMode{core.SandboxDefault},
		}},
	}
}

// Status would look for an executable here.
func (echo) Status(context.Context) core.Status {
	return core.Status{Ready: true, Authenticated: "yes", Evidence: "needs no account"}
}

// Open would start a process here, and end it again when ctx ends first.
func (echo) Open(ctx context.Context, _ core.SessionConfig) (core.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, core.Errorf(core.CodeStartFailed, "the opening was cancelled: %w", err)
	}
	return &conn{ops: make(chan core.Op, maxOps), quit: make(chan struct{})}, nil
}

// maxOps is how many ops may wait for a reader.
const maxOps = 16

// conn needs no goroutine: what an op leads to is worked out by the Recv that
// meets it. A provider with a process has one that reads its output.
type conn struct {
	ops   chan core.Op
	quit  chan struct{}
	close sync.Once
	held  []core.Notice // belongs to Recv, which one goroutine calls
}

// Ready would say which model and version was found.
func (*conn) Ready() core.Ready { return core.Ready{} }

// Send must not wait: an op that finds no room is refused.
func (c *conn) Send(op core.Op) error {
	select {
	case <-c.quit:
		return core.Errorf(core.CodeSessionClosed, "the conversation is closed")
	default:
	}
	select {
	case c.ops <- op:
		return nil
	default:
		return core.Errorf(core.CodeQueueFull, "%d ops wait already", maxOps).Retry()
	}
}

// Recv returns the next notice, io.EOF after Close, or the end of ctx.
func (c *conn) Recv(ctx context.Context) (core.Notice, error) {
	for len(c.held) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.quit:
			return nil, io.EOF
		case op := <-c.ops:
			c.held = answer(op)
		}
	}
	n := c.held[0]
	c.held = c.held[1:]
	return n, nil
}

// Close would end the process tree here, politely while ctx lasts.
func (c *conn) Close(context.Context) error {
	c.close.Do(func() { close(c.quit) })
	return nil
}

// answer returns the notices of an op. Each op is done exactly once, and a turn
// that was taken ends exactly once, with all that it said before.
func answer(op core.Op) []core.Notice {
	start, ok := op.(core.StartTurn)
	if !ok {
		return []core.Notice{core.OpDone{
			Op: op.OpID(), Err: core.Errorf(core.CodeCapability, "an echo cannot do %T", op),
		}}
	}
	return []core.Notice{
		core.OpDone{Op: start.ID},
		core.Content{Turn: start.TurnID, Payload: core.Message{Item: start.TurnID + ".1", Text: start.Input.Prompt}},
		core.TurnEnded{Turn: start.TurnID, Verdict: core.VerdictCompleted},
	}
}
