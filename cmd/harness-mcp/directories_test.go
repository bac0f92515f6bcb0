package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARelativeXDGDirectoryIsIgnored(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "state")
	t.Setenv("XDG_CONFIG_HOME", "config")
	t.Setenv("HARNESS_MCP_CONFIG", "")
	if got, want := defaultDB(), filepath.Join(home, ".local", "state", "harness-mcp", "journal.db"); got != want {
		t.Errorf("the journal is %s, want %s", got, want)
	}
	if got := configPath(); !filepath.IsAbs(got) || !strings.HasPrefix(got, home) {
		t.Errorf("the configuration file is %q, want one in %s", got, home)
	}
}

func TestWithoutHomeAJournalMustBeNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HARNESS_MCP_CONFIG", "HARNESS_MCP_DB"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	for _, argv := range [][]string{{"serve"}, {"serve", "--http", "127.0.0.1:0"}, {"list"}, {"connect", "--start", "127.0.0.1:1"}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), argv, stdio{in: strings.NewReader(""), out: &out, err: &errs})
		if code != exitUsage || !strings.Contains(errs.String(), "--db PATH") {
			t.Errorf("%v: exit %d: %s", argv, code, errs.String())
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("left in the working folder: %v", left)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"version"}, stdio{out: &out, err: &errs}); code != exitOK {
		t.Errorf("version: exit %d: %s", code, errs.String())
	}
}

func TestRelativeDirectoriesCountFromTheStartingFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	c := Common{AllowDir: []string{".", "sub"}, PathDir: []string{"bin", dir}}
	if err := c.makeDirsAbsolute(); err != nil {
		t.Fatal(err)
	}
	for _, got := range append(c.AllowDir, c.PathDir...) {
		if !filepath.IsAbs(got) {
			t.Errorf("%s is relative", got)
		}
	}
}
