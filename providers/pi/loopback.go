package pi

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Loopback prepares a home for Pi in dir, an existing directory of its own,
// whose model is a server that speaks Anthropic's Messages API at modelURL,
// such as "http://127.0.0.1:40123". It gives the variables that a session needs
// in its Env to use it; the user's own home, account and configuration are not
// touched. A session with EnvReplace needs PATH beside them.
func Loopback(dir, modelURL string) (map[string]string, error) {
	env := map[string]string{"PI_OFFLINE": "1"}
	for name, sub := range map[string]string{"HOME": "home", "PI_CODING_AGENT_DIR": "pi", "TMPDIR": "tmp"} {
		env[name] = filepath.Join(dir, sub)
		if err := os.MkdirAll(env[name], 0o700); err != nil {
			return nil, fmt.Errorf("pi: prepare a home: %w", err)
		}
	}
	type object = map[string]any
	free := object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
	model := func(id string, reasoning bool) object {
		return object{"id": id, "name": id, "reasoning": reasoning, "input": []string{"text", "image"},
			"contextWindow": 200_000, "maxTokens": 16_000, "cost": free}
	}
	files := map[string]any{
		"models.json": object{"providers": object{"loopback": object{
			"baseUrl": modelURL, "api": "anthropic-messages",
			"apiKey": "unused", // too short to be taken for a secret
			"models": []object{model("loopback-model", true), model("loopback-plain", false)},
		}}},
		"settings.json": object{"defaultProvider": "loopback", "defaultModel": "loopback-model",
			"retry": object{"enabled": true, "maxRetries": 1, "baseDelayMs": 50}},
	}
	for name, content := range files {
		text, err := json.MarshalIndent(content, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(env["PI_CODING_AGENT_DIR"], name), text, 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("pi: prepare a home: %w", err)
		}
	}
	return env, nil
}

// Call is what the loopback model is told so that Pi runs a command, for which
// the approval gate asks.
func Call(command string) string {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil { // a map of strings always encodes
		return ""
	}
	return "call bash " + string(args)
}
