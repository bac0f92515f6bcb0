package pi

import (
	"context"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// opened handles the response to the command of the opening, in its place among
// the records.
type opened func(wire.Response)

// open waits until Pi can take a prompt. Pi prints nothing when it has started:
// the response to get_state is the sign.
//
// Errors: CodeStartFailed.
func (c *conn) open(ctx context.Context, cfg core.SessionConfig) error {
	var state wire.Response
	err := c.Await(ctx, func(done func()) {
		c.t.call(wire.Command{Type: wire.GetState}, opened(func(r wire.Response) { state = r; done() }))
	})
	switch {
	case err == nil:
		return c.opened(state, cfg)
	case c.Inbox.Err() != nil:
		return core.Errorf(core.CodeStartFailed, "pi did not open: %w", err).
			WithHint("Run `pi` in a terminal to see why. It needs Node.js 22 or newer.")
	}
	return core.Errorf(core.CodeStartFailed, "pi did not open: %w", err)
}

func (c *conn) opened(r wire.Response, cfg core.SessionConfig) error {
	var s wire.State
	if !r.Success || json.Unmarshal(r.Data, &s) != nil || s.SessionID == "" {
		return core.Errorf(core.CodeStartFailed, "pi did not open: its state cannot be read. %s", r.Error)
	}
	if err := rightConversation(s, cfg); err != nil {
		return err
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.t.opened(s)
	c.Opened.ProviderSessionID, c.Opened.Model, c.Opened.ReasoningEffort = s.SessionID, c.t.model, s.ThinkingLevel
	c.Opened.PID = c.Child.PID()
	if !c.t.gated {
		if asks(cfg.ApprovalMode) {
			return core.Errorf(core.CodeStartFailed, "pi did not load the extension that asks for approvals").
				WithHint("Pi itself never asks. With approval_mode auto_approve it runs without the extension.")
		}
		c.warn("This release of Pi did not load the extension that asks for approvals; approval_mode cannot be changed.")
	}
	if s.Model == nil {
		c.warn("Pi has no model to speak to. Sign in with `" + login + "`, or give a key in env.")
	}
	if cfg.ReasoningEffort != "" && s.ThinkingLevel != cfg.ReasoningEffort {
		c.warn("The model has no reasoning_effort " + cfg.ReasoningEffort + "; Pi uses " + s.ThinkingLevel + ".")
	}
	return nil
}

func (c *conn) warn(text string) { c.Opened.Warnings = append(c.Opened.Warnings, text) }

// rightConversation checks that Pi opened the conversation that was asked for: Pi
// accepts the beginning of an id too, and may find another.
func rightConversation(s wire.State, cfg core.SessionConfig) error {
	switch {
	case cfg.ProviderSesID == "":
	case cfg.Fork && s.SessionID == cfg.ProviderSesID:
		return core.Errorf(core.CodeStartFailed, "pi did not fork the conversation %s", cfg.ProviderSesID)
	case !cfg.Fork && s.SessionID != cfg.ProviderSesID:
		return core.Errorf(core.CodeStartFailed, "pi opened the conversation %s instead of %s", s.SessionID, cfg.ProviderSesID).
			WithHint("Give the whole id.")
	}
	return nil
}
