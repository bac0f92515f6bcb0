package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/acpscript"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestTheOpeningIsRead(t *testing.T) {
	resume := func(c *core.SessionConfig) { c.ProviderSesID = "some-session" }
	for name, c := range map[string]struct {
		agent  acpscript.Options
		change func(*core.SessionConfig)
		want   core.Code
	}{
		"another version":      {acpscript.Options{Version: 2}, func(*core.SessionConfig) {}, core.CodeProviderNotReady},
		"no way to resume":     {acpscript.Options{NoLoad: true, NoResume: true}, resume, core.CodeCapability},
		"no way to fork":       {acpscript.Options{NoFork: true}, func(c *core.SessionConfig) { c.ProviderSesID, c.Fork = "some-session", true }, core.CodeCapability},
		"unknown conversation": {acpscript.Options{}, resume, core.CodeStartFailed},
		"MCP by SSE": {acpscript.Options{}, func(c *core.SessionConfig) {
			c.MCPServers = map[string]json.RawMessage{"x": json.RawMessage(`{"type":"sse","url":"http://127.0.0.1/"}`)}
		}, core.CodeCapability},
		"MCP of no kind": {acpscript.Options{}, func(c *core.SessionConfig) {
			c.MCPServers = map[string]json.RawMessage{"x": json.RawMessage(`{"args":[]}`)}
		}, core.CodeInvalidArgument},
		"unknown model":        {acpscript.Options{}, func(c *core.SessionConfig) { c.Model = "huge" }, core.CodeOption},
		"a model it refuses":   {acpscript.Options{}, func(c *core.SessionConfig) { c.Model = "unwilling" }, core.CodeStartFailed},
		"no efforts":           {acpscript.Options{}, func(c *core.SessionConfig) { c.ReasoningEffort = "high" }, core.CodeCapability},
		"a sandbox":            {acpscript.Options{}, func(c *core.SessionConfig) { c.SandboxMode = core.SandboxReadOnly }, core.CodeOption},
		"a system prompt":      {acpscript.Options{}, func(c *core.SessionConfig) { c.SystemPrompt = "be nice" }, core.CodeOption},
		"lists of tools":       {acpscript.Options{}, func(c *core.SessionConfig) { c.AllowedTools = []string{"x"} }, core.CodeOption},
		"skills":               {acpscript.Options{}, func(c *core.SessionConfig) { c.Skills = []string{"x"} }, core.CodeCapability},
		"a schema":             {acpscript.Options{}, func(c *core.SessionConfig) { c.OutputSchema = json.RawMessage(`{}`) }, core.CodeCapability},
		"provider options":     {acpscript.Options{}, func(c *core.SessionConfig) { c.ProviderOptions = map[string]json.RawMessage{"x": nil} }, core.CodeOption},
		"another transport":    {acpscript.Options{}, func(c *core.SessionConfig) { c.Transport = "telepathy" }, core.CodeOption},
		"a folder not there":   {acpscript.Options{}, func(c *core.SessionConfig) { c.CWD = "/no/such/folder" }, core.CodeInvalidArgument},
		"a fork of a stranger": {acpscript.Options{}, func(c *core.SessionConfig) { c.ProviderSesID, c.Fork = "some-session", true }, core.CodeStartFailed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTable(t, c.agent, nil)
			cfg := b.session()
			c.change(&cfg)
			conn, err := b.try(cfg)
			if core.CodeOf(err) != c.want {
				t.Errorf("opened with %v, want %s", err, c.want)
			}
			if conn != nil {
				conntest.Record(t, conn)
			}
		})
	}
}

func TestAnAgentThatDecidesByItselfIsSetToAsk(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	r := b.open(b.session())
	c := r.Conn.(*conn)
	c.Mu.Lock()
	mode := c.t.offers.mode
	c.Mu.Unlock()
	if mode != "ask" {
		t.Errorf("the agent's mode is %q", mode)
	}
	ready := r.Conn.Ready()
	if ready.Model != "small" || ready.Version != "7.7.7" || ready.PID == 0 || len(ready.Warnings) != 0 {
		t.Errorf("ready: %+v", ready)
	}
	// For one without such a mode there is a warning.
	b = newTable(t, acpscript.Options{}, func(a *Agent) { a.Modes[core.ApprovalDefault] = "gone" })
	if w := b.open(b.session()).Conn.Ready().Warnings; len(w) != 1 || !strings.Contains(w[0], "gone") {
		t.Errorf("warnings %q", w)
	}
	cfg := b.session()
	cfg.ApprovalMode = core.ApprovalPrompt
	if _, err := b.try(cfg); core.CodeOf(err) != core.CodeOption {
		t.Errorf("prompt without a mode that asks: %v", err)
	}
}

func TestModelsAndModesChangeLive(t *testing.T) {
	b := newTable(t, acpscript.Options{}, func(a *Agent) { a.Modes[core.ApprovalAutoEdit] = "edits" })
	r := b.open(b.session())
	configure := func(ch core.Changes) *core.Error {
		return r.OpDone(r.Send(core.Configure{ID: r.NextOp(), Changes: ch})).Err
	}
	if err := configure(core.Changes{Model: "large", ApprovalMode: core.ApprovalAutoEdit}); err != nil {
		t.Fatal(err)
	}
	changed := false
	for _, n := range r.All() {
		if s, ok := n.(core.SessionChanged); ok && s.Model == "large" {
			changed = true
		}
	}
	if !changed {
		t.Error("the new model was not reported")
	}
	for code, ch := range map[core.Code]core.Changes{
		core.CodeOption:     {Model: "huge"},
		core.CodeCapability: {ReasoningEffort: "high"},
		core.TurnRejected:   {Model: "unwilling"},
	} {
		if err := configure(ch); err == nil || err.Code != code {
			t.Errorf("%+v: %v, want %s", ch, err, code)
		}
	}
	if err := configure(core.Changes{SandboxMode: core.SandboxReadOnly}); err == nil || err.Code != core.CodeOption {
		t.Errorf("a sandbox: %v", err)
	}
}

// remembered starts a conversation of two turns and returns its id.
func remembered(b *table) string {
	b.t.Helper()
	r := b.open(b.session())
	for _, turn := range []string{"one", "two"} {
		r.Start(turn, "say "+turn)
		r.TurnEnded(turn)
	}
	r.Close()
	return r.Conn.Ready().ProviderSessionID
}

func TestALoadedConversationIsHistory(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	cfg := b.session()
	cfg.ProviderSesID = remembered(b)
	r := b.open(cfg)
	r.Start("turn", "say live")
	r.TurnEnded("turn")
	if n := len(events(r, "history: ")); n != 6 {
		t.Errorf("%d pieces of history", n)
	}
	if got := said(r); got != "live\n" {
		t.Errorf("the messages are %q", got)
	}
	if n := len(conntest.Contents[core.ToolStarted](r)); n != 0 {
		t.Errorf("%d tools were said to be used", n)
	}
}

func TestAConversationThatTheJournalKnowsIsNotRepeated(t *testing.T) {
	b := newTable(t, acpscript.Options{}, nil)
	cfg := b.session()
	cfg.ProviderSesID, cfg.Epoch = remembered(b), 2
	r := b.open(cfg)
	r.Start("turn", "recall")
	r.TurnEnded("turn")
	if n := len(events(r, "history: ")); n != 0 {
		t.Errorf("%d pieces of history", n)
	}
	m := conntest.Contents[core.Message](r)
	if len(m) != 1 || !strings.Contains(m[0].Text, "say one") || !strings.HasPrefix(m[0].Item, "2.") {
		t.Errorf("messages: %+v", m)
	}
}

func TestALongReplayNeitherBlocksNorGrowsWithoutLimit(t *testing.T) {
	b := newTable(t, acpscript.Options{Replay: 2 * maxHistory}, nil)
	cfg := b.session()
	cfg.ProviderSesID = remembered(b)
	r := b.open(cfg)
	if w := r.Conn.Ready().Warnings; len(w) != 1 || !strings.Contains(w[0], "were not kept") {
		t.Errorf("warnings %q", w)
	}
	turnBehind(t, r)
	if n := len(events(r, "history: ")); n == 0 || n > maxHistory {
		t.Errorf("%d pieces of history", n)
	}
}
