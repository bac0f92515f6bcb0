package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

const describe = `Delegate work to coding agents over MCP, and read back every step.

Without a command it serves MCP on stdin and stdout, which is how an MCP client starts it.
Try "harness-mcp demo" first: it needs no account and no other program.

Every flag has an environment variable (--max-sessions is HARNESS_MCP_MAX_SESSIONS) and a key in
the configuration file ({"max-sessions": 8}); the command line wins over both, the variable over the file.
Exit codes: 0 a clean end, 1 a failure, 2 a wrong command line.`

// cli is the command line.
type cli struct {
	Common
	ShowVersion versionFlag `name:"version" env:"-" help:"Print the version."`

	Serve   serveCmd   `cmd:"" default:"withargs" help:"Serve MCP (the default)."`
	Connect connectCmd `cmd:"" help:"Connect stdin and stdout to a running server, so that work outlives the client."`
	Demo    demoCmd    `cmd:"" help:"Show the main job end to end on the built-in scripted agent."`
	Check   checkCmd   `cmd:"" help:"Print which agents are installed and ready, or why not."`
	Log     logCmd     `cmd:"" help:"Read a journal, live or ended, while a server runs or not."`
	List    listCmd    `cmd:"" help:"List sessions, turns, requests or processes of a journal, with their ids."`
	Respond respondCmd `cmd:"" help:"Answer a request of a running server, as the owner of its journal."`
	Config  configCmd  `cmd:"" help:"Print the entry that puts this program into an MCP client."`
	Reap    reapCmd    `cmd:"" help:"End the processes that dead servers left behind, and print them."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// Common holds the flags of every command.
type Common struct {
	Config           string    `placeholder:"FILE" env:"HARNESS_MCP_CONFIG" help:"JSON file with flags by name (default ${config}, if it is there)."`
	DB               string    `name:"db" placeholder:"PATH" default:"${state}" help:"Journal file (${default})."`
	LogLevel         string    `enum:"debug,info,warn,error" default:"warn" help:"What goes to stderr: debug, info, warn or error (${default})."`
	MaxSessions      int       `default:"64" help:"Live agent sessions at most (${default})."`
	MaxSessionsEach  int       `name:"max-sessions-per-owner" default:"0" placeholder:"N" help:"Live agent sessions of one token's owner at most; 0 for no limit of its own (${default})."`
	MaxProcesses     int       `default:"256" help:"Live processes at most (${default})."`
	MaxProcessesEach int       `name:"max-processes-per-owner" default:"0" placeholder:"N" help:"Live processes of one token's owner at most; 0 for no limit of its own (${default})."`
	PathDir          []string  `placeholder:"DIR" help:"Where else to look for executables, after PATH. Repeatable."`
	ProviderConfig   string    `placeholder:"FILE" help:"JSON file that adds or changes agents that use the Agent Client Protocol."`
	AllowDir         []string  `placeholder:"DIR" help:"Confine the agents' directories to these. Repeatable; none means no limit."`
	AllowExec        []string  `placeholder:"PROGRAM" help:"Confine start_process to these: names, paths or folders. Repeatable; none means no limit."`
	Raw              string    `enum:"on,off" default:"on" help:"Keep the providers' own frames beside the events: on or off (${default})."`
	Durability       string    `enum:"normal,full,off" default:"normal" help:"What a commit survives: normal (the end of the server), full (power loss) or off (nothing is stored) (${default})."`
	StoreFailure     string    `enum:"degrade,stop" default:"degrade" help:"When the journal cannot be written: degrade continues without durability and reports it, stop ends the session (${default})."`
	Retention        retention `default:"30d" placeholder:"AGE,SIZE" help:"What is kept of what has ended: an age (30d, 12h), a size of the whole journal (2GB), or both with a comma between (${default})."`
	Tools            string    `enum:"all,core" default:"all" help:"Tools to offer: all, or core for delegation only (${default})."`
	Otel             string    `name:"otel" placeholder:"URL" help:"Send OpenTelemetry spans to the collector at this address (http://127.0.0.1:4318), over HTTP. Off by default; they hold no prompts, output or secrets."`
	Metrics          string    `placeholder:"ADDR" help:"Serve Prometheus metrics at /metrics of this loopback address (127.0.0.1:9464). Off by default."`
	Compat           string    `enum:",codex" default:"" placeholder:"NAME" help:"Add the tools of another server: codex, for the MCP server that Codex had before 0.154."`
	Wait             int       `default:"45000" placeholder:"MS" help:"How long await and delegate wait by default, in milliseconds (${default})."`
	AnswerBy         string    `enum:"caller,user" default:"caller" help:"user: only a person may answer agents' requests (${default})."`
}

func (c *Common) limits() core.Limits {
	return core.Limits{
		MaxSessions: c.MaxSessions, MaxSessionsPerOwner: c.MaxSessionsEach, MaxProcesses: c.MaxProcesses, MaxProcessesPerOwner: c.MaxProcessesEach, AllowDirs: c.AllowDir, AllowExec: c.AllowExec,
		DropRaw: c.Raw == "off", StopOnStoreFailure: c.StoreFailure == "stop",
		Retention: c.Retention.age, RetentionBytes: c.Retention.bytes, AnswerByUser: c.AnswerBy == "user",
	}
}

// defaultDB returns the path of the journal in the user's state directory, or "" if
// the environment names no such directory. A relative XDG_STATE_HOME is ignored, as
// the XDG Base Directory Specification requires.
func defaultDB() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "harness-mcp", "journal.db")
}

// dbKnown returns a usageError if no journal is named and the environment has no home
// directory. A folder for all users, such as /tmp, is no substitute: anyone may have
// made it.
func (c *Common) dbKnown(command string) error {
	name, _, _ := strings.Cut(command, " ")
	if c.DB != "" || name == "version" || name == "demo" {
		return nil
	}
	return usageErrorf("Name a file of yours: --db PATH.", "there is no place for the journal: HOME is not set to an absolute path")
}

// plain returns the text of an error for a terminal.
func plain(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	s := e.Message
	if e.Hint != "" {
		s += "\n" + sentence(e.Hint)
	}
	return s
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(std stdio) error {
	_, err := fmt.Fprintf(std.out, "harness-mcp %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version returns the module's version, as the Go tool stamped it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
