package main_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAWrongCommandLineIsToldApartFromAFailure holds each to exit code 2, a
// sentence that names what is wrong, and a next step on a line of its own.
func TestAWrongCommandLineIsToldApartFromAFailure(t *testing.T) {
	dir := t.TempDir()
	noJSON := filepath.Join(dir, "no.json")
	if err := os.WriteFile(noJSON, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	owners := filepath.Join(dir, "owners")
	if err := os.WriteFile(owners, []byte("alice alice-token\nbob bob-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, _ := certificate(t)
	for _, tc := range []struct{ line, names, next string }{
		{"serve --http=0.0.0.0:0", "--allow-dir and --allow-exec and --tls-cert", "127.0.0.1:PORT"},
		{"serve --http=:0", "--allow-dir", "127.0.0.1:PORT"},
		{"serve --http=0.0.0.0:0 --allow-dir=. --allow-exec=true", "--behind-proxy", "127.0.0.1:PORT"},
		{"serve --http=nonsense", `"nonsense"`, "HOST:PORT"},
		{"serve --http=127.0.0.1:99999", "127.0.0.1:99999", "HOST:PORT"},
		{"serve --http=unix:", "unix:", "unix:PATH"},
		{"serve --http=unix:@everybody", "unix:@everybody", "unix:PATH"},
		{"serve --http=127.0.0.1:0 --tls-cert=" + cert, "--tls-key", "both"},
		{"serve --http=127.0.0.1:0 --tls-cert=" + cert + " --tls-key=" + noJSON, "certificate", "--tls-key"},
		{"serve --tls-cert=" + cert, "--tls-cert", "--http"},
		{"--token-file=" + noJSON, "--token-file", "--http"},
		{"serve --behind-proxy", "--behind-proxy", "--http"},
		{"serve --shared-user", "--shared-user", "--http"},
		{"serve --http=127.0.0.1:0 --token-file=" + owners, "alice, bob", "--shared-user"},
		{"serve --http=unix:" + filepath.Join(dir, "s") + " --token-file=" + noJSON, "--token-file", "mode"},
		{"serve --http=unix:" + filepath.Join(dir, "s") + " --tls-cert=" + cert, "--tls-cert", "mode"},
		{"serve --metrics=0.0.0.0:0", "--metrics", "127.0.0.1"},
		{"serve --otel=nonsense", "--otel", "http://127.0.0.1"},
		{"serve --provider-config=" + noJSON, "--provider-config", "--help"},
		{"check --provider-config=" + filepath.Join(dir, "none"), "--provider-config", "--help"},
		{"--allow-dir=" + filepath.Join(dir, "none"), "none", "exist"},
		{"--allow-dir=" + noJSON, "no folder", "folder"},
		{"serve --http=127.0.0.1:0 --allow-dir=" + filepath.Join(dir, "none"), "--allow-dir", "exist"},
		{"connect --start unix:" + filepath.Join(dir, "s") + " --allow-dir=" + filepath.Join(dir, "none"), "--allow-dir", "exist"},
		{"config claude --allow-dir=" + filepath.Join(dir, "none"), "--allow-dir", "exist"},
		{"log ses_0000000000 --db=" + dir, "folder", "journal.db"},
		{"serve --db=" + dir, "folder", "journal.db"},
		{"list nonsense", "sessions", "--help"},
		{"list --limit=0", "--limit", "--help"},
		{"serve --max-sessions=-1", "--max-sessions", "--help"},
		{"serve --max-processes-per-owner=-1", "--max-processes-per-owner", "--help"},
		{"serve --wait=-1", "--wait", "--help"},
		{"serve --wait=soon", "--wait", "--help"},
		{"serve --config=" + noJSON, noJSON, "--help"},
		{"connect nonsense", "nonsense", "HOST:PORT"},
		{"connect ftp://127.0.0.1:1", "ftp://127.0.0.1:1", "HOST:PORT"},
		{"connect --start http://127.0.0.1:1", "http://127.0.0.1:1", "HOST:PORT"},
		{"connect unix:", "unix:", "unix:PATH"},
		{"connect --start unix:@everybody", "unix:@everybody", "unix:PATH"},
		{"config nobody", `"nobody"`, "--help"},
		{"check --provider=nobody", `"nobody"`, "Providers: "},
		{"demo --provider=nobody", "nobody", "Providers: "},
		{"respond req_0000000000 answer --answers=nonsense", "--answers", "--help"},
		{"respond req_0000000000 answer --content=nonsense", "--content", "--help"},
		{"respond req_0000000000 approve --scope=forever", "--scope", "--help"},
	} {
		t.Run(tc.line, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, strings.Fields(tc.line)...)
			cmd.Env = clean(t)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%v, want exit code 2", err)
			}
			said, next, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			if !strings.HasPrefix(said, "harness-mcp: ") || !strings.Contains(said, tc.names) {
				t.Errorf("%q does not name %s", said, tc.names)
			}
			if !strings.Contains(next, tc.next) {
				t.Errorf("the next step %q does not name %s", next, tc.next)
			}
		})
	}
}
