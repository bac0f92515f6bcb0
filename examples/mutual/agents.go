package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/providers"
)

// patience is how long one prompt of a client may take.
const patience = 5 * time.Minute

// agent is a CLI in both of its parts: it asks our server as a client, and our
// server runs it as a worker.
type agent struct {
	name  string            // of its provider
	exe   string            // its program
	token string            // as whom it calls: agents see their own work only
	work  string            // where it works
	env   map[string]string // beside the environment; what points it at the loopback model
	base  []string          // its environment as a client

	toolName func(tool string) string  // what it calls a tool of ours
	task     func(file string) string  // has it make a file
	argv     func(url string) []string // a client of the server at url; the prompt is on its input
}

// newAgents prepares both agents, each with directories of its own, and the model
// that they share. The returned function ends that.
func newAgents(dir string, o options) (claude, codex *agent, end func() error, err error) {
	end = func() error { return nil }
	claude = &agent{name: "claude", exe: o.claude, toolName: func(tool string) string { return "mcp__harness__" + tool }}
	codex = &agent{name: "codex", exe: o.codex, toolName: func(tool string) string { return tool }}
	claude.argv = func(url string) []string {
		return []string{"-p", "--mcp-config", claudeConfig(url, claude.token), "--strict-mcp-config", "--allowedTools", "mcp__harness"}
	}
	codex.argv = func(url string) []string {
		return append([]string{"exec", "--skip-git-repo-check"}, append(codexConfig(url), "-")...)
	}
	var modelURL string
	if !o.own {
		model, err := modelserver.Start()
		if err != nil {
			return nil, nil, nil, err
		}
		end, modelURL = model.Close, model.URL()
	}
	for _, a := range []*agent{claude, codex} {
		if err := a.prepare(filepath.Join(dir, a.name), modelURL); err != nil {
			return nil, nil, nil, errors.Join(err, end())
		}
	}
	return claude, codex, end, nil
}

func (a *agent) prepare(dir, modelURL string) (err error) {
	if a.exe, err = exec.LookPath(a.exe); err != nil {
		return fmt.Errorf("%s is not installed, or -%s does not name it: %w", a.name, a.name, err)
	}
	a.token, a.work, a.base = rand.Text(), filepath.Join(dir, "work"), os.Environ()
	if err := os.MkdirAll(a.work, 0o700); err != nil {
		return err
	}
	a.task = func(file string) string {
		return "Make the empty file " + file + " with the shell command touch, and do nothing else. Then say that it is made."
	}
	if modelURL == "" {
		return nil
	}
	loopback := providers.Loopbacks[a.name]
	a.task = func(file string) string { return loopback.Approval("touch "+file) + "\nsay The file is made." }
	if a.env, err = loopback.Env(dir, modelURL); err != nil {
		return err
	}
	a.base = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()} // nothing of the user's own
	for name, value := range a.env {
		a.base = append(a.base, name+"="+value)
	}
	return nil
}

// ask runs the CLI with one prompt, as a client of the server, and returns what
// it printed.
func (a *agent) ask(ctx context.Context, url, prompt string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.exe, a.argv(url)...)
	cmd.Dir, cmd.WaitDelay = a.work, 5*time.Second
	cmd.Env = append(a.base[:len(a.base):len(a.base)], tokenVariable+"="+a.token)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	go func() {
		_, _ = fmt.Fprint(stdin, prompt) // a CLI that has ended says why
		_ = stdin.Close()
	}()
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		return "", fmt.Errorf("%s: %w\n%s%s", a.name, err, out, exit.Stderr)
	}
	return string(out), err
}

// tokenVariable is where Codex finds its token.
const tokenVariable = "MUTUAL_TOKEN"

// claudeConfig is a --mcp-config for Claude Code.
func claudeConfig(url, token string) string {
	type object = map[string]any
	config, _ := json.Marshal(object{"mcpServers": object{"harness": object{
		"type": "http", "url": url, "headers": object{"Authorization": "Bearer " + token},
	}}})
	return string(config)
}

// codexConfig returns the same for Codex, whose own limits are too short for waits
// and which has nobody to ask before it calls a tool.
func codexConfig(url string) []string {
	return []string{
		"-c", fmt.Sprintf("mcp_servers.harness.url=%q", url),
		"-c", fmt.Sprintf("mcp_servers.harness.bearer_token_env_var=%q", tokenVariable),
		"-c", "mcp_servers.harness.tool_timeout_sec=120",
		"-c", `mcp_servers.harness.default_tools_approval_mode="approve"`,
	}
}
