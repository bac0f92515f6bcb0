package claude

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// exchange is a call of the opening: the reader answers it in its place among
// the lines.
type exchange struct{ done chan exchanged }

type exchanged struct {
	body json.RawMessage
	err  *core.Error
}

// answer is called once, with room in the channel.
func (e *exchange) answer(body json.RawMessage, err *core.Error) { e.done <- exchanged{body, err} }

// open shakes hands.
func (c *conn) open(ctx context.Context, l launch, cfg core.SessionConfig) error {
	e := &exchange{done: make(chan exchanged, 1)}
	c.mu.Lock()
	c.t.call(l.init, e)
	err := c.apply()
	c.mu.Unlock()
	if err != nil {
		return core.Errorf(core.CodeStartFailed, "claude does not take messages: %w", err)
	}
	select {
	case r := <-e.done:
		if r.err != nil {
			return core.Errorf(core.CodeStartFailed, "claude did not open: %s", r.err.Message)
		}
		return c.opened(r.body, l, cfg)
	case <-c.inbox.Ended():
		return c.failedToOpen(c.inbox.Err())
	case <-ctx.Done():
		return core.Errorf(core.CodeStartFailed, "claude did not open: %w", ctx.Err())
	}
}

// failedToOpen says why the CLI ended before it could take a turn.
func (c *conn) failedToOpen(err error) error {
	said := c.child.Said()
	var coded *core.Error
	switch {
	case strings.Contains(said, "root/sudo privileges"):
		return rootError()
	case errors.As(err, &coded) && coded.Code == core.CodeStartFailed:
		return coded
	}
	e := core.Errorf(core.CodeStartFailed, "claude did not open: %w", err)
	if strings.Contains(said, "andbox") {
		return e.WithHint(sandboxHint)
	}
	return e
}

func (c *conn) opened(body json.RawMessage, l launch, cfg core.SessionConfig) error {
	var r wire.Initialized
	if err := json.Unmarshal(body, &r); err != nil {
		return core.Errorf(core.CodeStartFailed, "claude did not open: its response to initialize cannot be read")
	}
	if l.opts.Auth == authSubscription {
		if err := checkAccount(r); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.session, c.t.model = l.session, cfg.Model
	c.t.literal = takesComposed(r.Version)
	c.ready.ProviderSessionID, c.ready.Model, c.ready.ReasoningEffort = l.session, cfg.Model, cfg.ReasoningEffort
	c.ready.Version, c.ready.PID = r.Version, c.child.PID()
	return nil
}
