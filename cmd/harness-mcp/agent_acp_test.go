package main_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/providers"
)

// dear are agents that need minutes of a processor; make nightly drives them.
var dear = []string{"gemini", "opencode", "copilot", "qwen", "claude-acp"}

// acpAgents are the ACP agents that this run drives.
func acpAgents() map[string]func(*testing.T) agent {
	all := map[string]func(*testing.T) agent{"codex-acp": acpAgent("codex-acp")}
	if os.Getenv("HARNESS_MCP_NIGHTLY") == "1" {
		for _, name := range dear {
			all[name] = acpAgent(name)
		}
	}
	return all
}

// acpCommands are the agents' commands in their packages.
var acpCommands = map[string]string{"claude-acp": "claude-agent-acp"}

// acpAgent is a published ACP agent on the loopback model. HARNESS_MCP_TEST_ and
// its name in capitals is the variable that names its command; otherwise the one
// that the Makefile installs is taken.
func acpAgent(name string) func(*testing.T) agent {
	return func(t *testing.T) agent {
		t.Helper()
		command := acpCommands[name]
		if command == "" {
			command = name
		}
		variable := "HARNESS_MCP_TEST_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		exe := os.Getenv(variable)
		if exe == "" {
			exe = tool(t, name, "node_modules", ".bin", command)
		}
		if _, err := os.Stat(exe); err != nil {
			why := name + " is not installed: neither " + variable + " nor .tools/" + name + " names it"
			if os.Getenv(e2e.RequireEnv) == "1" {
				t.Fatal(why)
			}
			t.Skip(why)
		}
		home, err := os.MkdirTemp("", "harness-mcp-home-") // its path stays short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		env, err := providers.Loopbacks[name].Env(home, startModel(t).URL())
		if err != nil {
			t.Fatal(err)
		}
		env["PATH"] = toolPath(t)
		// Claude refuses a bare sleep.
		nap := filepath.Join(home, "nap")
		if err := os.WriteFile(nap, []byte("#!/bin/sh\nexec sleep \"$1\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		var free args
		if name != "codex-acp" { // the others ask before every command
			free = args{"approval_mode": "auto_approve"}
		}
		return agent{
			free: free, noDeny: name == "codex-acp" || name == "opencode", forgets: name == "gemini",
			provider: name, pathDir: filepath.Dir(exe), env: env,
			escalate: func(file string) string { return "escalate touch " + file },
			sleep:    func(seconds string) string { return "run " + nap + " " + seconds },
		}
	}
}

// tool returns a path below the folder in which the Makefile installs.
func tool(t *testing.T, elements ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".tools"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// toolPath is PATH behind a Node that is new enough, and the sandbox that comes
// with Codex, where the Makefile installed them.
func toolPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PATH")
	for _, glob := range []string{
		tool(t, "node", "node_modules", "node-*", "bin"),
		tool(t, "codex", "node_modules", "@openai", "codex-*", "vendor", "*", "codex-resources"),
	} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		path = strings.Join(append(found, path), string(os.PathListSeparator))
	}
	return path
}

func TestWhatACPCannotDoIsRefusedBeforeItIsSent(t *testing.T) {
	r := newScenario(t, acpAgent("codex-acp")(t))
	refused := func(tool string, a args, code string) {
		t.Helper()
		if g, _ := r.try(tool, a); g.Error.Code != code {
			t.Errorf("%s %v gave %q, want %s", tool, a, g.Error.Code, code)
		}
	}
	for code, extra := range map[string]args{
		"option_unsupported":     {"sandbox_mode": "read_only"},
		"capability_unsupported": {"output_schema": args{"type": "object"}},
	} {
		a := args{"provider": "codex-acp", "cwd": r.cwd, "env": r.agent.env}
		maps.Copy(a, extra)
		refused("start_session", a, code)
	}
	s := r.start(nil)
	turn := r.send(s, "slow 50\nstream 2000")
	r.until(turn, "message_delta")
	refused("steer", args{"session_id": s, "prompt": "say more"}, "capability_unsupported")
	r.must("interrupt", args{"session_id": s})
	r.await(turn)
	r.check(s)
	refused("start_session", args{"resume": s, "fork": true, "env": r.agent.env}, "capability_unsupported")
}
