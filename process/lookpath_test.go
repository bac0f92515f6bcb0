package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestLookPathSearchesPathThenTheExtraDirectories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no execute permission on Windows")
	}
	dir := t.TempDir()
	put := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	both, _ := put("one/both", 0o700), put("extra/both", 0o700)
	only := put("extra/only", 0o755)
	put("one/denied", 0o600)
	later := put("two/denied", 0o700)
	put("two/hidden", 0o600)
	if err := os.MkdirAll(filepath.Join(dir, "one", "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	one, two, extra := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "extra")
	t.Setenv("PATH", joinPath([]string{one, "relative", "", two, one + "/"}))
	t.Chdir(dir)

	tests := map[string]struct {
		name     string
		path     string
		searched []string
		cause    error
	}{
		"first in PATH":           {"both", both, []string{one}, nil},
		"in an extra directory":   {"only", only, []string{one, two, extra}, nil},
		"past what may not run":   {"denied", later, []string{one, two}, nil},
		"nowhere":                 {"none", "", []string{one, two, extra}, exec.ErrNotFound},
		"only what may not run":   {"hidden", "", []string{one, two, extra}, fs.ErrPermission},
		"a directory":             {"dir", "", []string{one, two, extra}, fs.ErrPermission},
		"with a path":             {both, both, []string{one}, nil},
		"with a relative path":    {"./one/both", both, []string{one}, nil},
		"with a path to nothing":  {one + "/none", "", []string{one}, exec.ErrNotFound},
		"with a path that cannot": {one + "/denied", "", []string{one}, fs.ErrPermission},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, searched, err := LookPath(test.name, []string{extra, one})
			if path != test.path || !errors.Is(err, test.cause) {
				t.Errorf("got %q, %v", path, err)
			}
			if err != nil && core.CodeOf(err) != core.CodeNotFound {
				t.Errorf("code %s", core.CodeOf(err))
			}
			if diff := cmp.Diff(test.searched, searched); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaultDirsAreAbsolute(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("these directories are of Unix")
	}
	t.Setenv("HOME", "/home/someone")
	for _, dir := range DefaultDirs() {
		if !filepath.IsAbs(dir) {
			t.Error(dir)
		}
	}
}
