package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

type configureArgs struct {
	SessionID       string `arg:"session_id,required"`
	Model           string `arg:"model"`
	ReasoningEffort string `arg:"reasoning_effort"`
	ApprovalMode    string `arg:"approval_mode" enum:"default|prompt|auto_edit|auto_approve"`
	SandboxMode     string `arg:"sandbox_mode" enum:"default|read_only|workspace_write|unrestricted"`
	keyed
}

var configureTool = tool[configureArgs, *sessionObject]{
	name:  "configure",
	title: "Configure a session",
	description: "Change model, reasoning effort, approval or sandbox mode of an open session, from its next turn on. " +
		"Only what the provider can change live; otherwise option_unsupported or capability_unsupported, " +
		"nothing changed. For other settings start a new session.",
	hints:  settles,
	output: sessionOutput,
	run: func(ctx context.Context, c *call, in configureArgs) (*sessionObject, error) {
		v, err := c.h.Configure(ctx, c.caller, core.ConfigureRequest{
			SessionID: in.SessionID, Once: c.once,
			Changes: core.Changes{
				Model: in.Model, ReasoningEffort: in.ReasoningEffort,
				ApprovalMode: core.ApprovalMode(in.ApprovalMode), SandboxMode: core.SandboxMode(in.SandboxMode),
			},
		})
		if err != nil {
			return nil, err
		}
		o := c.session(v)
		c.afterSession(o)
		return o, nil
	},
}
