package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

const someID = "3f0b7c1e-5d1a-4c57-9a3e-0c9d5f7a1b2c"

func fixedID() string { return "11111111-1111-4111-8111-111111111111" }

func TestFlagsSayWhatTheSessionAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  core.SessionConfig
		want []string
	}{
		"nothing":  {core.SessionConfig{}, []string{"--session-id", fixedID(), "--permission-mode", "default"}},
		"prompt":   {core.SessionConfig{ApprovalMode: core.ApprovalPrompt}, []string{"--session-id", fixedID(), "--permission-mode", "default"}},
		"autoedit": {core.SessionConfig{ApprovalMode: core.ApprovalAutoEdit}, []string{"--session-id", fixedID(), "--permission-mode", "acceptEdits"}},
		"plan": {core.SessionConfig{ProviderOptions: optionsOf(`{"permission_mode":"plan","max_turns":3,"setting_sources":""}`)},
			[]string{"--session-id", fixedID(), "--permission-mode", "plan", "--max-turns", "3", "--setting-sources="}},
		"resume": {core.SessionConfig{ProviderSesID: someID, Model: "opus", ReasoningEffort: "low"},
			[]string{"--resume", someID, "--model", "opus", "--permission-mode", "default", "--effort", "low"}},
		"fork": {core.SessionConfig{ProviderSesID: someID, Fork: true},
			[]string{"--resume", someID, "--fork-session", "--session-id", fixedID(), "--permission-mode", "default"}},
		"lists": {core.SessionConfig{AllowedTools: []string{"Bash(git log:*)", "Read"}, DisallowedTools: []string{"WebFetch"}, AddDirs: []string{"/a", "/b"}},
			[]string{"--session-id", fixedID(), "--allowedTools", "Bash(git log:*)", "Read", "--disallowedTools", "WebFetch", "--add-dir", "/a", "/b", "--permission-mode", "default"}},
		"read only": {core.SessionConfig{SandboxMode: core.SandboxReadOnly},
			append(append([]string{"--session-id", fixedID(), "--disallowedTools"}, writers...), "--permission-mode", "default")},
	} {
		l, err := newLaunch(c.cfg, fixedID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, l.flags); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestLaunchRefusesWhatItCannotDo(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  core.SessionConfig
		code core.Code
	}{
		"unknown option":          {core.SessionConfig{ProviderOptions: optionsOf(`{"nope":1}`)}, core.CodeOption},
		"option of a wrong type":  {core.SessionConfig{ProviderOptions: optionsOf(`{"max_turns":"x"}`)}, core.CodeInvalidArgument},
		"option out of its words": {core.SessionConfig{ProviderOptions: optionsOf(`{"auth":"free"}`)}, core.CodeInvalidArgument},
		"settings of a wrong type": {core.SessionConfig{ProviderOptions: optionsOf(`{"settings":[1]}`)},
			core.CodeInvalidArgument},
		"negative rounds": {core.SessionConfig{ProviderOptions: optionsOf(`{"max_turns":-1}`)}, core.CodeInvalidArgument},
		"two modes":       {core.SessionConfig{ApprovalMode: core.ApprovalAuto, ProviderOptions: optionsOf(`{"permission_mode":"plan"}`)}, core.CodeOption},
		"unknown mode":    {core.SessionConfig{ApprovalMode: "yolo"}, core.CodeOption},
		"unknown sandbox": {core.SessionConfig{SandboxMode: "moat"}, core.CodeOption},
		"edits in read only": {core.SessionConfig{ApprovalMode: core.ApprovalAutoEdit, SandboxMode: core.SandboxReadOnly},
			core.CodeOption},
		"sandbox twice":         {core.SessionConfig{SandboxMode: core.SandboxReadOnly, ProviderOptions: optionsOf(`{"settings":{"sandbox":{}}}`)}, core.CodeOption},
		"a word for an id":      {core.SessionConfig{ProviderSesID: "last"}, core.CodeInvalidArgument},
		"a flag for a tool":     {core.SessionConfig{AllowedTools: []string{"--dangerously-skip-permissions"}}, core.CodeInvalidArgument},
		"a flag for a model":    {core.SessionConfig{Model: "--settings"}, core.CodeInvalidArgument},
		"a server without both": {core.SessionConfig{MCPServers: map[string]json.RawMessage{"x": []byte(`{}`)}}, core.CodeInvalidArgument},
		"a server's odd name":   {core.SessionConfig{MCPServers: map[string]json.RawMessage{"a b": []byte(`{"url":"http://127.0.0.1"}`)}}, core.CodeOption},
		"a server that is text": {core.SessionConfig{MCPServers: map[string]json.RawMessage{"x": []byte(`"x"`)}}, core.CodeInvalidArgument},
	} {
		if _, err := newLaunch(c.cfg, fixedID); err == nil || err.Code != c.code || err.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsStayOutOfTheCommandLine(t *testing.T) {
	dir, err := link.NewWorkdir("hmc-")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Remove()
	cfg := core.SessionConfig{
		MCPServers:      map[string]json.RawMessage{"x": []byte(`{"url":"http://127.0.0.1","headers":{"Authorization":"Bearer swordfish"}}`)},
		SystemPrompt:    "swordfish",
		ProviderOptions: optionsOf(`{"settings":{"env":{"KEY":"swordfish"}}}`),
	}
	l, bad := newLaunch(cfg, fixedID)
	if bad != nil {
		t.Fatal(bad)
	}
	args, bad := files(l, cfg, dir)
	if bad != nil {
		t.Fatal(bad)
	}
	if strings.Contains(strings.Join(args, " "), "swordfish") {
		t.Errorf("the command line is %q", args)
	}
	for _, flag := range []string{"--mcp-config", "--settings"} {
		path := args[slices.Index(args, flag)+1]
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(mustRead(t, path), "swordfish") {
			t.Errorf("%s %s: %v", flag, path, err)
		}
	}
	if !strings.Contains(mustRead(t, args[slices.Index(args, "--mcp-config")+1]), `"type":"http"`) {
		t.Error("a server with a url has no type")
	}
	dir.Remove()
	if _, err := os.Stat(dir.Path); err == nil {
		t.Error("the session's files outlive it")
	}
}

func TestEnvironmentHasATemporaryDirectoryOfItsOwn(t *testing.T) {
	base := []string{"TMPDIR=/shared", "ANTHROPIC_API_KEY=k", "AWS_PROFILE=p", "CLAUDECODE=1", "PATH=/bin"}
	env := environ(base, core.SessionConfig{}, options{Auth: authInherit}, "/own")
	if valueOf(env, "TMPDIR") != "/own" || valueOf(env, "ANTHROPIC_API_KEY") != "k" || valueOf(env, "CLAUDECODE") != "" {
		t.Errorf("inherit: %v", env)
	}
	env = environ(base, core.SessionConfig{Env: map[string]string{"TMPDIR": "/callers"}}, options{Auth: authSubscription}, "/own")
	if valueOf(env, "TMPDIR") != "/callers" || valueOf(env, "ANTHROPIC_API_KEY") != "" || valueOf(env, "AWS_PROFILE") != "p" {
		t.Errorf("subscription: %v", env)
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_CODE_SKIP_VERTEX_AUTH"} {
		if !rerouting(name) {
			t.Errorf("%s stays with a subscription", name)
		}
	}
	if rerouting("CLAUDE_CONFIG_DIR") || rerouting("PATH") {
		t.Error("a subscription loses its own configuration")
	}
}

func TestPromptsAreEscapedForVersionsThatExecuteThem(t *testing.T) {
	old := newTranslator(settings{exists: func(path string) bool { return path == "real.txt" || path == "with space" }})
	for in, want := range map[string]string{
		"/clear":               "\n/clear",
		"say /clear":           "say /clear",
		"look at @real.txt":    "look at @" + wordJoiner + "real.txt",
		"@real.txt#L1-2 first": "@" + wordJoiner + "real.txt#L1-2 first",
		`see @"with space"`:    `see @` + wordJoiner + `"with space"`,
		"mail me@real.txt":     "mail me@real.txt",
		"@unreal.txt":          "@unreal.txt",
	} {
		if got := old.escapeCommand(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	old.literal = true
	if got := old.escapeCommand("/clear @real.txt"); got != "/clear @real.txt" {
		t.Errorf("a version that takes prompts literally got %q", got)
	}
}

func TestOnlyNewVersionsTakePromptsLiterally(t *testing.T) {
	for version, want := range map[string]bool{
		"2.1.332": true, "2.1.400": true, "2.2.0": true, "3.0.0-beta": true, "2.1.197": false, "2.1.331": false, "1.9.999": false, "": false, "x.y.z": false,
	} {
		if got := takesComposed(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestConversationIsLockedOnce(t *testing.T) {
	env := []string{"CLAUDE_CONFIG_DIR=" + t.TempDir()}
	first, err := lockConversation(env, someID)
	if err != nil || first.file == nil {
		t.Fatal(err)
	}
	if _, err := lockConversation(env, someID); err == nil || err.Code != core.CodeSessionInUse {
		t.Errorf("a second lock: %v", err)
	}
	if other, err := lockConversation(env, fixedID()); err != nil {
		t.Errorf("another conversation: %v", err)
	} else {
		other.release()
	}
	first.release()
	again, err := lockConversation(env, someID)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	again.release()
	if left, _ := filepath.Glob(filepath.Join(valueOf(env, "CLAUDE_CONFIG_DIR"), "harness-mcp", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if l, err := lockConversation(nil, someID); err != nil || l.file != nil {
		t.Errorf("without a home: %v", err)
	}
}

func TestSkillsBecomeAPlugin(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dir := link.Workdir{Path: t.TempDir()}
	bake := filepath.Dir(write("bake/SKILL.md", "bake"))
	write("bake/ovens/list.txt", "hot")
	brew := write("brew/SKILL.md", "brew")
	plugin := filepath.Dir(filepath.Dir(write("whole/.claude-plugin/plugin.json", "{}")))
	plugins, err := skillPlugins([]string{bake, brew, plugin}, dir)
	if err != nil || len(plugins) != 2 || plugins[0] != plugin {
		t.Fatalf("%v, %v", plugins, err)
	}
	for path, want := range map[string]string{"skills/bake/SKILL.md": "bake", "skills/bake/ovens/list.txt": "hot", "skills/brew/SKILL.md": "brew"} {
		if got := mustRead(t, filepath.Join(plugins[1], path)); got != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	for _, bad := range [][]string{{filepath.Join(root, "nothing")}, {bake, bake}} {
		if _, err := skillPlugins(bad, link.Workdir{Path: t.TempDir()}); err == nil || err.Code != core.CodeInvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestEvidenceOfASignIn(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	look := func() string { word, _ := evidence(func(name string) string { return env[name] }); return word }
	if got := look(); got != "no" {
		t.Errorf("an empty home: %s", got)
	}
	config := filepath.Join(home, ".claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"settings.json": "unknown", ".credentials.json": "yes"} {
		path := filepath.Join(config, file)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := look(); got != want {
			t.Errorf("with %s: %s", file, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	env["ANTHROPIC_API_KEY"] = "k"
	if got := look(); got != "yes" {
		t.Errorf("with a key: %s", got)
	}
	if word, _ := evidence(func(string) string { return "" }); word != "unknown" {
		t.Errorf("without a home: %s", word)
	}
}

func TestQuestionThatNobodyAnsweredLetsTheTurnGoOn(t *testing.T) {
	for reason, stops := range map[string]bool{string(core.ReasonNoAnswer): false, "": true, "enough": true} {
		f := newFuzzer(t)
		f.op(0)
		for _, l := range []string{seedStarted, seedInit, seedForm} {
			f.tr.read([]byte(l))
			f.drain()
		}
		if err := f.tr.Respond(core.Respond{ID: 9, Ref: "r3", Response: core.Response{Action: core.ActionCancel, Reason: reason}}); err != nil {
			t.Fatal(err)
		}
		out := f.tr.Take()
		raw, err := encoded(out.Frames[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(raw), `"interrupt":true`); got != stops || f.tr.running.stopping != stops {
			t.Errorf("cancelled with %q: %s", reason, raw)
		}
	}
}
