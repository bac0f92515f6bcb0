package process

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestEnvironOverlaysOrReplaces(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/h", "EMPTY=", "EQ=a=b", "=C:=C:\\", "junk",
		"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=s", "CODEX_SANDBOX=seatbelt", "CODEX_SANDBOX_NETWORK_DISABLED=1",
		"CODEX_HOME=/c", "CLAUDE_CONFIG_DIR=/d", "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_USE_BEDROCK=1", "CODEX_SANDBOXED=x",
		MarkerVar + "=a:b",
	}
	kept := []string{"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/d", "CODEX_HOME=/c", "CODEX_SANDBOXED=x", "EMPTY=", "EQ=a=b", "HOME=/h", "PATH=/bin"}
	with := func(list []string, more ...string) []string {
		out := append(slices.Clone(list), more...)
		slices.Sort(out)
		return out
	}
	without := func(list []string, name string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	tests := map[string]struct {
		overlay map[string]string
		unset   []string
		replace bool
		want    []string
	}{
		"nothing given":             {nil, nil, false, kept},
		"overlay wins":              {map[string]string{"HOME": "/x", "NEW": "1"}, nil, false, with(without(kept, "HOME"), "HOME=/x", "NEW=1")},
		"unset removes":             {nil, []string{"HOME", "ABSENT"}, false, without(kept, "HOME")},
		"given beats unset":         {map[string]string{"HOME": "/x"}, []string{"HOME"}, false, with(without(kept, "HOME"), "HOME=/x")},
		"given beats nesting":       {map[string]string{"CLAUDECODE": "1"}, nil, false, with(kept, "CLAUDECODE=1")},
		"empty value stays":         {map[string]string{"HOME": ""}, nil, false, with(without(kept, "HOME"), "HOME=")},
		"replace is all":            {map[string]string{"A": "1"}, nil, true, []string{"A=1"}},
		"replace with nothing":      {nil, nil, true, nil},
		"replace keeps given":       {map[string]string{"CODEX_THREAD_ID": "t"}, []string{"PATH"}, true, []string{"CODEX_THREAD_ID=t"}},
		"marker cannot be overlaid": {map[string]string{MarkerVar: "x:y"}, nil, true, nil},
	}
	for name, test := range tests {
		got := Environ(base, test.overlay, test.unset, test.replace)
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNestingVarsHaveReasonsAndSpareConfiguration(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range NestingVars() {
		if v.Why == "" || seen[v.Name] {
			t.Errorf("%q is listed twice or without a reason", v.Name)
		}
		seen[v.Name] = true
	}
	for _, name := range []string{
		"CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "CLAUDE_CONFIG_DIR", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "GEMINI_API_KEY",
		"GEMINI_CLI_HOME", "OPENCODE_CONFIG", "PI_CODING_AGENT_DIR", "AMP_API_KEY", "PATH", "HOME",
	} {
		if Nesting(name) {
			t.Errorf("%s is configuration and must pass", name)
		}
	}
}

func TestAddPathAddsEachDirectoryOnceAndLast(t *testing.T) {
	got := AddPath([]string{"PATH=" + joinPath([]string{"/a", "/b"}), "X=1"}, "/b", "/c", "", "/c")
	want := []string{"X=1", "PATH=" + joinPath([]string{"/a", "/b", "/c"})}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"PATH=/c"}, AddPath(nil, "/c")); diff != "" {
		t.Error(diff)
	}
	if got := AddPath(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestDepthCountsTheHarnessesAround(t *testing.T) {
	for marker, want := range map[string]int{"": 0, "a:1": 1, "a:1/b:2": 2, "a:1/b:2/c:3": 3, "mangled": 1} {
		if got := Depth([]string{"A=1", MarkerVar + "=" + marker}); got != want {
			t.Errorf("%q: %d, want %d", marker, got, want)
		}
	}
	if got := Depth(nil); got != 0 {
		t.Errorf("no marker: %d", got)
	}
}
