package pi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestFlagsSayWhatASessionIsToBe(t *testing.T) {
	cases := map[string]struct {
		cfg  core.SessionConfig
		want []string
	}{
		"nothing": {core.SessionConfig{}, nil},
		"everything": {core.SessionConfig{Model: "m", ReasoningEffort: "high", AllowedTools: []string{"read", "bash"}, DisallowedTools: []string{"edit"},
			ProviderSesID: "id-1", Skills: []string{"/s/one"}, ProviderOptions: map[string]json.RawMessage{optionProvider: json.RawMessage(`"openai"`), optionTrust: json.RawMessage(`true`)}},
			[]string{"--provider", "openai", "--model", "m", "--thinking", "high", "--tools", "read,bash", "--exclude-tools", "edit", "--session", "id-1", "--skill", "/s/one", "--approve"}},
		"a fork without trust": {core.SessionConfig{ProviderSesID: "id-1", Fork: true, ProviderOptions: map[string]json.RawMessage{optionTrust: json.RawMessage(`false`)}},
			[]string{"--fork", "id-1", "--no-approve"}},
		"unrestricted": {core.SessionConfig{SandboxMode: core.SandboxUnrestricted}, nil},
	}
	for name, c := range cases {
		got, err := flags(c.cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(append([]string{"--mode", "rpc"}, c.want...), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestFlagsRefuseWhatPiCannotDoOrWouldReadOtherwise(t *testing.T) {
	option := func(name, value string) core.SessionConfig {
		return core.SessionConfig{ProviderOptions: map[string]json.RawMessage{name: json.RawMessage(value)}}
	}
	cases := map[string]struct {
		cfg  core.SessionConfig
		code core.Code
	}{
		"MCP servers":              {core.SessionConfig{MCPServers: map[string]json.RawMessage{"x": nil}}, core.CodeCapability},
		"an output schema":         {core.SessionConfig{OutputSchema: json.RawMessage(`{}`)}, core.CodeCapability},
		"a sandbox":                {core.SessionConfig{SandboxMode: core.SandboxReadOnly}, core.CodeOption},
		"a model that is a flag":   {core.SessionConfig{Model: "--api-key"}, core.CodeInvalidArgument},
		"a path as conversation":   {core.SessionConfig{ProviderSesID: "../x.jsonl"}, core.CodeInvalidArgument},
		"a flag as conversation":   {core.SessionConfig{ProviderSesID: "-c"}, core.CodeInvalidArgument},
		"a skill that is a flag":   {core.SessionConfig{Skills: []string{"-x"}}, core.CodeInvalidArgument},
		"two tools in one":         {core.SessionConfig{AllowedTools: []string{"read,bash"}}, core.CodeInvalidArgument},
		"a tool that is added":     {core.SessionConfig{AllowedTools: []string{"+bash"}}, core.CodeInvalidArgument},
		"a tool that is taken":     {core.SessionConfig{DisallowedTools: []string{"-bash"}}, core.CodeInvalidArgument},
		"an unknown option":        {option("api_key", `"x"`), core.CodeOption},
		"an option of other type":  {option(optionTrust, `"yes"`), core.CodeInvalidArgument},
		"an owner that is no text": {option(optionProvider, `1`), core.CodeInvalidArgument},
		"an owner without a model": {option(optionProvider, `"openai"`), core.CodeInvalidArgument},
	}
	for name, c := range cases {
		if _, err := flags(c.cfg); core.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
}

func TestAPromptIsTextAndItsFilesAreNamed(t *testing.T) {
	image := core.ContentBlock{Type: "image", Data: "AA==", MIMEType: "image/png"}
	cases := map[string]struct {
		in     core.TurnInput
		text   string
		images int
	}{
		"plain":     {core.TurnInput{Prompt: "hello"}, "hello", 0},
		"a command": {core.TurnInput{Prompt: "/skill:x"}, "\n/skill:x", 0},
		"parts": {core.TurnInput{Prompt: "a", Content: []core.ContentBlock{{Type: "text", Text: "b"}, image}, Attachments: []string{"/f"}},
			"a\n\nb\n\nAttached file: /f", 1},
		"a command behind no prompt": {core.TurnInput{Content: []core.ContentBlock{{Type: "text", Text: "/x"}}}, "\n/x", 0},
		"a picture alone":            {core.TurnInput{Content: []core.ContentBlock{image}}, "", 1},
	}
	for name, c := range cases {
		got, err := prompt(c.in)
		if err != nil || got.Message == nil || *got.Message != c.text || len(got.Images) != c.images {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, in := range map[string]core.TurnInput{
		"a schema": {OutputSchema: json.RawMessage(`{}`)},
		"a sound":  {Content: []core.ContentBlock{{Type: "audio"}}},
		"options":  {ProviderOptions: map[string]json.RawMessage{"x": nil}},
	} {
		if _, err := prompt(in); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestErrorCodesAreReadFromPisWords(t *testing.T) {
	for message, want := range map[string]core.Code{
		`401 {"error":"x"}`:             core.TurnAuthRequired,
		"403: no":                       core.TurnAuthRequired,
		"429: slow down":                core.TurnRateLimited,
		"500: broken":                   core.TurnProviderError,
		"4011 is no status":             core.TurnProviderError,
		"No API key found for openai.":  core.TurnAuthRequired,
		"Stream ended":                  core.TurnProviderError,
		"":                              core.TurnProviderError,
		"Authentication failed for \"x": core.TurnAuthRequired,
	} {
		if got := errorCode(message); got != want {
			t.Errorf("%q is %s, want %s", message, got, want)
		}
	}
}

func TestAppendedIsTheOutputThatWasNotShown(t *testing.T) {
	long := strings.Repeat("line\n", 200)
	for name, c := range map[string][3]string{
		"more":               {"ab", "abc", "c"},
		"the same":           {"ab", "ab", ""},
		"the first":          {"", "ab", "ab"},
		"the end of more":    {"0123\n" + strings.Repeat("x", maxOverlap), strings.Repeat("x", maxOverlap) + "more", "more"},
		"something else":     {"ab", "xyz", "xyz"},
		"a window that goes": {"first\n" + long + "unique\n", long + "unique\nlast\n", "last\n"},
	} {
		if got := appended(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %q, want %q", name, got, c[2])
		}
	}
}

func TestEvidenceOfASignInIsNoProof(t *testing.T) {
	home := t.TempDir()
	getenv := func(vars map[string]string) func(string) string { return func(n string) string { return vars[n] } }
	for name, c := range map[string]struct {
		vars       map[string]string
		word, says string
	}{
		"a key":   {map[string]string{"OPENAI_API_KEY": "k", "HOME": home}, "yes", "OPENAI_API_KEY"},
		"no home": {nil, "unknown", "HOME"},
		"nothing": {map[string]string{"HOME": home}, "unknown", "no auth.json"},
	} {
		if word, why := evidence(getenv(c.vars)); word != c.word || !strings.Contains(why, c.says) {
			t.Errorf("%s: %s, %s", name, word, why)
		}
	}
}
