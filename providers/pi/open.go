package pi

import (
	"context"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// exchange is a command of the opening: the reader answers it in its place
// among the records.
type exchange struct{ done chan wire.Response }

// answer is called once, with room in the channel.
func (e *exchange) answer(r wire.Response) { e.done <- r }

// open waits until Pi can take a prompt. Pi prints nothing when it has started:
// the answer to get_state is the sign.
//
// Errors: CodeStartFailed.
func (c *conn) open(ctx context.Context, cfg core.SessionConfig) error {
	e := &exchange{done: make(chan wire.Response, 1)}
	c.mu.Lock()
	c.t.call(wire.Command{Type: wire.GetState}, e)
	err := c.apply()
	c.mu.Unlock()
	if err != nil {
		return core.Errorf(core.CodeStartFailed, "pi does not take messages: %w", err)
	}
	select {
	case r := <-e.done:
		return c.opened(r, cfg)
	case <-c.inbox.Ended():
		return core.Errorf(core.CodeStartFailed, "pi did not open: %w", c.inbox.Err()).
			WithHint("Run `pi` in a terminal to see why. It needs Node.js 22 or newer.")
	case <-ctx.Done():
		return core.Errorf(core.CodeStartFailed, "pi did not open: %w", ctx.Err())
	}
}

func (c *conn) opened(r wire.Response, cfg core.SessionConfig) error {
	var s wire.State
	if !r.Success || json.Unmarshal(r.Data, &s) != nil || s.SessionID == "" {
		return core.Errorf(core.CodeStartFailed, "pi did not open: it has no state to tell of. %s", r.Error)
	}
	if err := rightConversation(s, cfg); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.opened(s)
	c.ready.ProviderSessionID, c.ready.Model, c.ready.ReasoningEffort = s.SessionID, c.t.model, s.ThinkingLevel
	c.ready.PID = c.child.PID()
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

func (c *conn) warn(text string) { c.ready.Warnings = append(c.ready.Warnings, text) }

// rightConversation holds Pi to the conversation that was asked for: it takes
// the beginning of an id too, and may find another.
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
