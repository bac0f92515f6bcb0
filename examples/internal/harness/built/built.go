// Package built gives the examples' tests the server as it ships.
package built

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Server builds the server and gives its path. It is gone after the test.
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

// Env gives a server directories of its own, so that it touches nothing of the
// user's.
func Env(t testing.TB) []string {
	t.Helper()
	home := t.TempDir()
	return []string{"HOME=" + home, "TMPDIR=" + t.TempDir(), "XDG_STATE_HOME=" + filepath.Join(home, "state")}
}
