package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// tiny is an MCP server of a session.
func tiny(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal(map[string]any{"command": self, "env": map[string]string{mcpVar: "1", "TINY_NAME": "plum"}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]json.RawMessage{"tiny": entry}
}

func TestRealMCPServerOfASession(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.MCPServers = tiny(t)
		r := b.open(cfg)
		r.Start("t", "call mcp__tiny__greet {}", "call mcp__tiny__form {}", "outputs")
		q := r.Request()
		if q.Spec.Kind != core.KindPermission || q.Spec.Details.Tool != "tiny.greet" {
			t.Errorf("asked %s", conntest.JSON(q.Spec))
		}
		approve := core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: approve})
		r.Send(core.Respond{ID: r.NextOp(), Ref: r.Request().Ref, Response: approve})
		q = r.Request()
		if q.Spec.Kind != core.KindMCPElicitation || q.Spec.Prompt != "Your name?" || !strings.Contains(string(q.Spec.Schema), "name") {
			t.Errorf("asked %s", conntest.JSON(q.Spec))
		}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionAnswer, Content: []byte(`{"name":"Ada"}`)}})
		r.TurnEnded("t")
		list := conntest.Contents[core.Message](r)
		text := list[len(list)-1].Text
		if !strings.Contains(text, "greetings from plum") || !strings.Contains(text, "Ada") {
			t.Errorf("the tools gave %s", text)
		}
	})
}

func TestRealSessionHasNoOtherMCPServersThanItsOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		users, err := json.Marshal(map[string]any{"mcpServers": tiny(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.root, "home", ".claude", ".claude.json"), users, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.work, ".mcp.json"), users, 0o600); err != nil {
			t.Fatal(err)
		}
		has := func(options string) bool {
			cfg := b.session()
			cfg.ProviderOptions = optionsOf(options)
			says(b.open(cfg), "t", "say x")
			asked := b.model.Requests()
			return strings.Contains(string(asked[len(asked)-1].Body), "mcp__tiny__")
		}
		if has(`{}`) {
			t.Error("the session has a server that it was not given")
		}
		if !has(`{"strict_mcp_config": false}`) {
			t.Error("the session lacks the user's server, which it was to have")
		}
	})
}

func TestRealElicitationCancelledStopsTheTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.MCPServers, cfg.AllowedTools = tiny(t), []string{"mcp__tiny__form"}
		r := b.open(cfg)
		r.Start("t", "call mcp__tiny__form {}", "say done")
		r.Send(core.Respond{ID: r.NextOp(), Ref: r.Request().Ref, Response: core.Response{Action: core.ActionCancel}})
		if e := r.TurnEnded("t"); e.Verdict != core.VerdictCancelled {
			t.Error(conntest.Brief(e))
		}
	})
}

func TestRealSkillsReachTheModel(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		skill := filepath.Join(b.root, "bake")
		if err := os.Mkdir(skill, 0o700); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: bake\ndescription: how to bake a marzipan cake\n---\nBake it.\n"
		if err := os.WriteFile(filepath.Join(skill, skillFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := b.session()
		cfg.Skills = []string{skill}
		says(b.open(cfg), "t", "say x")
		for _, q := range b.model.Requests() {
			if strings.Contains(string(q.Body), "marzipan cake") {
				return
			}
		}
		t.Error("the model never heard of the skill")
	})
}

func TestRealToolsAreAllowedAndDisallowed(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		extra := t.TempDir()
		if err := os.WriteFile(filepath.Join(extra, "note.txt"), []byte("swordfish\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := b.session()
		cfg.AllowedTools, cfg.DisallowedTools = []string{"Bash(touch allowed)"}, []string{"Bash(ls:*)", "WebFetch"}
		cfg.AddDirs, cfg.ReasoningEffort = []string{extra}, "low"
		r := b.open(cfg)
		verdict, text := says(r, "t", "run touch allowed", "run ls", "call Read {\"file_path\":\""+filepath.Join(extra, "note.txt")+"\"}", "outputs")
		if verdict != core.VerdictCompleted || !strings.Contains(text, "swordfish") {
			t.Errorf("%s: %s", verdict, text)
		}
		if _, err := os.Stat(filepath.Join(b.work, "allowed")); err != nil {
			t.Error(err)
		}
		var statuses []core.ToolStatus
		for _, done := range conntest.Contents[core.ToolCompleted](r) {
			statuses = append(statuses, done.Status)
		}
		if len(statuses) != 3 || statuses[1] == core.ToolOK {
			t.Errorf("the tools ended %v", statuses)
		}
	})
}

func TestRealReadOnlyRemovesTheWritingTools(t *testing.T) {
	b := newBench(t)
	cfg := b.session()
	l, err := newLaunch(core.SessionConfig{SandboxMode: core.SandboxReadOnly}, func() string { return "id" })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(l.flags, "Write") || !slices.Contains(l.flags, "Edit") {
		t.Errorf("flags: %v", l.flags)
	}
	cfg.DisallowedTools = writers
	says(b.open(cfg), "t", "say x")
	for _, q := range b.model.Requests() {
		if strings.Contains(string(q.Body), `"name":"Write"`) {
			t.Error("the model has the Write tool")
		}
	}
}
