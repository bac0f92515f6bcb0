package claude

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
)

// opened handles the response to the request of the opening, in its place among
// the lines.
type opened func(body json.RawMessage, err *core.Error)

// open makes the handshake.
//
// Errors: CodeStartFailed.
func (c *conn) open(ctx context.Context, l launch, cfg core.SessionConfig) error {
	var body json.RawMessage
	var refused *core.Error
	err := c.Await(ctx, func(done func()) {
		c.t.call(l.init, opened(func(b json.RawMessage, e *core.Error) { body, refused = b, e; done() }))
	})
	switch {
	case err != nil && c.Inbox.Err() != nil:
		return c.failedToOpen(err)
	case err != nil:
		return core.Errorf(core.CodeStartFailed, "claude did not open: %w", err)
	case refused != nil:
		return core.Errorf(core.CodeStartFailed, "claude did not open: %s", refused.Message)
	}
	return c.opened(body, l, cfg)
}

// failedToOpen returns why the CLI ended before it could take a turn.
func (c *conn) failedToOpen(err error) error {
	said := c.Child.StderrEnd()
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
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.t.session, c.t.model = l.session, cfg.Model
	c.t.literal = takesComposed(r.Version)
	c.Opened.ProviderSessionID, c.Opened.Model, c.Opened.ReasoningEffort = l.session, cfg.Model, cfg.ReasoningEffort
	c.Opened.Version, c.Opened.PID = r.Version, c.Child.PID()
	return nil
}
