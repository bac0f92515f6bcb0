package acp

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/providers/internal/loopback"
)

// loopbackKey is the key of the loopback model, which accepts any.
const loopbackKey = "loopback"

// Loopback returns the function that prepares a home for a known agent in a
// directory of its own: its model is a server on this machine at modelURL, and
// nothing else. The function returns the variables that a session needs in its
// Env; the user's own home, account and configuration are not touched. Nil for
// an agent of which that is not known.
func Loopback(name string) func(dir, modelURL string) (map[string]string, error) {
	prepare, ok := homes[name]
	if !ok {
		return nil
	}
	return func(dir, modelURL string) (map[string]string, error) {
		h := loopback.New(name, dir, map[string]string{"HOME": "home", "TMPDIR": "tmp"})
		prepare(h, modelURL)
		return h.Env()
	}
}

type object = map[string]any

// homes prepares the home of each agent.
var homes = map[string]func(h *loopback.Home, url string){
	"codex-acp": func(h *loopback.Home, url string) {
		h.Set(map[string]string{"CODEX_HOME": h.Path("HOME", ".codex"), "HARNESS_MCP_LOOPBACK_KEY": loopbackKey})
		h.Write("HOME", ".codex/config.toml", strings.ReplaceAll(codexConfig, "URL", url))
	},
	"gemini": func(h *loopback.Home, url string) {
		h.Set(map[string]string{"GEMINI_API_KEY": loopbackKey, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true"})
		h.Write("HOME", ".gemini/settings.json", object{
			"security": object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
			"privacy":  object{"usageStatisticsEnabled": false},
			"general":  object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
			"model":    object{"name": "gemini-2.5-flash"},
		})
	},
	"qwen": func(h *loopback.Home, url string) {
		h.Set(map[string]string{"OPENAI_API_KEY": loopbackKey, "OPENAI_BASE_URL": url + "/v1", "OPENAI_MODEL": "loopback-model"})
		h.Write("HOME", ".qwen/settings.json", object{
			"security": object{"auth": object{"selectedType": "openai"}},
			"privacy":  object{"usageStatisticsEnabled": false}, "general": object{"enableAutoUpdate": false, "disableAutoUpdate": true},
		})
	},
	"copilot": func(h *loopback.Home, url string) {
		h.Set(map[string]string{"COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_API_KEY": loopbackKey,
			"COPILOT_MODEL": "loopback-model", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"})
	},
	"claude-acp": func(h *loopback.Home, url string) {
		h.Set(map[string]string{"ANTHROPIC_API_KEY": loopbackKey, "ANTHROPIC_BASE_URL": url,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"})
	},
	"opencode": func(h *loopback.Home, url string) {
		h.Set(map[string]string{"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"})
		model := func(name string) object {
			return object{"name": name, "tool_call": true, "reasoning": true, "limit": object{"context": 1_000_000, "output": 8000}}
		}
		h.Write("HOME", ".config/opencode/opencode.json", object{
			"autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false,
			"model": "loopback/model", "small_model": "loopback/model", "enabled_providers": []string{"loopback"},
			"provider": object{"loopback": object{
				"npm": "@ai-sdk/openai-compatible", "name": "Loopback",
				"options": object{"baseURL": url + "/v1", "apiKey": loopbackKey},
				"models":  object{"model": model("Loopback"), "other": model("Other")},
			}},
		})
	},
}

// codexConfig makes Codex speak to URL and to nobody else.
const codexConfig = `model = "loopback-model"
model_provider = "loopback"
check_for_update_on_startup = false

[model_providers.loopback]
name = "loopback"
base_url = "URL/v1"
wire_api = "responses"
env_key = "HARNESS_MCP_LOOPBACK_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
`
