package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

type interruptArgs struct {
	SessionID  string `arg:"session_id,required"`
	TurnID     string `arg:"turn_id" doc:"a queued turn: removed"`
	ClearQueue bool   `arg:"clear_queue"`
	waiting
	keyed
}

var interruptTool = tool[interruptArgs, *turnObject]{
	name:  "interrupt",
	title: "Interrupt a turn",
	description: "Stop the running turn; the session stays usable. Queued turns then start unless clear_queue is true. " +
		"turn_id of a queued turn removes just that one. The turn ends cancelled when the agent confirms. " +
		"To end the session use close.",
	hints:  settles,
	output: turnOutput,
	run: func(ctx context.Context, c *call, in interruptArgs) (*turnObject, error) {
		var queued int
		t, err := c.startTurnOnce(ctx, func() (core.Turn, error) {
			r, err := c.h.Interrupt(ctx, c.caller, core.InterruptRequest{
				SessionID: in.SessionID, TurnID: in.TurnID, ClearQueue: in.ClearQueue, Once: c.once,
			})
			queued = r.QueuedTurns
			return r.Turn, err
		})
		if err != nil {
			return nil, err
		}
		if t.ID == "" {
			return &turnObject{Object: "turn", SessionID: t.SessionID, QueuedTurns: &queued}, nil
		}
		o := c.waitForTurn(ctx, t, in.duration(0))
		o.QueuedTurns = &queued
		return o, nil
	},
}
