package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestModesBecomePolicyAndSandbox(t *testing.T) {
	policies := map[core.ApprovalMode]string{
		"": "on-request", core.ApprovalDefault: "on-request", core.ApprovalPrompt: "untrusted",
		core.ApprovalAutoEdit: "untrusted", core.ApprovalAuto: "never",
	}
	kinds := map[core.SandboxMode]string{
		"": "workspace-write", core.SandboxDefault: "workspace-write", core.SandboxReadOnly: "read-only",
		core.SandboxWorkspaceWrite: "workspace-write", core.SandboxUnrestricted: "danger-full-access",
	}
	for approval, policy := range policies {
		for sandbox, kind := range kinds {
			_, p, err := threadParams(core.SessionConfig{ApprovalMode: approval, SandboxMode: sandbox})
			if approval == core.ApprovalAutoEdit && sandbox == core.SandboxReadOnly {
				if err == nil || err.Code != core.CodeOption {
					t.Errorf("%s with %s: %v", approval, sandbox, err)
				}
				continue
			}
			if err != nil || p.ApprovalPolicy != policy || p.Sandbox != kind {
				t.Errorf("%q with %q: %s, %s, %v", approval, sandbox, p.ApprovalPolicy, p.Sandbox, err)
			}
		}
	}
}

func TestSandboxPolicyKeepsTheDetailsOfItsKind(t *testing.T) {
	yes := true
	known := &wire.SandboxPolicy{Type: "workspaceWrite", NetworkAccess: &yes}
	for mode, want := range map[core.SandboxMode]string{
		core.SandboxWorkspaceWrite: `{"type":"workspaceWrite","networkAccess":true}`,
		core.SandboxReadOnly:       `{"type":"readOnly","networkAccess":false}`,
		core.SandboxUnrestricted:   `{"type":"dangerFullAccess"}`,
	} {
		if got := conntest.JSON((modes{sandbox: mode}).policy(known, nil)); got != want {
			t.Errorf("%s: %s", mode, got)
		}
	}
	got := conntest.JSON((modes{sandbox: core.SandboxWorkspaceWrite}).policy(nil, []string{"/more"}))
	if want := `{"type":"workspaceWrite","writableRoots":["/more"],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}`; got != want {
		t.Error(got)
	}
}

func TestSettingsBecomeThreadParams(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	cfg := core.SessionConfig{
		CWD: "/w", Model: "m", SystemPrompt: "be brief", ReasoningEffort: "high", AddDirs: []string{"/more"},
		MCPServers: map[string]json.RawMessage{
			"local": raw(`{"type":"stdio","command":"x","args":["-y"],"env":{"A":"1"}}`),
			"far":   raw(`{"type":"http","url":"http://127.0.0.1/mcp","headers":{"X":"1"}}`),
		},
		ProviderOptions: map[string]json.RawMessage{"config": raw(`{"web_search":"disabled"}`), "model_provider": raw(`"mine"`)},
	}
	method, p, err := threadParams(cfg)
	if err != nil || method != wire.ThreadStart {
		t.Fatal(method, err)
	}
	want := `{"cwd":"/w","model":"m","modelProvider":"mine","approvalPolicy":"on-request","sandbox":"workspace-write","config":{` +
		`"mcp_servers.far":{"http_headers":{"X":"1"},"url":"http://127.0.0.1/mcp"},` +
		`"mcp_servers.local":{"args":["-y"],"command":"x","env":{"A":"1"}},` +
		`"model_reasoning_effort":"high","sandbox_workspace_write.writable_roots":["/more"],"web_search":"disabled"},"developerInstructions":"be brief"}`
	if d := cmp.Diff(want, conntest.JSON(p)); d != "" {
		t.Error(d)
	}
	cfg.ProviderSesID = "01a22860-6db1-79b3-9738-19bd3b8e8bb9"
	if method, p, _ = threadParams(cfg); method != wire.ThreadResume || p.ThreadID != cfg.ProviderSesID || !p.ExcludeTurns {
		t.Error(method, p)
	}
	cfg.Fork = true
	if method, _, _ = threadParams(cfg); method != wire.ThreadFork {
		t.Error(method)
	}
}

func TestSettingsThatCodexLacksAreRefused(t *testing.T) {
	option := func(name, value string) core.SessionConfig {
		return core.SessionConfig{ProviderOptions: map[string]json.RawMessage{name: json.RawMessage(value)}}
	}
	server := func(name, value string) core.SessionConfig {
		return core.SessionConfig{MCPServers: map[string]json.RawMessage{name: json.RawMessage(value)}}
	}
	for name, c := range map[string]struct {
		cfg  core.SessionConfig
		want core.Code
	}{
		"allowed tools":       {core.SessionConfig{AllowedTools: []string{"x"}}, core.CodeOption},
		"disallowed tools":    {core.SessionConfig{DisallowedTools: []string{"x"}}, core.CodeOption},
		"no skill":            {core.SessionConfig{Skills: []string{"/nowhere"}}, core.CodeInvalidArgument},
		"unknown mode":        {core.SessionConfig{ApprovalMode: "yolo"}, core.CodeOption},
		"unknown sandbox":     {core.SessionConfig{SandboxMode: "none"}, core.CodeOption},
		"unknown option":      {option("speed", "1"), core.CodeOption},
		"config is no object": {option("config", "1"), core.CodeInvalidArgument},
		"loosened approval":   {option("config", `{"approval_policy":"never"}`), core.CodeOption},
		"loosened sandbox":    {option("config", `{"sandbox_mode":"danger-full-access"}`), core.CodeOption},
		"model provider":      {option("model_provider", "1"), core.CodeInvalidArgument},
		"the last thread":     {core.SessionConfig{ProviderSesID: "last"}, core.CodeInvalidArgument},
		"sse server":          {server("a", `{"type":"sse","url":"x"}`), core.CodeOption},
		"server of nothing":   {server("a", `{}`), core.CodeInvalidArgument},
		"dotted server":       {server("a.b", `{"command":"x"}`), core.CodeOption},
		"server is no object": {server("a", `[]`), core.CodeInvalidArgument},
	} {
		if _, err := newOpening(c.cfg); err == nil || err.Code != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestPromptsReachCodexAsText(t *testing.T) {
	list, err := userInput(core.TurnInput{
		Prompt:      "/compact --now",
		Content:     []core.ContentBlock{{Type: "text", Text: "more"}, {Type: "image", MIMEType: "image/png", Data: "AAAA"}},
		Attachments: []string{"/w/a.PNG", "/w/b.txt"},
	})
	want := `[{"type":"text","text":"/compact --now"},{"type":"text","text":"more"},{"type":"image","url":"data:image/png;base64,AAAA"},` +
		`{"type":"localImage","path":"/w/a.PNG"},{"type":"text","text":"Attached file: /w/b.txt"}]`
	if err != nil || conntest.JSON(list) != want {
		t.Errorf("%s, %v", conntest.JSON(list), err)
	}
	if _, err := userInput(core.TurnInput{Content: []core.ContentBlock{{Type: "smell"}}}); err == nil || err.Code != core.CodeCapability {
		t.Error(err)
	}
	if _, err := userInput(core.TurnInput{ProviderOptions: map[string]json.RawMessage{"x": nil}}); err == nil || err.Code != core.CodeOption {
		t.Error(err)
	}
}

func TestErrorsGetTheirCode(t *testing.T) {
	for info, want := range map[string]core.Code{
		`"unauthorized"`: core.TurnAuthRequired,
		`{"httpConnectionFailed":{"httpStatusCode":401}}`:          core.TurnAuthRequired,
		`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`: core.TurnRateLimited,
		`"rateLimitExceeded"`:                              core.TurnRateLimited,
		`"usageLimitExceeded"`:                             core.TurnRateLimited,
		`{"httpConnectionFailed":{"httpStatusCode":null}}`: core.TurnProviderError,
		`"contextWindowExceeded"`:                          core.TurnProviderError,
		`"somethingNew"`:                                   core.TurnProviderError,
		`null`:                                             core.TurnProviderError,
		`[1]`:                                              core.TurnProviderError,
	} {
		if got := errorCode(wire.TurnError{CodexErrorInfo: json.RawMessage(info)}); got != want {
			t.Errorf("%s is %s, want %s", info, got, want)
		}
	}
	if got := errorCode(wire.TurnError{Message: "Missing environment variable: `DUMMY`."}); got != core.TurnAuthRequired {
		t.Error(got)
	}
}

func TestDiffsAreUnified(t *testing.T) {
	change := func(kind, move, diff string) wire.FileUpdateChange {
		c := wire.FileUpdateChange{Path: "/w/a", Diff: diff}
		c.Kind.Type, c.Kind.MovePath = kind, move
		return c
	}
	for name, c := range map[string]struct {
		change wire.FileUpdateChange
		want   []core.FileEdit
	}{
		"added": {change("add", "", "x\ny\n"), []core.FileEdit{{Path: "/w/a", Kind: core.FileAdded, Diff: "--- /dev/null\n+++ /w/a\n@@ -0,0 +1,2 @@\n+x\n+y\n"}}},
		"added without a last end": {change("add", "", "x"), []core.FileEdit{{Path: "/w/a", Kind: core.FileAdded,
			Diff: "--- /dev/null\n+++ /w/a\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"}}},
		"deleted": {change("delete", "", "x\n"), []core.FileEdit{{Path: "/w/a", Kind: core.FileDeleted, Diff: "--- /w/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"}}},
		"updated": {change("update", "", "@@ -1 +1 @@\n-x\n+y\n"), []core.FileEdit{{Path: "/w/a", Kind: core.FileModified, Diff: "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-x\n+y\n"}}},
		"moved": {change("update", "/w/b", "@@ -1 +1 @@\n-x\n+y\n"), []core.FileEdit{{Path: "/w/a", Kind: core.FileDeleted},
			{Path: "/w/b", Kind: core.FileAdded, Diff: "--- /w/a\n+++ /w/b\n@@ -1 +1 @@\n-x\n+y\n"}}},
	} {
		if d := cmp.Diff(c.want, edits([]wire.FileUpdateChange{c.change})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestLauncherIsReplacedByTheNativeProgram(t *testing.T) {
	triple := nativeTriple(t)
	for name, layout := range map[string]string{
		"nested":  "node_modules/@openai/codex/node_modules/@openai/codex-" + triple[0],
		"beside":  "node_modules/@openai/codex-" + triple[0],
		"its own": "node_modules/@openai/codex",
	} {
		root := t.TempDir()
		launcher := write(t, root, "node_modules/@openai/codex/bin/codex.js")
		native := write(t, root, layout+"/vendor/"+triple[1]+"/bin/codex")
		link := filepath.Join(root, "codex")
		if err := os.Symlink(launcher, link); err != nil {
			t.Fatal(err)
		}
		p := New(Options{Exec: link}).(*provider)
		exe, err := p.find()
		if err != nil || exe.Path != native || exe.shim {
			t.Errorf("%s: %+v, %v", name, exe, err)
		}
		if err := os.Remove(native); err != nil {
			t.Fatal(err)
		}
		if exe, err = p.find(); err != nil || !exe.shim || exe.Path != link {
			t.Errorf("%s without the program: %+v, %v", name, exe, err)
		}
	}
}

func TestMissingCodexReportsWhereItWasSoughtAndHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	p := New(Options{PathDirs: []string{dir}})
	s := p.Status(t.Context())
	if s.Ready || !strings.Contains(strings.Join(s.Searched, " "), dir) || s.Reason == "" || strings.Contains(s.Reason, "not_found") {
		t.Errorf("%+v", s)
	}
	if _, err := p.Open(t.Context(), core.SessionConfig{}); core.CodeOf(err) != core.CodeProviderNotReady {
		t.Error(err)
	}
}

func TestSignInEvidence(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	check := func(want string) {
		t.Helper()
		if got, why := evidence(func(k string) string { return env[k] }); got != want || why == "" {
			t.Errorf("%s (%s), want %s", got, why, want)
		}
	}
	check("no")
	write(t, home, ".codex/config.toml")
	check("unknown")
	write(t, home, ".codex/auth.json")
	check("yes")
	env["CODEX_HOME"] = filepath.Join(home, "other")
	check("no")
	env["OPENAI_API_KEY"] = "x"
	check("yes")
	env = nil
	check("unknown")
}

func TestSettingsLimitEditsToTheWorkspace(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"work", "more", "other"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	set := newSettings(core.SessionConfig{CWD: filepath.Join(root, "work"), AddDirs: []string{filepath.Join(root, "more")}})
	for path, want := range map[string]bool{
		"work/a.txt": true, "more/a.txt": true, "work/.github/x": true, "other/a.txt": false,
		"work/.git/hooks/x": false, "work/.GIT/hooks/x": false, "work/sub/.codex/config.toml": false, "more/.agents/x": false,
	} {
		if got := set.inside(filepath.Join(root, path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestAutoEditAcceptsOnlyEditsOfTheWorkspace(t *testing.T) {
	patch := func(path string) wire.FileUpdateChange { return wire.FileUpdateChange{Path: path} }
	tr := newTranslator(settings{modes: modes{core.ApprovalAutoEdit, core.SandboxWorkspaceWrite},
		inside: func(p string) bool { return strings.HasPrefix(p, "/w/") }})
	for name, c := range map[string]struct {
		ask     wire.FileChangeApprovalParams
		changes []wire.FileUpdateChange
		want    bool
	}{
		"inside":            {changes: []wire.FileUpdateChange{patch("/w/a")}, want: true},
		"one outside":       {changes: []wire.FileUpdateChange{patch("/w/a"), patch("/etc/b")}},
		"an unknown patch":  {},
		"more than an edit": {ask: wire.FileChangeApprovalParams{GrantRoot: "/w"}, changes: []wire.FileUpdateChange{patch("/w/a")}},
	} {
		if got := tr.acceptsEdit(c.ask, c.changes); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	tr.set.sandbox = core.SandboxUnrestricted
	if !tr.acceptsEdit(wire.FileChangeApprovalParams{}, []wire.FileUpdateChange{patch("/etc/b")}) {
		t.Error("an unrestricted edit was not accepted")
	}
}

func write(t *testing.T, root, name string) string {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func nativeTriple(t *testing.T) [2]string {
	t.Helper()
	for platform, triple := range triples {
		if platform == thisPlatform {
			return triple
		}
	}
	t.Skipf("Codex's npm package has no program for %s", thisPlatform)
	return [2]string{}
}
