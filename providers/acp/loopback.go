package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// loopbackKey is the key of the loopback model, which takes any.
const loopbackKey = "loopback"

// Loopback gives the function that prepares a home for a known agent in a
// directory of its own: its model is a server on this machine at modelURL, and
// nothing else. The function gives the variables that a session needs in its
// Env; the user's own home, account and configuration are not touched. Nil for
// an agent of which that is not known.
func Loopback(name string) func(dir, modelURL string) (map[string]string, error) {
	prepare, ok := homes[name]
	if !ok {
		return nil
	}
	return func(dir, modelURL string) (map[string]string, error) {
		h := home{dir: dir, url: modelURL, env: map[string]string{}}
		for variable, sub := range map[string]string{"HOME": "home", "TMPDIR": "tmp"} {
			h.env[variable] = filepath.Join(dir, sub)
			if err := os.MkdirAll(h.env[variable], 0o700); err != nil {
				return nil, fmt.Errorf("acp: prepare a home: %w", err)
			}
		}
		if err := prepare(h); err != nil {
			return nil, fmt.Errorf("acp: prepare a home for %s: %w", name, err)
		}
		return h.env, nil
	}
}

// home is a home that is being prepared.
type home struct {
	dir, url string
	env      map[string]string
}

// set adds variables.
func (h home) set(env map[string]string) { maps.Copy(h.env, env) }

// write makes a file below the home.
func (h home) write(path string, content any) error {
	text, ok := content.(string)
	if !ok {
		raw, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return err
		}
		text = string(raw)
	}
	full := filepath.Join(h.env["HOME"], filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.WriteFile(full, []byte(text), 0o600)
}

type object = map[string]any

// homes prepares the home of each agent.
var homes = map[string]func(home) error{
	"codex-acp": func(h home) error {
		h.set(map[string]string{"CODEX_HOME": filepath.Join(h.env["HOME"], ".codex"), "HARNESS_MCP_LOOPBACK_KEY": loopbackKey})
		return h.write(".codex/config.toml", strings.ReplaceAll(codexConfig, "URL", h.url))
	},
	"gemini": func(h home) error {
		h.set(map[string]string{"GEMINI_API_KEY": loopbackKey, "GOOGLE_GEMINI_BASE_URL": h.url, "GEMINI_CLI_NO_RELAUNCH": "true"})
		return h.write(".gemini/settings.json", object{
			"security": object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
			"privacy":  object{"usageStatisticsEnabled": false},
			"general":  object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
			"model":    object{"name": "gemini-2.5-flash"},
		})
	},
	"qwen": func(h home) error {
		h.set(map[string]string{"OPENAI_API_KEY": loopbackKey, "OPENAI_BASE_URL": h.url + "/v1", "OPENAI_MODEL": "loopback-model"})
		return h.write(".qwen/settings.json", object{
			"security": object{"auth": object{"selectedType": "openai"}},
			"privacy":  object{"usageStatisticsEnabled": false}, "general": object{"enableAutoUpdate": false, "disableAutoUpdate": true},
		})
	},
	"copilot": func(h home) error {
		h.set(map[string]string{"COPILOT_PROVIDER_BASE_URL": h.url + "/v1", "COPILOT_PROVIDER_API_KEY": loopbackKey,
			"COPILOT_MODEL": "loopback-model", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"})
		return nil
	},
	"claude-acp": func(h home) error {
		h.set(map[string]string{"ANTHROPIC_API_KEY": loopbackKey, "ANTHROPIC_BASE_URL": h.url,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"})
		return nil
	},
	"opencode": func(h home) error {
		h.set(map[string]string{"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"})
		model := func(name string) object {
			return object{"name": name, "tool_call": true, "reasoning": true, "limit": object{"context": 1_000_000, "output": 8000}}
		}
		return h.write(".config/opencode/opencode.json", object{
			"autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false,
			"model": "loopback/model", "small_model": "loopback/model", "enabled_providers": []string{"loopback"},
			"provider": object{"loopback": object{
				"npm": "@ai-sdk/openai-compatible", "name": "Loopback",
				"options": object{"baseURL": h.url + "/v1", "apiKey": loopbackKey},
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
