package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// do does a job of the agent's: files here, in the order in which they were
// asked for; what may take long in a goroutine of its own, which Close waits
// for.
func (c *conn) do(j job) {
	switch j.method {
	case wire.ReadTextFile, wire.WriteTextFile:
		c.jobDone(j.id, c.fence.file(j))
	case wire.TerminalCreate:
		c.createTerminal(j)
	default:
		c.useTerminal(j)
	}
}

func (c *conn) jobDone(id json.RawMessage, d done) { c.tell(func() { c.t.jobDone(id, d) }) }

func (c *conn) createTerminal(j job) {
	var p wire.CreateParams
	if json.Unmarshal(j.params, &p) != nil || strings.TrimSpace(p.Command) == "" {
		c.jobDone(j.id, failed(errors.New("there is no command"), wire.InvalidParams))
		return
	}
	ctx, cancel := context.WithTimeout(c.life, terminalStart)
	defer cancel()
	t, err := c.terms.create(ctx, p)
	if err != nil {
		c.jobDone(j.id, failed(err, 0))
		return
	}
	c.tell(func() {
		c.t.terminalStarted(t)
		c.t.jobDone(j.id, done{result: wire.TerminalRef{TerminalID: t.id}})
	})
	c.terms.follow(t)
}

func (c *conn) useTerminal(j job) {
	t, err := c.terms.find(j.params)
	if err != nil {
		c.jobDone(j.id, failed(err, wire.ResourceNotFound))
		return
	}
	if j.method == wire.TerminalOutput {
		c.jobDone(j.id, done{result: t.shown()})
		return
	}
	select {
	case c.calls <- struct{}{}:
	default:
		c.jobDone(j.id, failed(errors.New("too many calls wait for terminals"), 0))
		return
	}
	c.jobs.Go(func() {
		defer func() { <-c.calls }()
		var result any = struct{}{}
		switch j.method {
		case wire.TerminalWait:
			<-t.done
			result = exitStatus(t.child.Exit())
		case wire.TerminalRelease:
			c.terms.release(t)
		default:
			t.kill()
		}
		c.jobDone(j.id, done{result: result})
	})
}

// terminalOutput reports output once there is room for it: that is the
// command's back-pressure.
func (c *conn) terminalOutput(t *terminal, text string) {
	c.inbox.WaitRoom(c.child.Closing())
	c.tell(func() { c.t.terminalOutput(t, text) })
}

func (c *conn) terminalEnded(t *terminal) {
	c.tell(func() { c.t.terminalEnded(t, t.child.Exit()) })
}
