package codex

import (
	"fmt"
	"os"
	"path/filepath"
)

// loopbackConfig points Codex at one model on this machine and keeps it from
// every other host: without plugins it asks nobody else.
const loopbackConfig = `model = "loopback-model"
model_provider = "loopback"
check_for_update_on_startup = false
suppress_unstable_features_warning = true

[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
env_key = "HARNESS_MCP_LOOPBACK_KEY"
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

// Loopback makes a Codex home below root whose only model is the loopback
// model server at url, and gives the environment that makes a session use it:
// no account, no cost, no other host. The user's own home is not touched.
func Loopback(root, url string) (env map[string]string, err error) {
	// Codex refuses a home below its TMPDIR.
	home, tmp := filepath.Join(root, "codex"), filepath.Join(root, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making a Codex home: %w", err)
		}
	}
	config := fmt.Appendf(nil, loopbackConfig, url)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), config, 0o600); err != nil {
		return nil, fmt.Errorf("writing a Codex configuration: %w", err)
	}
	return map[string]string{
		"CODEX_HOME": home, "TMPDIR": tmp, "HOME": root, "HARNESS_MCP_LOOPBACK_KEY": "loopback",
	}, nil
}
