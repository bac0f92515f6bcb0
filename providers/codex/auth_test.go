package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
)

func paidSession() core.SessionConfig {
	return core.SessionConfig{EnvMode: core.EnvReplace, Env: map[string]string{"HOME": "/home/x"},
		ProviderOptions: map[string]json.RawMessage{"auth": []byte(`"subscription"`)}}
}

func TestSubscriptionTakesAnythingElseForANo(t *testing.T) {
	const account = `{"account":{"type":"chatgpt","email":null,"planType":"pro"},"requiresOpenaiAuth":true}`
	for name, c := range map[string]struct {
		account, config, provider string
		ok                        bool
	}{
		"a ChatGPT login":       {account, `{"config":{"model_provider":null}}`, "openai", true},
		"and its own provider":  {account, `{"config":{"model_provider":"openai","forced_login_method":"chatgpt","model_providers":{"mine":{}}}}`, "openai", true},
		"an API key":            {`{"account":{"type":"apiKey"}}`, "", "", false},
		"nobody":                {`{"account":null,"requiresOpenaiAuth":false}`, "", "", false},
		"another provider":      {account, `{"config":{"model_provider":"mine"}}`, "", false},
		"another address":       {account, `{"config":{"openai_base_url":"http://127.0.0.1"}}`, "", false},
		"a changed provider":    {account, `{"config":{"model_providers":{"openai":{}}}}`, "", false},
		"a forced API login":    {account, `{"config":{"forced_login_method":"api"}}`, "", false},
		"no configuration":      {account, `{}`, "", false},
		"a thread of another's": {account, `{"config":{}}`, "mine", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				go func() {
					f.reply(f.expect("initialize"), `{"userAgent":"harness-mcp/9.9.9 (test)"}`)
					f.expect("initialized")
					f.reply(f.expect("account/read"), c.account)
					if c.config != "" {
						f.reply(f.expect("config/read"), c.config)
					}
					if c.provider != "" {
						m := f.expect("thread/start")
						if !strings.Contains(string(m.Params), `"modelProvider":"openai"`) {
							t.Errorf("the thread is not pinned: %s", m.Params)
						}
						f.reply(m, `{"thread":{"id":"thread"},"model":"m","modelProvider":"`+c.provider+`"}`)
					}
				}()
				conn, err := fakeProvider(t, f).Open(t.Context(), paidSession())
				if conn != nil {
					_ = conn.Close(t.Context())
				}
				if c.ok != (err == nil) {
					t.Errorf("open: %v", err)
				}
			})
		})
	}
}

func TestSubscriptionRefusesWhatContradictsIt(t *testing.T) {
	for name, change := range map[string]func(*core.SessionConfig){
		"a key":      func(c *core.SessionConfig) { c.Env["OPENAI_API_KEY"] = "k" },
		"a provider": func(c *core.SessionConfig) { c.ProviderOptions["model_provider"] = []byte(`"x"`) },
		"config":     func(c *core.SessionConfig) { c.ProviderOptions["config"] = []byte(`{}`) },
	} {
		cfg := paidSession()
		change(&cfg)
		if _, err := subscribed(cfg); err == nil || err.Code != core.CodeOption {
			t.Errorf("%s: %v", name, err)
		}
	}
	for word, code := range map[string]core.Code{`"inherit"`: "", `"free"`: core.CodeInvalidArgument, `3`: core.CodeInvalidArgument} {
		cfg := core.SessionConfig{ProviderOptions: map[string]json.RawMessage{"auth": []byte(word)}}
		paid, err := subscribed(cfg)
		if paid || err != nil && err.Code != code || err == nil && code != "" {
			t.Errorf("%s: %v, %v", word, paid, err)
		}
	}
	left := withoutReroutes([]string{"OPENAI_API_KEY=k", "CODEX_HOME=/c", "OPENAI_BASE_URL=u", "PATH=/bin"})
	if strings.Join(left, " ") != "CODEX_HOME=/c PATH=/bin" {
		t.Errorf("left: %v", left)
	}
}

func TestRealSubscriptionFailsClosedWithoutALogin(t *testing.T) {
	onCodex(t, 0, func(t *testing.T, b *bench) {
		cfg := b.session()
		cfg.ProviderOptions = map[string]json.RawMessage{"auth": []byte(`"subscription"`)}
		if _, err := b.provider().Open(t.Context(), cfg); core.CodeOf(err) != core.CodeProviderNotReady {
			t.Errorf("open: %v", err)
		}
	})
}
