package codex

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// keys are the variables that Codex takes a credential from.
var keys = []string{"CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN"}

// Status runs `codex --version` and looks for signs of a sign-in. It starts no
// server and sends no prompt.
func (p *provider) Status(ctx context.Context) core.Status {
	exe, err := p.find()
	s := core.Status{Executable: exe.Path, Searched: exe.Searched}
	s.Authenticated, s.Evidence = evidence(os.Getenv)
	if err != nil {
		s.Reason = core.AsError(err).Message
		return s
	}
	version, err := p.version(ctx, exe)
	if err != nil {
		s.Reason = "codex --version failed: " + core.AsError(err).Message
		return s
	}
	s.Ready, s.Version = true, version
	if exe.shim {
		s.Reason = "the native program was not found beside the Node launcher; the launcher is used"
	}
	return s
}

// version asks Codex itself, in an environment without the user's.
func (p *provider) version(ctx context.Context, exe executable) (string, error) {
	out, err := link.Run(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: []string{"--version"}, Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	switch {
	case err != nil:
		return "", err
	case out.Exit.Code != 0:
		return "", core.Errorf(core.CodeProviderNotReady, "it ended with %s", link.ExitText(out.Exit))
	}
	_, version, ok := strings.Cut(strings.TrimSpace(out.Stdout), " ") // "codex-cli 0.171.0"
	if !ok {
		return "", core.Errorf(core.CodeProviderNotReady, "it printed no version")
	}
	return version, nil
}

// evidence reports whether there are signs of a sign-in: never more than a guess,
// since a key may be refused and credentials may be in a keyring.
func evidence(getenv func(string) string) (word, why string) {
	if why, ok := link.KeyIn(getenv, keys); ok {
		return "yes", why
	}
	home, none := codexHome(getenv)
	if home == "" {
		return "unknown", none
	}
	if _, err := os.Stat(filepath.Join(home, authFile)); err == nil {
		return "yes", "there is an auth.json in " + home
	} else if !os.IsNotExist(err) {
		return "unknown", "the auth.json in " + home + " cannot be read"
	}
	if _, err := os.Stat(filepath.Join(home, "config.toml")); err == nil {
		return "unknown", "there is no auth.json in " + home + ", but a config.toml, which may name a keyring or another provider"
	}
	return "no", "there is no auth.json in " + home + ", and no key in the environment"
}
