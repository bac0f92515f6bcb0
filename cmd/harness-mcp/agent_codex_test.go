package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
)

const codexConfig = `
model = "loopback-model"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
env_key = "DUMMY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
unbounded_connection_retries = false
`

// codexAgent is the newest published Codex CLI on the loopback model.
func codexAgent(t *testing.T) agent { return codexAt(t, "HARNESS_MCP_TEST_CODEX") }

// oldCodexAgent is the oldest one that the adapter is held to.
func oldCodexAgent(t *testing.T) agent { return codexAt(t, "HARNESS_MCP_TEST_CODEX_OLD") }

func codexAt(t *testing.T, variable string) agent {
	t.Helper()
	exe := os.Getenv(variable)
	if _, err := os.Stat(exe); err != nil {
		why := "the Codex CLI is not installed: " + variable + " does not name it (make tools installs it)"
		if os.Getenv(e2e.RequireEnv) == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	model := startModel(t)
	return agent{
		provider: "codex", pathDir: filepath.Dir(exe), model: model,
		env: map[string]string{"CODEX_HOME": codexHome(t, model.URL()), "DUMMY": "dummy-key"},
		escalate: func(file string) string {
			return "escalate touch " + file
		},
		sleep: func(seconds string) string { return "run sleep " + seconds },
	}
}

// codexHome makes a CODEX_HOME whose only model is on the loopback. Codex
// wants it outside of its TMPDIR.
func codexHome(t *testing.T, url string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, codexConfig, url), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func startModel(t *testing.T) *modelserver.Server {
	t.Helper()
	m, err := modelserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}
