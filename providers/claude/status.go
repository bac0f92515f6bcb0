package claude

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// keys are the variables that Claude Code takes a credential from.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"}

// Status runs `claude --version` and looks for signs of a sign-in. It sends no
// prompt.
func (p *provider) Status(ctx context.Context) core.Status {
	exe, err := p.find()
	s := core.Status{Executable: exe.path, Searched: exe.searched}
	s.Authenticated, s.Evidence = evidence(os.Getenv)
	if err != nil {
		s.Reason = core.AsError(err).Message + ". " + core.AsError(err).Hint
		return s
	}
	// In an environment without the user's.
	out, _, err := p.run(ctx, exe, "", []string{"PATH=" + os.Getenv("PATH")}, "--version")
	if err != nil {
		s.Reason = "claude --version failed: " + core.AsError(err).Message
		return s
	}
	version, _, _ := strings.Cut(strings.TrimSpace(out), " ") // "2.1.332 (Claude Code)"
	if _, ok := parseVersion(version); !ok {
		s.Reason = "claude --version printed no version"
		return s
	}
	s.Ready, s.Version = true, version
	return s
}

// run runs a command of the CLI's that needs no input, and gives what it wrote
// and its exit code.
func (p *provider) run(ctx context.Context, exe executable, dir string, env []string, args ...string) (string, int, error) {
	child, err := p.opts.Runner.Start(ctx, process.Spec{Path: exe.path, Args: args, Dir: dir, Env: env})
	if err != nil {
		return "", 0, core.Errorf(core.CodeProviderNotReady, "it could not be started: %w", err)
	}
	unblock := context.AfterFunc(ctx, func() { _ = child.Kill() })
	defer unblock()
	defer func() { _ = child.Kill() }() // it has ended, or is not to go on
	_ = child.Stdin().Close()
	go func() { _, _ = io.Copy(io.Discard, child.Stderr()) }() // ends with the child
	out, err := io.ReadAll(io.LimitReader(child.Stdout(), maxProbe))
	if err != nil {
		return "", 0, core.Errorf(core.CodeProviderNotReady, "its output could not be read: %w", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		return "", 0, core.Errorf(core.CodeProviderNotReady, "it did not end in time: %w", ctx.Err())
	}
	return string(out), child.Exit().Code, nil
}

// evidence says whether there are signs of a sign-in: never more than a guess,
// since a key may be refused and credentials may lie in a keychain.
func evidence(getenv func(string) string) (word, why string) {
	for _, key := range keys {
		if getenv(key) != "" {
			return "yes", key + " is set"
		}
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

// configDir is where Claude Code keeps its files, "" where nobody can say.
func configDir(getenv func(string) string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}
