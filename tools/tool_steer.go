package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

type steerArgs struct {
	SessionID string `arg:"session_id,required"`
	Prompt    string `arg:"prompt,required"`
	TurnID    string `arg:"turn_id" doc:"refused if another turn runs"`
	waiting
	keyed
}

var steerTool = tool[steerArgs, *turnObject]{
	name:  "steer",
	title: "Steer the running turn",
	description: "Add a message to the turn that is running, without stopping it: a correction or a missing fact. " +
		"Only where the provider can (capabilities.steer); otherwise capability_unsupported, then follow_up, " +
		"or interrupt and send_message.",
	hints:  adds,
	output: turnOutput,
	run: func(ctx context.Context, c *call, in steerArgs) (*turnObject, error) {
		return c.runTurn(ctx, in.duration(0), func() (core.Turn, error) {
			return c.h.Steer(ctx, c.caller, core.SteerRequest{
				SessionID: in.SessionID, TurnID: in.TurnID, Input: core.TurnInput{Prompt: in.Prompt}, Once: c.once,
			})
		})
	},
}
