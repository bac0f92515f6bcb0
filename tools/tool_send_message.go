package tools

import (
	"context"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

type sendMessageArgs struct {
	SessionID       string            `arg:"session_id,required"`
	Prompt          string            `arg:"prompt,required"`
	Content         []contentBlock    `arg:"content" doc:"follows the prompt"`
	Attachments     []string          `arg:"attachments" doc:"paths"`
	TurnID          string            `arg:"turn_id" max:"128" doc:"your own id"`
	ReasoningEffort string            `arg:"reasoning_effort"`
	OutputSchema    rawObject         `arg:"output_schema" doc:"JSON Schema of the answer"`
	Metadata        map[string]string `arg:"metadata"`
	ProviderOptions anyObject         `arg:"provider_options"`
	waiting
	keyed
}

var sendMessageTool = tool[sendMessageArgs, *turnObject]{
	name:  "send_message",
	title: "Send a message",
	description: "Start a turn in an idle session; returns its turn_id at once. wait_ms also waits, as await would. " +
		"Fails with turn_in_progress while a turn runs: follow_up queues behind it. " +
		"The prompt reaches the agent as it is. Next: await [turn_id].",
	hints:  adds,
	output: turnOutput,
	run: func(ctx context.Context, c *call, in sendMessageArgs) (*turnObject, error) {
		return c.runTurn(ctx, in.duration(0), func() (core.Turn, error) {
			return c.h.SendMessage(ctx, c.caller, core.SendRequest{
				SessionID: in.SessionID, TurnID: in.TurnID, Once: c.once,
				Input: core.TurnInput{
					Prompt: in.Prompt, Content: blocks(in.Content), Attachments: in.Attachments,
					ReasoningEffort: in.ReasoningEffort, OutputSchema: json.RawMessage(in.OutputSchema),
					Metadata: in.Metadata, ProviderOptions: in.ProviderOptions,
				},
			})
		})
	},
}
