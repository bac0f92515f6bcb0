package codex

import (
	"fmt"

	"github.com/harness-mcp/harness-mcp/providers/internal/loopback"
)

// loopbackConfig makes Codex speak to a model server on this machine and to
// nobody else: plugins and apps are what it would fetch from the network, and
// with an unknown model's name it offers its plain tools.
const loopbackConfig = `model = "loopback-model"
model_provider = "loopback"
check_for_update_on_startup = false

[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
env_key = "%s"
request_max_retries = 0
stream_max_retries = %d
stream_idle_timeout_ms = 300000
supports_websockets = false

[analytics]
enabled = false

[features]
plugins = false
apps = false
unbounded_connection_retries = false
`

// loopbackKey names the variable that holds the key of the loopback model,
// which accepts any value.
const loopbackKey = "HARNESS_MCP_LOOPBACK_KEY"

// loopbackValue is too short to be taken for a secret, which would be blotted
// out wherever the word appears.
const loopbackValue = "unused"

// Loopback prepares a home for Codex in dir, an existing directory of its own,
// whose model is a server that speaks the OpenAI Responses API at modelURL, such
// as "http://127.0.0.1:40123". It returns the variables that a session needs in
// its Env to use it; the user's own home, account and configuration are not
// touched. A session with EnvReplace needs PATH beside them.
func Loopback(dir, modelURL string) (map[string]string, error) {
	return loopbackHome(dir, modelURL, 0)
}

func loopbackHome(dir, modelURL string, retries int) (map[string]string, error) {
	// Codex wants its home outside of the directory for temporary files.
	h := loopback.New("codex", dir, map[string]string{"HOME": "home", "CODEX_HOME": "codex", "TMPDIR": "tmp"})
	h.Set(map[string]string{loopbackKey: loopbackValue})
	h.Write("CODEX_HOME", "config.toml", fmt.Sprintf(loopbackConfig, modelURL, loopbackKey, retries))
	return h.Env()
}
