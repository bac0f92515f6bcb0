package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/providers/pi"
)

// piAgent is the newest published Pi on the loopback model.
func piAgent(t *testing.T) agent { return piAt(t, "HARNESS_MCP_TEST_PI") }

// oldPiAgent is a release that does not say when a turn has settled.
func oldPiAgent(t *testing.T) agent { return piAt(t, "HARNESS_MCP_TEST_PI_OLD") }

func piAt(t *testing.T, variable string) agent {
	t.Helper()
	exe := os.Getenv(variable)
	if _, err := os.Stat(exe); err != nil {
		why := "Pi is not installed: " + variable + " does not name it (make tools installs it)"
		if os.Getenv(e2e.RequireEnv) == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	model := startModel(t)
	env, err := pi.Loopback(t.TempDir(), model.URL())
	if err != nil {
		t.Fatal(err)
	}
	return agent{
		provider: pi.Name, pathDir: filepath.Dir(exe), env: env, model: model,
		escalate: func(file string) string { return pi.Call("touch " + file) },
		sleep:    func(seconds string) string { return pi.Call("sleep " + seconds) },
		free:     args{"approval_mode": "auto_approve"},
	}
}

func TestPiRefusesWhatItCannotDo(t *testing.T) {
	r := newScenario(t, piAgent(t))
	for _, c := range []struct {
		code string
		ask  args
	}{
		{"capability_unsupported", args{"mcp_servers": args{"x": args{"command": "true"}}}},
		{"capability_unsupported", args{"output_schema": args{"type": "object"}}},
		{"option_unsupported", args{"sandbox_mode": "read_only"}},
		{"option_unsupported", args{"sandbox_mode": "workspace_write"}},
		{"option_unsupported", args{"reasoning_effort": "silly"}},
		{"option_unsupported", args{"provider_options": args{"no_such": true}}},
	} {
		a := args{"provider": r.agent.provider, "cwd": r.cwd, "env": r.agent.env}
		for k, v := range c.ask {
			a[k] = v
		}
		if g, res := r.try("start_session", a); !res.IsError || g.Error.Code != c.code || g.Error.Hint == "" {
			t.Errorf("%v: %s", c.ask, res.Text)
		}
	}
}

func TestPiChangesItsModeInALiveSession(t *testing.T) {
	r := newScenario(t, piAgent(t))
	s := r.start(nil)
	file := filepath.Join(r.cwd, "made.txt")
	r.must("configure", args{"session_id": s, "approval_mode": "auto_approve", "model": "loopback/loopback-plain"})
	if g := r.await(r.send(s, r.agent.escalate(file)+"\nsay over")); g.Outcome != "done" || g.Results[0].Status != "completed" {
		t.Errorf("unasked: %s, %+v", g.Outcome, g.Results)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	r.must("configure", args{"session_id": s, "approval_mode": "prompt"})
	turn := r.send(s, r.agent.escalate(file+"2")+"\nsay over")
	if g := r.await(turn); g.Outcome != "request_pending" {
		t.Errorf("asked again: %s, %+v", g.Outcome, g.Results)
	}
	r.must("interrupt", args{"session_id": s})
	if g := r.await(turn); g.Results[0].Status != "cancelled" {
		t.Errorf("interrupted with an approval pending: %s", g.Results[0].Status)
	}
	r.check(s)
}

func TestPiTakesCommandsOfAPromptForText(t *testing.T) {
	r := newScenario(t, piAgent(t))
	s := r.start(nil)
	if g := r.await(r.send(s, "/llama")); !strings.Contains(g.Results[0].Text, "/llama") {
		t.Errorf("/llama gave %q", g.Results[0].Text)
	}
	r.check(s)
}
