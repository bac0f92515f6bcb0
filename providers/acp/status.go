package acp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// Status looks for the agent, its version and signs of a sign-in. It does not
// start it: some of these agents take ten seconds of a processor to print their
// version.
func (p *provider) Status(ctx context.Context) core.Status {
	exe, err := p.find()
	s := core.Status{Executable: exe.Path, Searched: exe.Searched, Version: exe.manifest.Version}
	s.Authenticated, s.Evidence = p.evidence()
	if err != nil {
		s.Reason = core.AsError(err).Message + ". " + core.AsError(err).Hint
		return s
	}
	if exe.script {
		if why := p.nodeTrouble(ctx, exe.manifest.Engines.Node); why != "" {
			s.Reason = why
			return s
		}
	}
	s.Ready = true
	return s
}

// nodeTrouble returns why the Node in PATH cannot run the agent, or "".
func (p *provider) nodeTrouble(ctx context.Context, engines string) string {
	path := os.Getenv("PATH")
	if v := p.agent.Env["PATH"]; v != "" {
		path = v
	}
	node := ""
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, "node")); err == nil && info.Mode().IsRegular() {
			node = filepath.Join(dir, "node")
			break
		}
	}
	if node == "" {
		return "It needs Node.js, and there is no node in PATH."
	}
	need := major(strings.TrimLeft(engines, ">=^~ v"))
	if need == 0 {
		return ""
	}
	out, err := link.Run(ctx, p.Runner, process.Spec{Path: node, Args: []string{"--version"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	have := strings.TrimSpace(out.Stdout)
	if err != nil || major(strings.TrimPrefix(have, "v")) >= need {
		return "" // unknown is no reason against it
	}
	return fmt.Sprintf("It needs Node.js %d or newer; the one in PATH is %s.", need, have)
}

// major is the first number of a version, 0 when there is none.
func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(strings.TrimSpace(head))
	if err != nil {
		return 0
	}
	return n
}

// evidence reports whether there are signs of a sign-in: never more than a guess.
func (p *provider) evidence() (word, why string) {
	a := p.agent
	for _, key := range a.AuthEnv {
		if os.Getenv(key) != "" || a.Env[key] != "" {
			return "yes", key + " is set"
		}
	}
	home, err := os.UserHomeDir()
	if err != nil || len(a.AuthFiles)+len(a.AuthEnv) == 0 {
		return "unknown", "nothing to go by"
	}
	for _, f := range a.AuthFiles {
		if _, err := os.Stat(filepath.Join(home, filepath.FromSlash(f))); err == nil {
			return "yes", "there is a ~/" + f
		}
	}
	return "unknown", "no key in the environment and no known file of credentials; it may have its own"
}
