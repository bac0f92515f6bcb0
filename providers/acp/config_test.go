package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

func createIn(dir string) wire.CreateParams { return wire.CreateParams{Command: "true", CWD: dir} }

func named(list []Agent, name string) (Agent, bool) {
	for _, a := range list {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

func TestAConfigurationFileAddsAndChangesAgents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "providers.json")
	body := `{"providers": {
		"kimi": {"title": "Kimi", "command": ["kimi", "acp"], "auth_env": ["KIMI_MODEL_API_KEY"], "modes": {"default": "ask"},
			"can": {"resume": "native"}, "quirks": {"reject_ends_turn": true, "asides": [{"prefix": "Oops", "means": "error"}]}},
		"codex-acp": {"command": ["/opt/codex-acp"]}}}`
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ReadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(Agents())+1 {
		t.Errorf("%d agents", len(list))
	}
	kimi, _ := named(list, "kimi")
	if kimi.Title != "Kimi" || kimi.Command[1] != "acp" || !kimi.Quirks.RejectEnds || kimi.Can.Resume != core.Native {
		t.Errorf("kimi is %+v", kimi)
	}
	codex, _ := named(list, "codex-acp")
	if codex.Command[0] != "/opt/codex-acp" || codex.Native != "" || !codex.Quirks.RejectEnds {
		t.Errorf("codex-acp is %+v", codex)
	}
}

func TestABadConfigurationFileReportsWhatIsWrong(t *testing.T) {
	for body, want := range map[string]string{
		`{`:                                      "EOF",
		`{"providers": {}} x`:                    "data after",
		`{"agents": {}}`:                         "agents",
		`{"providers": {"x":{}}}`:                "no command",
		`{"providers": {"X":{"command":["x"]}}}`: "lower-case",
		`{"providers": {"x":{"command":["x"],"colour":"red"}}}`:                       "colour",
		`{"providers": {"x":{"command":["x"],"modes":{"yolo":"y"}}}}`:                 "yolo",
		`{"providers": {"x":{"command":["x"],"can":{"fork":"yes"}}}}`:                 "yes",
		`{"providers": {"x":{"command":["x"],"quirks":{"asides":[{"prefix":"x"}]}}}}`: "aside",
	} {
		if _, err := parseConfig([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	if _, err := ReadConfig(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestEveryKnownAgentIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Agents() {
		if err := a.check(); err != nil || seen[a.Name] || a.Title == "" || a.Install == "" {
			t.Errorf("%s: %v", a.Name, err)
		}
		seen[a.Name] = true
		p := New(a, Options{Runner: process.NewLocal(process.Options{})})
		for _, c := range providertest.Checks() {
			if c.Name == "the spec is whole" {
				if err := c.Func(&providertest.Env{Config: providertest.Config{Provider: p}}); err != nil {
					t.Errorf("%s: %v", a.Name, err)
				}
			}
		}
		if Loopback(a.Name) == nil {
			t.Errorf("%s has no loopback", a.Name)
		}
	}
}

func TestStatusReportsWhyAnAgentIsNotReady(t *testing.T) {
	dir := t.TempDir()
	pkg := filepath.Join(dir, "node_modules", "agent")
	if err := os.MkdirAll(filepath.Join(pkg, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(pkg, "package.json"), `{"version":"3.2.1","engines":{"node":">=22.1"}}`, 0o600)
	write(filepath.Join(pkg, "bin", "agent.js"), "#!/usr/bin/env node\n", 0o700)
	write(filepath.Join(dir, "node"), "#!/bin/sh\necho v20.1.0\n", 0o700)
	status := func(a Agent) core.Status {
		return New(a, Options{Runner: process.NewLocal(process.Options{})}).Status(t.Context())
	}
	script := filepath.Join(pkg, "bin", "agent.js")
	old := status(Agent{Name: "a", Command: []string{script}, Env: map[string]string{"PATH": dir}})
	if old.Ready || !strings.Contains(old.Reason, "22") || !strings.Contains(old.Reason, "v20.1.0") || old.Version != "3.2.1" {
		t.Errorf("an old Node: %+v", old)
	}
	write(filepath.Join(dir, "node"), "#!/bin/sh\necho v22.1.0\n", 0o700)
	if s := status(Agent{Name: "a", Command: []string{script}, Env: map[string]string{"PATH": dir}}); !s.Ready {
		t.Errorf("a new Node: %+v", s)
	}
	if s := status(Agent{Name: "a", Command: []string{script}, Env: map[string]string{"PATH": "/nowhere"}}); s.Ready || !strings.Contains(s.Reason, "no node") {
		t.Errorf("no Node: %+v", s)
	}
	gone := status(Agent{Name: "a", Command: []string{"no-such-agent-at-all"}, Install: "get it", AuthEnv: []string{"NO_SUCH_KEY_AT_ALL"}})
	if gone.Ready || !strings.Contains(gone.Reason, "get it") || gone.Authenticated != "unknown" || len(gone.Searched) == 0 {
		t.Errorf("not installed: %+v", gone)
	}
}
