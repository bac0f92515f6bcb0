package providers

import (
	"github.com/harness-mcp/harness-mcp/providers/acp"
	"github.com/harness-mcp/harness-mcp/providers/claude"
	"github.com/harness-mcp/harness-mcp/providers/codex"
	"github.com/harness-mcp/harness-mcp/providers/pi"
)

// Loopback points a provider's CLI at a model server on this machine, so that
// it can be tried without an account or cost.
type Loopback struct {
	// Env is made below root for the model server at url.
	Env func(root, url string) (map[string]string, error)
	// Approval returns the prompt by which the loopback model makes the agent ask
	// before it runs the command.
	Approval func(command string) string
}

// Loopbacks are the providers that can be tried so, by name.
var Loopbacks = withACP(map[string]Loopback{
	"claude": {Env: claude.Loopback, Approval: func(command string) string { return "escalate " + command }},
	"codex":  {Env: codex.Loopback, Approval: func(command string) string { return "escalate " + command }},
	"pi":     {Env: pi.Loopback, Approval: pi.Call},
})

// withACP adds the known ACP agents.
func withACP(all map[string]Loopback) map[string]Loopback {
	for _, a := range acp.Agents() {
		if env := acp.Loopback(a.Name); env != nil {
			all[a.Name] = Loopback{Env: env, Approval: func(command string) string { return "escalate " + command }}
		}
	}
	return all
}
