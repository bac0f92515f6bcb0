package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// serveAll serves the requests that the last message left. The reader calls it,
// without the lock.
func (c *conn) serveAll() {
	c.Mu.Lock()
	list := c.t.asked
	c.t.asked = nil
	c.Mu.Unlock()
	for _, r := range list {
		c.serve(r)
	}
}

// serve answers a request of the agent: files here, in the order in which they
// were asked for; what may take long in a goroutine of its own, which Close waits
// for.
func (c *conn) serve(r clientRequest) {
	switch r.method {
	case wire.ReadTextFile, wire.WriteTextFile:
		c.answer(r.id, c.guard.file(r))
	case wire.TerminalCreate:
		c.createTerminal(r)
	default:
		c.useTerminal(r)
	}
}

func (c *conn) answer(id json.RawMessage, a clientAnswer) { c.Step(func() { c.t.answerClient(id, a) }) }

func (c *conn) createTerminal(r clientRequest) {
	var p wire.CreateParams
	if json.Unmarshal(r.params, &p) != nil || strings.TrimSpace(p.Command) == "" {
		c.answer(r.id, failed(errors.New("there is no command"), wire.InvalidParams))
		return
	}
	ctx, cancel := context.WithTimeout(c.life, terminalStart)
	defer cancel()
	t, err := c.terms.create(ctx, p)
	if err != nil {
		c.answer(r.id, failed(err, 0))
		return
	}
	c.Step(func() {
		c.t.terminalStarted(t)
		c.t.answerClient(r.id, clientAnswer{result: wire.TerminalRef{TerminalID: t.id}})
	})
	c.terms.follow(t)
}

func (c *conn) useTerminal(r clientRequest) {
	t, err := c.terms.find(r.params)
	if err != nil {
		c.answer(r.id, failed(err, wire.ResourceNotFound))
		return
	}
	if r.method == wire.TerminalOutput {
		c.answer(r.id, clientAnswer{result: t.shown()})
		return
	}
	select {
	case c.calls <- struct{}{}:
	default:
		c.answer(r.id, failed(errors.New("too many calls wait for terminals"), 0))
		return
	}
	c.work.Go(func() {
		defer func() { <-c.calls }()
		c.Guard(func() {
			var result any = struct{}{}
			switch r.method {
			case wire.TerminalWait:
				<-t.done
				result = exitStatus(t.child.Exit())
			case wire.TerminalRelease:
				c.terms.release(t)
			default:
				t.kill()
			}
			c.answer(r.id, clientAnswer{result: result})
		})
	})
}

// terminalOutput reports output once there is space for it: that is the
// command's back-pressure.
func (c *conn) terminalOutput(t *terminal, text string) {
	c.Inbox.WaitSpace(c.Child.Closing())
	c.Step(func() { c.t.terminalOutput(t, text) })
}

func (c *conn) terminalEnded(t *terminal) {
	c.Step(func() { c.t.terminalEnded(t, t.child.Exit()) })
}
