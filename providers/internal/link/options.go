package link

import (
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// Options are how an agent is found and started, the same for every provider.
type Options struct {
	Runner   process.Runner // where it runs; required
	Exec     string         // the executable, instead of a search for the agent's command
	PathDirs []string       // directories to search after PATH
	Logger   *slog.Logger   // nil: the default one
}

// Log returns the logger of a provider.
func (o Options) Log(provider string) *slog.Logger {
	log := o.Logger
	if log == nil {
		log = slog.Default()
	}
	return log.With("provider", provider)
}

// Executable is a program that was found.
type Executable struct {
	Path     string   // what to start
	Args     []string // before the arguments of the call
	Searched []string // directories
}

// Find looks for a command in PATH and in the directories of the options. hint
// is how to install it, without a full stop.
//
// Errors: CodeProviderNotReady.
func (o Options) Find(command, hint string) (Executable, error) {
	name := o.Exec
	if name == "" {
		name = command
	}
	path, searched, err := process.LookPath(name, slices.Concat(o.PathDirs, process.DefaultDirs()))
	if err != nil {
		err = core.Errorf(core.CodeProviderNotReady, "%w", err).
			WithHint("%s, or name its directory with --path-dir.", hint).WithDetail("searched", searched)
	}
	return Executable{Path: path, Searched: searched}, err
}

// OwnVersion returns the version of this program, for handshakes.
func OwnVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// KeyIn reports which of the variables that hold a credential is set.
func KeyIn(getenv func(string) string, names []string) (evidence string, ok bool) {
	for _, name := range names {
		if getenv(name) != "" {
			return name + " is set", true
		}
	}
	return "", false
}

// CheckTransport refuses a transport that the provider does not have.
//
// Errors: CodeOption.
func CheckTransport(provider, has string, cfg core.SessionConfig) *core.Error {
	if cfg.Transport == "" || cfg.Transport == has {
		return nil
	}
	return core.Errorf(core.CodeOption, "%s has no transport %q", provider, cfg.Transport).WithHint("Use %s.", has)
}
