package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

type startSessionArgs struct {
	Provider string `arg:"provider" doc:"required without resume"`
	launchArgs
	SessionID     string   `arg:"session_id" max:"128" doc:"your own id"`
	Resume        string   `arg:"resume" doc:"session_id to continue, with its stored settings"`
	ProviderSesID string   `arg:"provider_session_id" doc:"a conversation begun in the agent's own CLI"`
	Fork          bool     `arg:"fork" doc:"with one of these two: branch into a new session"`
	Reuse         string   `arg:"reuse" enum:"never|closed|replace" doc:"take a session_id used before"`
	Skills        []string `arg:"skills" doc:"paths"`
	UnsetEnv      []string `arg:"unset_env"`
	EnvMode       string   `arg:"env_mode" enum:"overlay|replace"`
	Transport     string   `arg:"transport"`
	TurnIdleMS    *int64   `arg:"turn_idle_timeout_ms" min:"1"`
	SessionIdleMS *int64   `arg:"session_idle_timeout_ms" min:"0" doc:"0: none"`
	RequestMS     *int64   `arg:"request_timeout_ms" min:"0" doc:"0: none"`
	StartupMS     *int64   `arg:"startup_timeout_ms" min:"1"`
	keyed
}

var startSessionTool = tool[startSessionArgs, *sessionObject]{
	name:  "start_session",
	title: "Start an agent session",
	description: "Open a conversation with a coding agent and keep it for several turns. Returns when it is ready, " +
		"with session_id. Use delegate for one task. provider comes from list_providers. resume continues an earlier " +
		"session, also after a restart. The agent works in cwd with its own credentials. Next: send_message.",
	hints:  opens,
	output: sessionOutput,
	run: func(ctx context.Context, c *call, in startSessionArgs) (*sessionObject, error) {
		if in.Provider == "" && in.Resume == "" {
			return nil, core.Errorf(core.CodeInvalidArgument, "provider is required without resume").
				WithHint("list_providers says which there are.")
		}
		r := core.StartRequest{Config: config(in), Reuse: core.Reuse(in.Reuse), Resume: in.Resume, Fork: in.Fork, Once: c.once}
		c.chooseAnswerer(ctx, &r)
		v, err := c.h.StartSession(ctx, c.caller, r)
		if err != nil {
			return nil, err
		}
		o := c.session(v)
		caps := withAllSupport(v.Capabilities)
		o.Capabilities = &caps
		c.afterSession(o)
		return o, nil
	},
}
