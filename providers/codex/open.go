package codex

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// ask makes one call of the opening and waits for its response.
func (c *conn) ask(ctx context.Context, method string, params any, take func(json.RawMessage) error) error {
	err := c.peer.Ask(ctx, c.Child.Done(), method, params, take)
	if errors.Is(err, jsonrpc.ErrGone) {
		err = c.Child.Ended()
	}
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && strings.Contains(refused.Message, otherWriter):
		return core.Errorf(core.CodeStartFailed, "this Codex conversation is open in another program, which alone may write to it: %w", err).
			WithHint("Close it there, or fork it.")
	case core.CodeOf(err) == core.CodeProviderNotReady: // it is not to be used
		return err
	}
	return core.Errorf(core.CodeStartFailed, "codex did not open (%s): %w", method, err)
}

// otherWriter is in Codex's words about a thread that another process holds.
const otherWriter = "already has an active writer"

// open makes the handshake and starts the thread.
func (c *conn) open(ctx context.Context, o opening) error {
	hello := wire.InitializeParams{
		ClientInfo:   wire.ClientInfo{Name: "harness-mcp", Title: "harness-mcp", Version: link.OwnVersion()},
		Capabilities: wire.Capabilities{ExperimentalAPI: true, OptOutNotificationMethods: unwanted},
	}
	var server wire.InitializeResponse
	if err := c.ask(ctx, wire.Initialize, hello, into(&server)); err != nil {
		return err
	}
	if err := c.peer.Notify(wire.Initialized, nil, nil); err != nil {
		return core.Errorf(core.CodeStartFailed, "codex does not take messages: %w", err)
	}
	if o.subscription {
		if err := c.checkBill(ctx, o.params.CWD); err != nil {
			return err
		}
	}
	if len(o.skills) > 0 {
		roots := wire.SkillsRootsParams{ExtraRoots: o.skills}
		if err := c.ask(ctx, wire.SkillsRootsSet, roots, func(json.RawMessage) error { return nil }); err != nil {
			return err
		}
	}
	return c.ask(ctx, o.method, o.params, func(raw json.RawMessage) error {
		var r wire.ThreadResponse
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
		if r.Thread.ID == "" {
			return errors.New("the thread has no id")
		}
		if o.subscription && r.ModelProvider != pinnedProvider {
			return notSubscribed("the conversation is with the model provider %q", r.ModelProvider)
		}
		c.t.opened(r)
		c.Opened.ProviderSessionID, c.Opened.Model, c.Opened.ReasoningEffort = r.Thread.ID, r.Model, r.ReasoningEffort
		c.Opened.Version, c.Opened.PID = serverVersion(server.UserAgent), c.Child.PID()
		return nil
	})
}

// into decodes a result.
func into(v any) func(json.RawMessage) error {
	return func(raw json.RawMessage) error { return json.Unmarshal(raw, v) }
}

// checkBill asks Codex for the configuration that it has read, in the
// directory of the session, and sees that nothing leads away from the sign-in.
func (c *conn) checkBill(ctx context.Context, cwd string) error {
	var config wire.ConfigReadResponse
	if err := c.ask(ctx, wire.ConfigRead, wire.ConfigReadParams{IncludeLayers: true, CWD: cwd}, into(&config)); err != nil {
		return notSubscribed("its configuration cannot be read: %s", core.AsError(err).Message)
	}
	if err := checkLayers(config); err != nil {
		return err
	}
	var demands wire.RequirementsResponse
	if err := c.ask(ctx, wire.RequirementsRead, nil, into(&demands)); err != nil {
		return notSubscribed("an administrator's configuration cannot be read: %s", core.AsError(err).Message)
	}
	if err := checkRequirements(demands); err != nil {
		return err
	}
	return nil
}

// serverVersion reads Codex's version from its user agent, which begins with
// the client's name and that.
func serverVersion(agent string) string {
	_, rest, _ := strings.Cut(agent, "/")
	version, _, _ := strings.Cut(rest, " ")
	return version
}
