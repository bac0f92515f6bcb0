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

func TestACommandIsLookedForWhereItRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts with #! do not run on Windows")
	}
	server, project, bin := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{server, project, bin} {
		if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(server)
	t.Setenv("PATH", server)
	r := newRoom(t, roomOptions{})
	for name, c := range map[string]struct {
		spec core.ProcessSpec
		want string
	}{
		"relative":           {core.ProcessSpec{Executable: "./tool"}, project},
		"PATH of the server": {core.ProcessSpec{Executable: "tool"}, server},
		"PATH of the call":   {core.ProcessSpec{Executable: "tool", Env: map[string]string{"PATH": bin}}, bin},
		"replaced":           {core.ProcessSpec{Executable: "tool", Env: map[string]string{"PATH": bin}, EnvMode: core.EnvReplace}, bin},
	} {
		c.spec.CWD = project
		if p := r.start(c.spec); p.Executable != filepath.Join(c.want, "tool") {
			t.Errorf("%s: %s", name, p.Executable)
		}
	}
	s := NewSupervisor(SupervisorOptions{})
	if path, _, err := lookPath("tool", project, bin, nil); err != nil || s.checkAllowed(path, []string{"tool"}) == nil {
		t.Errorf("another PATH brought %s past the allowed names: %v", path, err)
	}
	if _, _, err := lookPath("tool", project, "", nil); err == nil {
		t.Error("a replaced environment without PATH found a bare name in the server's")
	}
}
