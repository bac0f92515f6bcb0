package tools

import (
	"context"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

type followUpArgs struct {
	SessionID    string            `arg:"session_id,required"`
	Prompt       string            `arg:"prompt,required"`
	Content      []contentBlock    `arg:"content"`
	Attachments  []string          `arg:"attachments"`
	TurnID       string            `arg:"turn_id" max:"128" doc:"your own id"`
	OutputSchema rawObject         `arg:"output_schema"`
	Metadata     map[string]string `arg:"metadata"`
	waiting
	keyed
}

var followUpTool = tool[followUpArgs, *turnObject]{
	name:  "follow_up",
	title: "Queue a follow-up",
	description: "Queue a prompt behind the running turn; starts at once if the session is idle. Turns run in the order " +
		"given, each with its own turn_id. Use when you already know the next step. " +
		"Drop one with interrupt {session_id, turn_id}. Next: await.",
	hints:  adds,
	output: turnOutput,
	run: func(ctx context.Context, c *call, in followUpArgs) (*turnObject, error) {
		return c.runTurn(ctx, in.duration(0), func() (core.Turn, error) {
			return c.h.FollowUp(ctx, c.caller, core.SendRequest{
				SessionID: in.SessionID, TurnID: in.TurnID, Once: c.once,
				Input: core.TurnInput{
					Prompt: in.Prompt, Content: blocks(in.Content), Attachments: in.Attachments,
					OutputSchema: json.RawMessage(in.OutputSchema), Metadata: in.Metadata,
				},
			})
		})
	},
}
