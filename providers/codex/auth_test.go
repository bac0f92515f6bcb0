package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// signedIn makes a home of Codex with an invented sign-in by ChatGPT, and
// returns a session on a subscription there.
func signedIn(t *testing.T) core.SessionConfig {
	t.Helper()
	home := t.TempDir()
	put(t, filepath.Join(home, authFile), chatGPT)
	return core.SessionConfig{CWD: "/w", EnvMode: core.EnvReplace, Env: map[string]string{"CODEX_HOME": home},
		ProviderOptions: map[string]json.RawMessage{optionAuth: []byte(`"subscription"`)}}
}

// chatGPT is the file of a sign-in. The tokens are empty and are not
// signed.
const chatGPT = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"last_refresh":"2026-01-01T00:00:00Z","tokens":{` +
	`"id_token":"eyJhbGciOiJub25lIn0.eyJlbWFpbCI6ImFAZXhhbXBsZS5jb20iLCJleHAiOjQwMDAwMDAwMDB9.eA",` +
	`"access_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjQwMDAwMDAwMDB9.eA","refresh_token":"none","account_id":"nobody"}}`

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSubscriptionRefusesWhatGoesAgainstIt(t *testing.T) {
	for name, change := range map[string]func(*core.SessionConfig){
		"a key":           func(c *core.SessionConfig) { c.Env["OPENAI_API_KEY"] = "k" },
		"another address": func(c *core.SessionConfig) { c.Env["openai_base_url"] = "http://127.0.0.1" },
		"a provider":      func(c *core.SessionConfig) { c.ProviderOptions[optionModelProvider] = []byte(`"x"`) },
		"configuration":   func(c *core.SessionConfig) { c.ProviderOptions[optionConfig] = []byte(`{}`) },
		"another word":    func(c *core.SessionConfig) { c.ProviderOptions[optionAuth] = []byte(`"free"`) },
		"no word":         func(c *core.SessionConfig) { c.ProviderOptions[optionAuth] = []byte(`3`) },
	} {
		cfg := signedIn(t)
		change(&cfg)
		if _, err := newOpening(cfg); err == nil || err.Code != core.CodeOption {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cfg := range []core.SessionConfig{{}, {ProviderOptions: map[string]json.RawMessage{optionAuth: []byte(`"inherit"`), optionModelProvider: []byte(`"x"`)}}} {
		if o, err := newOpening(cfg); err != nil || o.subscription {
			t.Errorf("inherit: %+v, %v", o, err)
		}
	}
}

func TestSubscriptionTakesOutEveryVariableThatReroutes(t *testing.T) {
	cfg := signedIn(t)
	env := []string{"PATH=/bin", "CODEX_HOME=" + cfg.Env["CODEX_HOME"]}
	for _, name := range reroutes {
		env = append(env, name+"=x")
	}
	got, err := subscriptionEnv(env)
	if err != nil || strings.Join(got, " ") != "PATH=/bin CODEX_HOME="+cfg.Env["CODEX_HOME"] {
		t.Errorf("left %v, %v", got, err)
	}
	user := t.TempDir()
	put(t, filepath.Join(user, ".codex", authFile), chatGPT)
	if got, err := subscriptionEnv([]string{"HOME=" + user}); err != nil || !slices.Contains(got, "CODEX_HOME="+filepath.Join(user, ".codex")) {
		t.Errorf("the home is not pinned: %v, %v", got, err)
	}
	if _, err := subscriptionEnv(nil); err == nil {
		t.Error("a sign-in was found nowhere")
	}
	for _, name := range []string{"CODEX_API_KEY", "CODEX_MODEL_PROVIDER", "CODEX_OLLAMA_BASE_URL", "CODEX_OSS_BASE_URL",
		"CODEX_OSS_PROVIDER", "CODEX_PROVIDER_BACKEND", "OPENAI_API_KEY", "OPENAI_BASE_URL"} {
		if !rerouting(name) {
			t.Errorf("%s stays", name)
		}
	}
}

func TestSubscriptionTakesOnlyASignInByChatGPT(t *testing.T) {
	path := filepath.Join(t.TempDir(), authFile)
	if err := checkSignIn(path); err == nil {
		t.Error("nobody is signed in")
	}
	for text, ok := range map[string]bool{
		chatGPT:                           true,
		`{"tokens":{"access_token":"x"}}`: true, // of an older version
		`{"OPENAI_API_KEY":"dummy"}`:      false,
		`{"auth_mode":"apikey"}`:          false,
		`{"auth_mode":"bedrock_api_key","tokens":{"access_token":"x"}}`:            false,
		`{"OPENAI_API_KEY":"dummy","tokens":{"access_token":"x"}}`:                 false,
		`{"OPENAI_API_KEY":"","auth_mode":"chatgpt","tokens":{"access_token":""}}`: false,
		`{}`:                               false,
		`{"tokens":null}`:                  false,
		`{"tokens":{}}`:                    false,
		`[]`:                               false,
		``:                                 false,
		strings.Repeat(" ", maxAuthFile+1): false,
	} {
		put(t, path, text)
		err := checkSignIn(path)
		if ok != (err == nil) {
			t.Errorf("%.60s: %v", text, err)
		}
		if err != nil && (err.Code != core.CodeProviderNotReady || strings.Contains(err.Message, "dummy")) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// opensOn plays an app-server that shows a configuration and demands.
func opensOn(t *testing.T, config, demands, thread string) (err error) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go func() {
			f.reply(f.expect("initialize"), `{"userAgent":"harness-mcp/9.9.9 (test)"}`)
			f.expect("initialized")
			f.reply(f.expect("config/read"), config)
			if demands == "" {
				return
			}
			f.reply(f.expect("configRequirements/read"), demands)
			if thread == "" {
				return
			}
			m := f.expect("thread/start")
			if !strings.Contains(string(m.Params), `"modelProvider":"openai"`) {
				t.Errorf("the thread is not pinned: %s", m.Params)
			}
			f.reply(m, `{"thread":{"id":"thread"},"modelProvider":"`+thread+`"}`)
		}()
		conn, failed := fakeProvider(t, f).Open(t.Context(), signedIn(t))
		if failed == nil {
			_ = conn.Close(t.Context())
		}
		err = failed
	})
	return err
}

func TestSubscriptionRefusesEveryLayerThatLeadsElsewhere(t *testing.T) {
	const whole, none = `"config":{"model_provider":null,"model_providers":{},"chatgpt_base_url":"https://chatgpt.com/backend-api/","cli_auth_credentials_store":"file"}`, `{"requirements":null}`
	layers := func(config string) string {
		return `{` + whole + `,"layers":[{"name":{"type":"user","file":"/home/x/.codex/config.toml"},"config":{"model":"m"}},` +
			`{"name":{"type":"project","dotCodexFolder":"/w/.codex"},"disabledReason":"not trusted","config":` + config + `}]}`
	}
	if err := opensOn(t, layers(`{"model_provider":"openai","forced_login_method":"chatgpt","profiles":{}}`), none, "openai"); err != nil {
		t.Error(err)
	}
	for name, config := range map[string]string{
		"another provider":   `{"model_provider":"mine"}`,
		"a provider of ours": `{"model_providers":{"mine":{"base_url":"http://127.0.0.1"}}}`,
		"another address":    `{"openai_base_url":"http://127.0.0.1"}`,
		"another ChatGPT":    `{"chatgpt_base_url":"http://127.0.0.1"}`,
		"a profile":          `{"profile":"work"}`,
		"profiles":           `{"profiles":{"work":{"model_provider":"mine"}}}`,
		"a forced API login": `{"forced_login_method":"api"}`,
		"a preferred one":    `{"preferred_auth_method":"apikey"}`,
		"a keyring":          `{"cli_auth_credentials_store":"keyring"}`,
		"perhaps a keyring":  `{"cli_auth_credentials_store":"auto"}`,
		"a word for a word":  `{"model_provider":{"name":"openai"}}`,
	} {
		err := opensOn(t, layers(config), "", "")
		if core.CodeOf(err) != core.CodeProviderNotReady || !strings.Contains(err.Error(), "/w/.codex") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, config := range map[string]string{
		"nothing":         `{}`,
		"no layers":       `{` + whole + `,"layers":null}`,
		"no file":         `{"config":{},"layers":[{"name":{"type":"user"},"config":{}}]}`,
		"an unseen layer": `{"config":{"cli_auth_credentials_store":"file","openai_base_url":"http://127.0.0.1"},"layers":[{"name":{"type":"user"},"config":{}}]}`,
		"no object":       `[]`,
	} {
		if err := opensOn(t, config, "", ""); core.CodeOf(err) != core.CodeProviderNotReady {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, demands := range []string{`{"requirements":{"modelProvider":"mine"}}`, `{"requirements":{"chatgptBaseUrl":"http://127.0.0.1"}}`,
		`{"requirements":{"allowedLoginMethods":["api"]}}`, `{"requirements":{"cliAuthCredentialsStore":"keyring"}}`, `[]`} {
		if err := opensOn(t, layers(`{}`), demands, ""); core.CodeOf(err) != core.CodeProviderNotReady {
			t.Errorf("%s: %v", demands, err)
		}
	}
	if err := opensOn(t, layers(`{}`), none, "mine"); core.CodeOf(err) != core.CodeProviderNotReady {
		t.Errorf("a conversation with another provider: %v", err)
	}
}

// onSubscription returns a session of a real Codex whose files show that somebody
// is signed in, and which can reach nothing.
func (b *bench) onSubscription() core.SessionConfig {
	b.t.Helper()
	cfg := b.session()
	home := cfg.Env["CODEX_HOME"]
	put(b.t, filepath.Join(home, "config.toml"), "check_for_update_on_startup = false\n[features]\nplugins = false\napps = false\n[analytics]\nenabled = false\n")
	put(b.t, filepath.Join(home, authFile), chatGPT)
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		cfg.Env[name] = "http://127.0.0.1:9" // where no server listens
	}
	cfg.ProviderOptions = map[string]json.RawMessage{optionAuth: []byte(`"subscription"`)}
	return cfg
}

func TestRealSubscription(t *testing.T) { onCodex(t, 0, realSubscription) }

func realSubscription(t *testing.T, b *bench) {
	r := b.open(b.onSubscription())
	if r.Conn.Ready().ProviderSessionID == "" {
		t.Errorf("%+v", r.Conn.Ready())
	}
	r.Close()
	for name, file := range map[string][2]string{
		"an API key":       {"codex/auth.json", `{"OPENAI_API_KEY":"dummy"}`},
		"another provider": {"codex/config.toml", "model_provider = \"p\"\n[model_providers.p]\nname = \"p\"\nbase_url = \"http://127.0.0.1:9\"\n"},
		"another address":  {"codex/config.toml", "openai_base_url = \"http://127.0.0.1:9\"\n"},
		"a forced login":   {"codex/config.toml", "forced_login_method = \"api\"\n"},
		"a keyring":        {"codex/config.toml", "cli_auth_credentials_store = \"auto\"\n"},
	} {
		cfg := b.onSubscription()
		path := filepath.Join(b.root, filepath.FromSlash(file[0]))
		put(t, path, file[1])
		conn, err := b.provider().Open(t.Context(), cfg)
		if core.CodeOf(err) != core.CodeProviderNotReady && core.CodeOf(err) != core.CodeStartFailed {
			t.Errorf("%s: %v", name, err)
		}
		if conn != nil {
			conntest.Record(t, conn).Close()
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.model.Requests()); n > 0 {
		t.Errorf("%d requests of a model", n)
	}
}
