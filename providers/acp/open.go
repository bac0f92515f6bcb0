package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// ask makes one call of the opening and waits for its response.
func (c *conn) ask(ctx context.Context, method string, params any, take func(json.RawMessage) error) error {
	err := c.peer.Ask(ctx, c.Child.Done(), method, params, take)
	if errors.Is(err, jsonrpc.ErrGone) {
		err = c.Child.Ended()
	}
	return c.openError(method, err)
}

// openError is why an opening failed, with the next step where it is known.
func (c *conn) openError(method string, err error) error {
	if err == nil {
		return nil
	}
	var own *core.Error
	if errors.As(err, &own) {
		return own
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return core.Errorf(core.CodeStartFailed, "%s did not open (%s): %w", c.agent.Name, method, err)
	}
	text := errorText(e)
	failed := core.Errorf(core.CodeStartFailed, "%s did not open (%s): %s", c.agent.Name, method, text)
	switch {
	case errorCode(e.Code, text) == core.TurnAuthRequired:
		return failed.WithHint("Sign in with the agent's own command first, or give its key by env.")
	case method == wire.SessionLoad || method == wire.SessionResume || method == wire.SessionFork:
		return failed.WithHint("The agent may not have kept the conversation; start a new one.")
	}
	return failed
}

// open makes the handshake, checks every setting against the agent's capabilities,
// opens the session, and sets what has to be set.
func (c *conn) open(ctx context.Context, cfg core.SessionConfig) error {
	hello := wire.InitializeParams{
		ProtocolVersion: wire.Version,
		ClientInfo:      wire.Implementation{Name: "harness-mcp", Title: "harness-mcp", Version: link.OwnVersion()},
		ClientCapabilities: wire.ClientCapabilities{
			FS: wire.FileSystem{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
		},
	}
	var agent wire.InitializeResult
	err := c.ask(ctx, wire.Initialize, hello, func(raw json.RawMessage) error {
		if err := json.Unmarshal(raw, &agent); err != nil {
			return err
		}
		c.t.caps = agent.AgentCapabilities
		return nil
	})
	if err != nil {
		return err
	}
	if v := strings.Trim(string(agent.ProtocolVersion), `"`); v != "1" {
		return core.Errorf(core.CodeProviderNotReady, "%s has version %s of the Agent Client Protocol, not 1", c.agent.Name, v)
	}
	method, params, bad := c.sessionCall(cfg, agent.AgentCapabilities)
	if bad != nil {
		return bad
	}
	if err := c.openSession(ctx, method, params); err != nil {
		return err
	}
	if err := c.settings(ctx, cfg); err != nil {
		return err
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.t.phase = live
	c.Inbox.SetLimits(link.DefaultLimits)
	if c.t.lost > 0 {
		c.Opened.Warnings = append(c.Opened.Warnings, fmt.Sprintf("The agent repeated a long conversation; %d pieces of it were not kept.", c.t.lost))
	}
	c.Opened.ProviderSessionID, c.Opened.PID = c.t.session, c.Child.PID()
	c.Opened.Model, c.Opened.ReasoningEffort = c.t.offers.currentModel(), c.agent.effort(c.t.offers.currentEffort())
	if agent.AgentInfo != nil {
		c.Opened.Version = agent.AgentInfo.Version
	}
	return nil
}

// sessionCall returns the call that opens the session. A conversation that the
// journal knows is resumed, which repeats nothing; another one is loaded, which
// repeats it. An agent that has one of the two gets that.
func (c *conn) sessionCall(cfg core.SessionConfig, caps wire.AgentCapabilities) (string, wire.SessionParams, *core.Error) {
	p := wire.SessionParams{CWD: cfg.CWD, SessionID: cfg.ProviderSesID}
	servers, err := mcpServers(cfg.MCPServers, caps.MCPCapabilities)
	if err != nil {
		return "", p, err
	}
	p.MCPServers = servers
	if len(cfg.AddDirs) > 0 {
		if has(caps, "additionalDirectories") {
			p.AdditionalDirectories = cfg.AddDirs
		} else {
			c.Opened.Warnings = append(c.Opened.Warnings, "The agent takes no additional directories; they only widen what it may read and write through this server.")
		}
	}
	lacks := func(what string) *core.Error {
		return core.Errorf(core.CodeCapability, "%s reports that it cannot %s a conversation", c.agent.Name, what)
	}
	switch {
	case cfg.ProviderSesID == "":
		return wire.SessionNew, p, nil
	case cfg.Fork && !has(caps, "fork"):
		return "", p, lacks("fork")
	case cfg.Fork:
		return wire.SessionFork, p, nil
	case has(caps, "resume") && (cfg.Epoch > 1 || !caps.LoadSession):
		return wire.SessionResume, p, nil
	case caps.LoadSession:
		return wire.SessionLoad, p, nil
	}
	return "", p, lacks("resume")
}

func has(caps wire.AgentCapabilities, name string) bool {
	raw, ok := caps.SessionCapabilities[name]
	return ok && string(raw) != "null" && string(raw) != "false"
}

// openSession makes the call. Updates may come before its answer.
func (c *conn) openSession(ctx context.Context, method string, params wire.SessionParams) error {
	c.Mu.Lock()
	if method == wire.SessionLoad || method == wire.SessionResume {
		c.t.session = params.SessionID
	}
	if method == wire.SessionLoad || method == wire.SessionFork {
		c.t.phase = history
	}
	c.Mu.Unlock()
	return c.ask(ctx, method, params, func(raw json.RawMessage) error {
		var r wire.SessionResult
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
		if r.SessionID != "" {
			c.t.session = r.SessionID
		}
		if c.t.session == "" {
			return errors.New("the session has no id")
		}
		c.t.offers = readOffers(r)
		return nil
	})
}

// settings sets what the caller wants and the agent does not do by itself. The
// mode that asks is set always: some agents decide by themselves otherwise.
func (c *conn) settings(ctx context.Context, cfg core.SessionConfig) error {
	c.Mu.Lock()
	approval := c.t.set.approval
	mode := c.agent.modeFor(approval)
	ch := core.Changes{Model: cfg.Model, ReasoningEffort: cfg.ReasoningEffort, ApprovalMode: approval}
	calls, err := c.t.settingCalls(ch)
	offers := c.t.offers
	c.Mu.Unlock()
	if err != nil {
		return err
	}
	if mode != "" && !offers.hasMode(mode) {
		switch approval {
		case core.ApprovalAuto: // answered here
		case core.ApprovalPrompt:
			return core.Errorf(core.CodeOption, "%s offers no mode %q in which it asks for everything", c.agent.Name, mode).
				WithHint("Its own configuration decides then; use approval_mode default to accept that.")
		default:
			c.Opened.Warnings = append(c.Opened.Warnings, "The agent offers no mode "+mode+"; when it asks is up to its own configuration.")
		}
	}
	for _, k := range calls {
		err := c.ask(ctx, k.method, k.params, func(raw json.RawMessage) error {
			c.t.tookSetting(jsonrpc.Message{Result: raw})
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if offers.hasMode(mode) {
		c.t.offers.mode = mode
	}
	if cfg.Model != "" {
		c.t.offers.model = cfg.Model
	}
	return nil
}
