package providers

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/process"
)

func TestProvidersHaveNamesOfTheirOwnAndFilesAddToThem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "providers.json")
	write := func(body string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"providers": {"kimi": {"command": ["kimi", "acp"]}}}`)
	config, err := ReadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Runner: process.NewLocal(process.Options{})}
	known := len(All(o))
	o.Config = config
	all := All(o)
	if len(all) != known+1 {
		t.Errorf("%d providers, and %d with one more", known, len(all))
	}
	seen := map[string]bool{}
	for _, p := range all {
		if name := p.Spec().Name; seen[name] {
			t.Errorf("two providers called %s", name)
		} else {
			seen[name] = true
		}
	}
	for name := range Loopbacks {
		if !seen[name] {
			t.Errorf("a loopback for %s, which is no provider", name)
		}
	}
	write(`{"providers": {"codex": {"command": ["kimi", "acp"]}}}`)
	if _, err := ReadConfig(file); err == nil || !strings.Contains(err.Error(), "codex") {
		t.Errorf("a name that is taken: %v", err)
	}
	if c, err := ReadConfig(""); err != nil || c.agents != nil {
		t.Errorf("no file: %v", err)
	}
}

func TestAProviderReportsHowItIsSignedIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents.json")
	if err := os.WriteFile(file, []byte(`{"providers":{"kimi":{"command":["kimi","acp"],"login":"kimi login"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := ReadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range All(Options{Config: config}) {
		if s := p.Spec(); s.Login != "" {
			got[s.Name] = s.Login
		}
	}
	want := map[string]string{"codex": "codex login", "claude": "claude auth login", "pi": "pi auth login PROVIDER", "opencode": "opencode auth login", "kimi": "kimi login"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
