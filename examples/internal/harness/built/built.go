// Package built builds the server for the tests of the examples.
package built

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
)

// Server builds the server and returns its path. It is gone after the test.
func Server(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "harness-mcp")
	build := exec.Command("go", "build", "-o", path, "github.com/harness-mcp/harness-mcp/cmd/harness-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	return path
}

// Env returns an environment with directories of its own, so that the server changes nothing of the
// user's.
func Env(t testing.TB) []string {
	t.Helper()
	home := t.TempDir()
	return []string{"HOME=" + home, "TMPDIR=" + t.TempDir(), "XDG_STATE_HOME=" + filepath.Join(home, "state")}
}

// CLI returns the path of a real agent's CLI, as the other tests find it: in a
// variable. Without it the test is skipped, or fails where all CLIs are wanted.
func CLI(t testing.TB, variable string) string {
	t.Helper()
	exe := os.Getenv(variable)
	if _, err := os.Stat(exe); err != nil {
		why := variable + " does not name the CLI (make tools installs it)"
		if os.Getenv(e2e.RequireEnv) == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return exe
}
