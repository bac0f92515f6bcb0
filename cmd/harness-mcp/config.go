package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type configCmd struct {
	Client     string `arg:"" enum:"claude,codex,vscode,cursor" help:"claude, codex, vscode or cursor."`
	Background bool   `help:"Recommended: connect to a server in the background, which is started when none runs and outlives the client."`
	HTTP       string `name:"http" placeholder:"URL" help:"Reach a server over HTTP (http://127.0.0.1:7333/mcp) with a token, which the entry does not hold."`
	TokenEnv   string `placeholder:"NAME" help:"With --http: the environment variable of the client that has the token (HARNESS_MCP_TOKEN)."`
	Address    string `placeholder:"ADDR" help:"With --background: where that server is, unix:PATH or HOST:PORT (unix:, with the path of socket beside the journal)."`
}

// Run prints the entry that adds this program to a client, with the time-out
// and approval settings that long waits and unattended work need. The common
// flags of this command line are in it.
func (k *configCmd) Run(c *Common, std stdio, kctx *kong.Context) error {
	// Typed: in a file or a variable, http is where serve listens.
	if slices.ContainsFunc(flagsOnCommandLine(kctx), func(f *kong.Flag) bool { return f.Name == "http" || f.Name == "token-env" }) {
		return k.overHTTP(std.out, argvOf(kctx, k))
	}
	if err := c.dirsExist(); err != nil {
		return err
	}
	argv, err := k.argv(c, argvOf(kctx, k))
	if err != nil {
		return err
	}
	cmd := self()
	switch k.Client {
	case "codex":
		return codexEntry(std.out, cmd, argv)
	case "claude":
		fmt.Fprintf(std.out, "# Run this once; it holds in every folder of yours:\nclaude mcp add --scope user harness -- %s\n\n# or put this into .mcp.json of one project:\n", shellWords(append([]string{cmd}, argv...)))
		return jsonEntry(std.out, "mcpServers", map[string]any{"type": "stdio", "command": cmd, "args": list(argv)})
	case "vscode":
		fmt.Fprintln(std.out, "// .vscode/mcp.json")
		return jsonEntry(std.out, "servers", map[string]any{"type": "stdio", "command": cmd, "args": list(argv)})
	}
	fmt.Fprintln(std.out, "// ~/.cursor/mcp.json")
	return jsonEntry(std.out, "mcpServers", map[string]any{"command": cmd, "args": list(argv)})
}

// argv returns the arguments with which a client starts this program: the common flags
// and the command. Paths are absolute, since a client may start it in any folder.
func (k *configCmd) argv(c *Common, flags []string) ([]string, error) {
	db, err := filepath.Abs(c.DB)
	if err != nil {
		return nil, err
	}
	for i, flag := range flags {
		if flags[i], err = absolute(flag); err != nil {
			return nil, err
		}
	}
	argv := slices.DeleteFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--db=") })
	if c.DB != defaultDB() { // a flag says so, or a variable or a file that the client may not know
		argv = slices.Insert(argv, 0, "--db", db)
	}
	switch {
	case !k.Background && k.Address != "":
		return nil, usageErrorf("Give --background too.", "--address is for --background")
	case !k.Background:
		return argv, nil
	}
	address, err := k.address(db)
	return append(argv, "connect", "--start", address), err
}

// absolute returns a flag with the path that it names made absolute.
func absolute(flag string) (string, error) {
	name, path, _ := strings.Cut(flag, "=")
	switch name {
	case "--db", "--config", "--path-dir", "--provider-config", "--allow-dir":
		path, err := filepath.Abs(path)
		return name + "=" + path, err
	}
	return flag, nil
}

// address returns the address of the server in the background.
func (k *configCmd) address(db string) (string, error) {
	address := k.Address
	if address == "" {
		address = unixScheme + filepath.Join(filepath.Dir(db), "socket")
	}
	if err := (&connectCmd{Start: true, Address: address}).check(); err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(address, unixScheme)
	if !ok {
		return address, nil
	}
	path, err := filepath.Abs(path)
	if err == nil && len(path) > maxSocketPath {
		err = usageErrorf("Give a shorter one: --address unix:PATH.", "the path of a socket has %d bytes at most, %s has %d", maxSocketPath, path, len(path))
	}
	return unixScheme + path, err
}

// shellWords quotes words for a shell.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("%+,-./:=@_", r) && !('0' <= r && r <= '9') && !('A' <= r && r <= 'Z') && !('a' <= r && r <= 'z')
		}) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func codexEntry(w io.Writer, cmd string, argv []string) error {
	_, err := fmt.Fprintf(w, `# ~/.codex/config.toml
[mcp_servers.harness]
command = %s
args = %s
# A call may wait for an agent: longer than our own 45 s.
tool_timeout_sec = 120
# Without a person to ask, Codex fails tools that it may not approve by itself.
default_tools_approval_mode = "approve"
`, quoted(cmd), quoted(list(argv)))
	return err
}

// quoted encodes a string or list in a form that is both TOML and JSON.
func quoted(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func jsonEntry(w io.Writer, key string, entry map[string]any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(map[string]any{key: map[string]any{"harness": entry}})
}

func list(argv []string) []string {
	if argv == nil {
		return []string{}
	}
	return argv
}

// self returns the command by which a client starts this program: its name if PATH
// finds it, else its path.
func self() string {
	exe, err := os.Executable()
	if err != nil {
		return "harness-mcp"
	}
	if found, err := exec.LookPath("harness-mcp"); err == nil {
		a, aerr := filepath.EvalSymlinks(found)
		b, berr := filepath.EvalSymlinks(exe)
		if aerr == nil && berr == nil && a == b {
			return "harness-mcp"
		}
	}
	return exe
}

// configPath returns the path of the configuration file when none is named.
func configPath() string {
	if p := os.Getenv("HARNESS_MCP_CONFIG"); p != "" {
		return p
	}
	dir, err := os.UserConfigDir()
	if xdg := os.Getenv("XDG_CONFIG_HOME"); err != nil && xdg != "" && !filepath.IsAbs(xdg) {
		// UserConfigDir fails on a relative one; the specification ignores it.
		dir, err = os.UserHomeDir()
		dir = filepath.Join(dir, ".config")
	}
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "harness-mcp", "config.json")
}

// configFile returns the configuration file: the one that --config names, else the one
// in the user's configuration directory.
func configFile(argv []string) (path string, named bool) {
	for i, a := range argv {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return v, true
		}
		if a == "--config" && i+1 < len(argv) {
			return argv[i+1], true
		}
		if a == "--" {
			break
		}
	}
	return configPath(), os.Getenv("HARNESS_MCP_CONFIG") != ""
}

// fromFile reads flags from a JSON file: {"max-sessions": 8}. A flag on the
// command line takes precedence over an environment variable, that over the file, and
// the file over the default. A key that is no flag is refused.
func fromFile(path string) (kong.Resolver, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(body, &values); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &fileResolver{path: path, values: values}, nil
}

type fileResolver struct {
	path   string
	values map[string]any
}

// Validate refuses keys that are no flag.
func (r *fileResolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, group := range app.AllFlags(false) {
		for _, f := range group {
			known[f.Name] = true
		}
	}
	for key := range r.values {
		if !known[key] {
			return fmt.Errorf("%s: there is no setting %q; settings are the names of the flags", r.path, key)
		}
	}
	return nil
}

// Resolve returns the file's value of a flag that neither the command line nor the
// environment sets.
func (r *fileResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, env := range flag.Envs {
		if _, set := os.LookupEnv(env); set {
			return nil, nil
		}
	}
	return r.values[flag.Name], nil
}
