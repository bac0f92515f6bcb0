package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTheCommandLine plays the scripts of testdata/script: each is what a
// person types and what they see.
func TestTheCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			bin := filepath.Join(e.WorkDir, "bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				return err
			}
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TMPDIR", e.Getenv("TMPDIR"))
			return os.Symlink(binary, filepath.Join(bin, "harness-mcp"))
		},
	})
}
