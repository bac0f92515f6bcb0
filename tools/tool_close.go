package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

type closeArgs struct {
	ID     string `arg:"id,required" doc:"session or process"`
	Force  bool   `arg:"force" doc:"kill at once"`
	Reason string `arg:"reason"`
	keyed
}

var closeTool = tool[closeArgs, body]{
	name:  "close",
	title: "Close a session or process",
	description: "End a session or process for good and return its final state. A session: stops its turn, drops its " +
		"queue, ends the agent. A process: INT, then TERM, then KILL. What happened stays readable; a session can be " +
		"resumed with start_session. To stop only a turn use interrupt.",
	hints:  settles,
	output: objectOutput,
	run: func(ctx context.Context, c *call, in closeArgs) (body, error) {
		r, err := c.h.Close(ctx, c.caller, core.CloseRequest{ID: in.ID, Force: in.Force, Reason: in.Reason, Once: c.once})
		if err != nil {
			return nil, err
		}
		return c.resourceObject(r), nil
	},
}
