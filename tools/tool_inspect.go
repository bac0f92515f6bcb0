package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

type inspectArgs struct {
	ID       string `arg:"id,required" doc:"session, turn, request or process"`
	Offset   *int64 `arg:"offset" min:"0" doc:"bytes into a turn's text"`
	MaxBytes *int64 `arg:"max_bytes" min:"1" max:"1048576" doc:"default 8192"`
}

var inspectTool = tool[inspectArgs, body]{
	name:  "inspect",
	title: "Inspect one resource",
	description: "The present state of one session, turn, request or process: status, last answer, pending requests, " +
		"queue, usage. Use after losing track of an id's state; to wait use await. " +
		"offset pages through a long answer (next_offset). Changes nothing.",
	hints:  reads,
	meta:   mayBeLong,
	output: objectOutput,
	run: func(ctx context.Context, c *call, in inspectArgs) (body, error) {
		c.maxBytes(in.MaxBytes)
		r, err := c.h.Get(ctx, c.caller.Owner, in.ID)
		if err != nil {
			return nil, err
		}
		if in.Offset == nil {
			o := c.resourceObject(r)
			if t, ok := o.(*turnObject); ok {
				t.showsNextOffset = true
			}
			return o, nil
		}
		if r.Kind != core.KindTurn {
			return nil, core.Errorf(core.CodeInvalidArgument, "offset pages the text of a turn, and %s is a %s", in.ID, r.Kind).
				WithHint("Give the id of the turn, or leave offset out.")
		}
		return c.textPage(r, int(*in.Offset))
	},
}

// textPage returns a turn with its text from offset on.
func (c *call) textPage(r core.Resource, offset int) (*turnObject, error) {
	o := c.turn(*r.Turn, r.Pending())
	all := o.text.text
	if offset > len(all) {
		return nil, core.Errorf(core.CodeInvalidArgument, "offset %d is past the end: the text has %d bytes", offset, len(all)).
			WithHint("Use a next_offset, or 0 for the beginning.")
	}
	offset, o.pageMax = runeFloor(all, offset), c.contentBudget
	o.Offset = &offset
	// Both halves show the same page, since next_offset is one number: what
	// fits the structured half, where escapes cost room, fits the text half.
	fit(o.slots(), c.budget-pageRoom, func() []byte { return encode(o) })
	o.pageMax = len(o.Text)
	if o.NextOffset > 0 {
		a := args{"id": o.TurnID, "offset": o.NextOffset}
		if c.contentBudget != defaultBudget {
			a["max_bytes"] = c.contentBudget
		}
		o.suggest("inspect", "the next page", a)
	}
	return o, nil
}
