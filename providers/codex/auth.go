package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
)

// Values of the option auth.
const (
	authInherit      = "inherit"
	authSubscription = "subscription"
)

// pinnedProvider is the only model provider of a session on a subscription.
const pinnedProvider = "openai"

// reroutes are the variables that send Codex to another model, or have it billed to
// something else than the sign-in. A session on a subscription has none.
var reroutes = []string{
	"CODEX_API_KEY", "CODEX_MODEL_PROVIDER", "CODEX_OLLAMA_BASE_URL", "CODEX_OSS_BASE_URL",
	"CODEX_OSS_PROVIDER", "CODEX_PROVIDER_BACKEND", "OPENAI_API_KEY", "OPENAI_BASE_URL",
	// Credentials and addresses that newer versions take, too.
	"CODEX_ACCESS_TOKEN", "CODEX_APP_SERVER_CHATGPT_BASE_URL", "CODEX_APP_SERVER_LOGIN_ISSUER",
	"CODEX_AUTHAPI_BASE_URL", "CODEX_OSS_PORT", "CODEX_REFRESH_TOKEN_URL_OVERRIDE", "OPENAI_FEDERATION_RULE_ID",
	"OPENAI_IDENTITY_TOKEN_FILE", "OPENAI_IDENTITY_TOKEN_SOURCE",
}

// notSubscribed refuses a session that another account might be billed for.
func notSubscribed(format string, args ...any) *core.Error {
	return core.Errorf(core.CodeProviderNotReady, "codex is not on a subscription alone: %s", fmt.Sprintf(format, args...)).
		WithHint("Sign in with `" + login + "` and take that out of Codex's configuration, or use auth inherit.")
}

// authOption reads the option auth.
func authOption(cfg core.SessionConfig) (subscription bool, err *core.Error) {
	raw, ok := cfg.ProviderOptions[optionAuth]
	if !ok {
		return false, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case authInherit:
			return false, nil
		case authSubscription:
			return true, nil
		}
	}
	return false, core.Errorf(core.CodeOption, "codex has no auth %s", raw).WithHint("Use %s or %s.", authInherit, authSubscription)
}

// checkGiven refuses arguments of a caller that contradict a subscription:
// keys, addresses, and configuration, whose effect is unknown.
func checkGiven(cfg core.SessionConfig) *core.Error {
	for _, name := range []string{optionConfig, optionModelProvider} {
		if _, ok := cfg.ProviderOptions[name]; ok {
			return core.Errorf(core.CodeOption, "provider option %s does not go with auth subscription", name).
				WithHint("Leave it out, or use auth inherit.")
		}
	}
	for name := range cfg.Env {
		if rerouting(name) {
			return core.Errorf(core.CodeOption, "env sets %s, which does not go with auth subscription", name).
				WithHint("Leave it out, or use auth inherit.")
		}
	}
	return nil
}

// rerouting reports whether a variable is one of reroutes; Windows has no case.
func rerouting(name string) bool { return slices.Contains(reroutes, strings.ToUpper(name)) }

// subscriptionEnv takes the variables that reroute out of an environment and
// pins Codex's home. The sign-in there must be a subscription's.
//
// Errors: CodeProviderNotReady.
func subscriptionEnv(env []string) ([]string, *core.Error) {
	vars := map[string]string{}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
		return rerouting(name) || name == "CODEX_HOME"
	})
	home, why := codexHome(func(name string) string { return vars[name] })
	if home == "" {
		return nil, notSubscribed("%s", why)
	}
	if err := checkSignIn(filepath.Join(home, authFile)); err != nil {
		return nil, err
	}
	return append(env, "CODEX_HOME="+home), nil
}

// authFile is where Codex keeps a sign-in, unless it uses a keyring.
const authFile = "auth.json"

// codexHome is Codex's own directory, or "" and why there is none.
func codexHome(getenv func(string) string) (home, why string) {
	if home := getenv("CODEX_HOME"); home != "" {
		return home, ""
	}
	if user := getenv("HOME"); user != "" {
		return filepath.Join(user, ".codex"), ""
	}
	return "", "neither CODEX_HOME nor HOME is set"
}

// checkSignIn reads the file of a sign-in. Only its kind is used.
func checkSignIn(path string) *core.Error {
	raw, err := readBounded(path, maxAuthFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notSubscribed("nobody is signed in, or in a keyring that cannot be looked at: there is no %s", path)
	case err != nil:
		return notSubscribed("%s cannot be read", path)
	}
	var f struct {
		Mode   *string         `json:"auth_mode"`
		Key    *string         `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	if json.Unmarshal(raw, &f) != nil {
		return notSubscribed("%s cannot be read", path)
	}
	var tokens map[string]json.RawMessage
	switch {
	case f.Key != nil:
		return notSubscribed("an API key is stored in %s", path)
	case f.Mode != nil && *f.Mode != "chatgpt":
		return notSubscribed("the sign-in in %s is of the kind %q", path, *f.Mode)
	case json.Unmarshal(f.Tokens, &tokens) != nil || len(tokens) == 0:
		return notSubscribed("%s has no sign-in by ChatGPT", path)
	}
	return nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errors.New("it is not a regular file, or too large")
	}
	return os.ReadFile(path)
}

// forbidden are the configuration keys that must not be set in any layer, be it
// the user's, the project's or the machine's. The values given are harmless.
var forbidden = map[string][]string{
	"model_provider":                     {pinnedProvider},
	"model_providers":                    nil,
	"openai_base_url":                    nil,
	"chatgpt_base_url":                   {"https://chatgpt.com/backend-api/"},
	"profile":                            nil,
	"profiles":                           nil,
	"oss_provider":                       nil,
	"experimental_bearer_token":          nil,
	"experimental_realtime_ws_base_url":  nil,
	"forced_login_method":                {"chatgpt"},
	"preferred_auth_method":              {"chatgpt"},
	"cli_auth_credentials_store":         {"file"},
	"model_catalog_json":                 nil,
	"bedrock":                            nil,
	"experimental_thread_store_endpoint": nil,
}

// checkLayers checks the configuration as Codex itself has read it. Whatever
// cannot be read is refused.
func checkLayers(r wire.ConfigReadResponse) *core.Error {
	if len(r.Layers) == 0 {
		return notSubscribed("it does not show its configuration")
	}
	for _, l := range r.Layers {
		if err := checkKeys(l.Config, "the configuration in "+layerName(l.Name)); err != nil {
			return err
		}
	}
	if err := checkKeys(r.Config, "the configuration as a whole"); err != nil {
		return err
	}
	// Unset, the sign-in that counts may be one that was not looked at.
	if store := r.Config["cli_auth_credentials_store"]; string(store) != `"file"` {
		return notSubscribed("it does not say that it keeps its sign-in in a file")
	}
	return nil
}

func checkKeys(config map[string]json.RawMessage, where string) *core.Error {
	for key, raw := range config {
		harmless, known := forbidden[key]
		if !known || vacant(raw) {
			continue
		}
		var word string
		if json.Unmarshal(raw, &word) != nil || !slices.Contains(harmless, word) {
			return notSubscribed("%s sets %s", where, key)
		}
	}
	return nil
}

// vacant reports whether a value is empty.
func vacant(raw json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(raw)), "") {
	case "", "null", "{}", "[]":
		return true
	}
	return false
}

func layerName(n wire.ConfigLayerSource) string {
	for _, name := range []string{n.File, n.DotCodexFolder, n.Name} {
		if name != "" {
			return name
		}
	}
	return "the layer " + n.Type
}

// checkRequirements checks what an administrator demands.
func checkRequirements(r wire.RequirementsResponse) *core.Error {
	for key, name := range map[string]string{"modelProvider": "model_provider", "modelProviders": "model_providers",
		"chatgptBaseUrl": "chatgpt_base_url", "cliAuthCredentialsStore": "cli_auth_credentials_store"} {
		if raw, ok := r.Requirements[key]; ok {
			if err := checkKeys(map[string]json.RawMessage{name: raw}, "an administrator's configuration"); err != nil {
				return err
			}
		}
	}
	if raw := r.Requirements["allowedLoginMethods"]; len(raw) > 0 && string(raw) != "null" {
		var methods []string
		if json.Unmarshal(raw, &methods) != nil || !slices.Contains(methods, "chatgpt") {
			return notSubscribed("an administrator forces another sign-in")
		}
	}
	return nil
}
