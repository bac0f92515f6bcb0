package pi

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// keys are the variables that Pi takes the credentials of well-known model
// providers from; it knows more.
var keys = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY"}

// version is what `pi --version` prints.
var version = regexp.MustCompile(`^\d+\.\d+\.\d+\S*$`)

// Status runs `pi --version` and looks for signs of a sign-in. It sends no
// prompt.
func (p *provider) Status(ctx context.Context) core.Status {
	exe, err := p.find()
	s := core.Status{Executable: exe.Path, Searched: exe.Searched}
	s.Authenticated, s.Evidence = evidence(os.Getenv)
	if err != nil {
		s.Reason = core.AsError(err).Message + ". " + core.AsError(err).Hint
		return s
	}
	if len(exe.Args) > 0 {
		s.Executable = exe.Args[0]
	}
	out, err := p.run(ctx, exe, "--version")
	if err != nil {
		s.Reason = "pi --version failed: " + core.AsError(err).Message
		return s
	}
	for l := range strings.Lines(out) {
		if l = strings.TrimSpace(l); version.MatchString(l) {
			s.Ready, s.Version = true, l
		}
	}
	if !s.Ready {
		s.Reason = "pi --version printed no version. Pi needs Node.js 22 or newer."
	}
	return s
}

// run runs a command of Pi's that needs no input, and returns what it wrote.
// Older releases write to stderr. Pi gets none of the user's secrets.
func (p *provider) run(ctx context.Context, exe link.Executable, args ...string) (string, error) {
	home, err := os.MkdirTemp("", "harness-mcp-pi-")
	if err != nil {
		return "", core.Errorf(core.CodeProviderNotReady, "there is no directory for it: %w", err)
	}
	defer os.RemoveAll(home)
	out, err := link.Run(ctx, p.Runner, process.Spec{Path: exe.Path, Args: slices.Concat(exe.Args, args),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0"}})
	return out.Stdout + "\n" + out.Stderr, err
}

// evidence reports whether there are signs of a sign-in: never more than a guess,
// since a key may be refused.
func evidence(getenv func(string) string) (word, why string) {
	if why, ok := link.KeyIn(getenv, keys); ok {
		return "yes", why
	}
	dir := getenv("PI_CODING_AGENT_DIR")
	if dir == "" && getenv("HOME") != "" {
		dir = filepath.Join(getenv("HOME"), ".pi", "agent")
	}
	if dir == "" {
		return "unknown", "neither PI_CODING_AGENT_DIR nor HOME is set"
	}
	for _, name := range []string{"auth.json", "models.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return "unknown", name + " in " + dir + ", which may hold a credential"
		}
	}
	return "unknown", "no auth.json in " + dir + ", and none of the well-known keys in the environment"
}
