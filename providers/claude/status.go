package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// keys are the variables that Claude Code takes a credential from.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"}

// Status runs `claude --version` and looks for signs of a sign-in. It sends no
// prompt.
func (p *provider) Status(ctx context.Context) core.Status {
	exe, err := p.Find(command, "Install it: "+install)
	s := core.Status{Executable: exe.Path, Searched: exe.Searched}
	s.Authenticated, s.Evidence = evidence(os.Getenv)
	if err != nil {
		s.Reason = core.AsError(err).Message + ". " + core.AsError(err).Hint
		return s
	}
	// In an environment without the user's.
	out, err := link.Run(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: []string{"--version"}, Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	if err != nil {
		s.Reason = "claude --version failed: " + core.AsError(err).Message
		return s
	}
	version, _, _ := strings.Cut(strings.TrimSpace(out.Stdout), " ") // "2.1.332 (Claude Code)"
	if _, ok := parseVersion(version); !ok {
		s.Reason = "claude --version printed no version"
		return s
	}
	s.Ready, s.Version = true, version
	return s
}

// evidence reports whether there are signs of a sign-in: never more than a guess,
// since a key may be refused and credentials may be in a keychain.
func evidence(getenv func(string) string) (word, why string) {
	if why, ok := link.KeyIn(getenv, keys); ok {
		return "yes", why
	}
	dir := configDir(getenv)
	if dir == "" {
		return "unknown", "neither CLAUDE_CONFIG_DIR nor HOME is set"
	}
	if _, err := os.Stat(filepath.Join(dir, ".credentials.json")); err == nil {
		return "yes", ".credentials.json in " + dir
	} else if !os.IsNotExist(err) {
		return "unknown", ".credentials.json in " + dir + " cannot be read"
	}
	if _, err := os.Stat(filepath.Join(dir, "settings.json")); err == nil {
		return "unknown", "no .credentials.json in " + dir + ", but a settings.json, which may name a helper"
	}
	return "no", "no .credentials.json in " + dir + " and no key in the environment"
}

// configDir is where Claude Code keeps its files, "" where that is unknown.
func configDir(getenv func(string) string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}
