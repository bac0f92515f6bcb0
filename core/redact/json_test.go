package redact

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/harness-mcp/harness-mcp/core"
)

func TestRedactingJSONKeepsAllButSecrets(t *testing.T) {
	r := New([]string{"known-value-1"})
	for _, tt := range []struct{ name, in, want string }{
		{"values by name", `{"z":1,"password":"p","a":{"apiKey":"k","x":"y"}}`, `{"z":1,"password":"[redacted]","a":{"apiKey":"[redacted]","x":"y"}}`},
		{"lists by name", `{"tokens":["a"],"secrets":["a",["b"],1]}`, `{"tokens":["a"],"secrets":["[redacted]",["[redacted]"],1]}`},
		{"maps under a plural", `{"cookies":{"sid":"v","n":{"m":"w"}},"after":"x"}`, `{"cookies":{"sid":"[redacted]","n":{"m":"[redacted]"}},"after":"x"}`},
		{"no maps under a singular", `{"token":{"type":"string","value":"v"}}`, `{"token":{"type":"string","value":"v"}}`},
		{"name and value", `[{"name":"API_KEY","value":"v"},{"name":"HOME","value":"w"}]`, `[{"name":"API_KEY","value":"[redacted]"},{"name":"HOME","value":"w"}]`},
		{"values anywhere", `["a known-value-1 b", "` + githubToken + `"]`, `["a [redacted] b", "[redacted]"]`},
		{"keys", `{"known-value-1":"x"}`, `{"[redacted]":"x"}`},
		{"spelled with escapes", `{"t":"\u006bnown-value-1\n\"<é"}`, `{"t":"[redacted]\n\"<é"}`},
		{"in a string", `{"arguments":"{\"token\": \"t\", \"n\": 1.50}"}`, `{"arguments":"{\"token\": \"[redacted]\", \"n\": 1.50}"}`},
		{"a bare string", ` "known-value-1" `, ` "[redacted]" `},
		{"not JSON", `known-value-1 {"a"`, `[redacted] {"a"`},
		{"cut JSON", `{"a":"known-value-1","b":"kno`, `{"a":"[redacted]","b":"kno`},

		{"numbers and flags", `{"token":12345678901234567890.10e+2,"secret":true,"password":null,"isSecret":"maybe"}`, ""},
		{"counters", `{"total_tokens":"7","token_usage":{"plan_type":"pro"},"max_tokens":9}`, ""},
		{"empty values", `{"password":"","token":[],"cookies":{}}`, ""},
		{"white space and order", "{ \"b\" : 1.0 ,\n\t\"a\":[ ] , \"b\":2 }", ""},
		{"escapes", `{"a":"\u0041\/\ud83d\ude00\ud800"}`, ""},
		{"quotes and slashes", `{"a\\":"\\\"","b\"":"\\"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			got := string(r.JSON(json.RawMessage(tt.in)))
			if got != want {
				t.Errorf("JSON(%s)\n got %s\nwant %s", tt.in, got, want)
			}
			if json.Valid([]byte(tt.in)) && !json.Valid([]byte(got)) {
				t.Errorf("no longer JSON: %s", got)
			}
		})
	}
}

func TestRedactingJSONStopsAtItsNestingBound(t *testing.T) {
	nested := `{"token":"t"}`
	for range maxNesting + 2 {
		nested = `{"a":` + quote(nested) + `}`
	}
	r := New(nil)
	if got := string(r.JSON(json.RawMessage(nested))); got != nested {
		t.Errorf("looked deeper than the bound: %s", got)
	}
}

func TestRedactingASchemaKeepsItsFieldNames(t *testing.T) {
	r := New([]string{"known-value-1"})
	spec := r.RequestSpec(core.RequestSpec{Schema: json.RawMessage(`{"properties":{"secrets":{"type":"string","default":"known-value-1"}}}`)})
	if got, want := string(spec.Schema), `{"properties":{"secrets":{"type":"string","default":"[redacted]"}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSecretsInReadsAConfiguration(t *testing.T) {
	got := SecretsIn(json.RawMessage(`{"command":"srv","env":{"HOME":"/h","API_KEY":"dummy-key-1"},` +
		`"headers":[{"name":"Authorization","value":"Bearer dummy-key-2"}],"max_tokens":"12345678"}`))
	if d := cmp.Diff([]string{"dummy-key-1", "Bearer dummy-key-2", "dummy-key-2"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestRedactingAnErrorReachesCauseAndDetails(t *testing.T) {
	r := New([]string{"known-value-1"})
	e := core.Errorf(core.CodeStartFailed, "spawn: %w", errors.New("env K=known-value-1")).
		WithHint("unset known-value-1").WithDetail("argv", []string{"known-value-1"}).WithDetail("n", 1)
	got := r.Error(e)
	all := got.Error() + got.Hint + cmp.Diff(got.Details, nil)
	if strings.Contains(all, "known-value-1") {
		t.Errorf("a secret survives: %s", all)
	}
	if !errors.Is(got, &core.Error{Code: core.CodeStartFailed}) || !strings.Contains(all, "spawn") {
		t.Errorf("lost more than the secret: %v", got)
	}
	if !strings.Contains(e.Message, "known-value-1") {
		t.Error("the error itself was changed")
	}
	clean := core.Errorf(core.CodeNotFound, "no such: %w", errors.ErrUnsupported)
	if r.Error(clean) != clean || r.Error(nil) != nil || r.TurnError(nil) != nil {
		t.Error("an error without secrets was copied")
	}
}

func FuzzRedactJSON(f *testing.F) {
	for _, s := range []string{
		`{"password":"p","a":[1,"` + githubToken + `"]}`, `{"arguments":"{\"token\":\"t\"}"}`, `"\ud800"`, `{"a"`, `]`, "\"\\", `{"":{"":[]}}`,
		`[{"name":"API_KEY","value":"v"}]`, `{"cookies":{"a":{"b":["known-value-1"]}}}`,
	} {
		f.Add(s)
	}
	r := New([]string{"known-value-1"})
	f.Fuzz(func(t *testing.T, s string) {
		got := r.JSON(json.RawMessage(s))
		if strings.Contains(string(got), "known-value-1") {
			t.Errorf("a secret survives: %q", got)
		}
		if !json.Valid([]byte(s)) {
			return
		}
		var was, is any
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("no longer JSON: %q from %q", got, s)
		}
		_ = json.Unmarshal([]byte(s), &was)
		if !sameShape(was, is) {
			t.Errorf("more than strings changed: %q from %q", got, s)
		}
		if again := r.JSON(got); string(again) != string(got) {
			t.Errorf("redacted twice: %q then %q", got, again)
		}
	})
}

// sameShape compares all but strings and keys.
func sameShape(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && len(b) <= len(a)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameShape(a[i], b[i]) {
				return false
			}
		}
		return true
	case string:
		_, ok := b.(string)
		return ok
	}
	return a == b
}
