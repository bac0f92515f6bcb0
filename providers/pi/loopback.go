package pi

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/providers/internal/loopback"
)

// Loopback prepares a home for Pi in dir, an existing directory of its own,
// whose model is a server that speaks Anthropic's Messages API at modelURL,
// such as "http://127.0.0.1:40123". It returns the variables that a session needs
// in its Env to use it; the user's own home, account and configuration are not
// touched. A session with EnvReplace needs PATH beside them.
func Loopback(dir, modelURL string) (map[string]string, error) {
	h := loopback.New("pi", dir, map[string]string{"HOME": "home", "PI_CODING_AGENT_DIR": "pi", "TMPDIR": "tmp"})
	h.Set(map[string]string{"PI_OFFLINE": "1"})
	type object = map[string]any
	free := object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
	model := func(id string, reasoning bool) object {
		return object{"id": id, "name": id, "reasoning": reasoning, "input": []string{"text", "image"},
			"contextWindow": 200_000, "maxTokens": 16_000, "cost": free}
	}
	h.Write("PI_CODING_AGENT_DIR", "models.json", object{"providers": object{"loopback": object{
		"baseUrl": modelURL, "api": "anthropic-messages",
		"apiKey": "unused", // too short to be taken for a secret
		"models": []object{model("loopback-model", true), model("loopback-plain", false)},
	}}})
	h.Write("PI_CODING_AGENT_DIR", "settings.json", object{"defaultProvider": "loopback", "defaultModel": "loopback-model",
		"retry": object{"enabled": true, "maxRetries": 1, "baseDelayMs": 50}})
	return h.Env()
}

// Call returns the prompt by which the loopback model makes Pi run a command, for
// which the approval gate asks.
func Call(command string) string {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil { // a map of strings always encodes
		return ""
	}
	return "call bash " + string(args)
}
