package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

type pruneArgs struct {
	ID          string `arg:"id" doc:"session or process"`
	OlderThanMS *int64 `arg:"older_than_ms" min:"0" doc:"all that ended longer ago"`
	DryRun      bool   `arg:"dry_run" doc:"only say which"`
	keyed
}

var pruneTool = tool[pruneArgs, *prunedObject]{
	name:  "prune",
	title: "Delete ended resources",
	description: "Delete ended sessions or processes and their journals for good: one id, or all of yours that ended " +
		"longer ago than older_than_ms. Running ones are refused. Not needed in ordinary work: old ones go by themselves.",
	hints:  destroys,
	output: pruneOutput,
	run: func(ctx context.Context, c *call, in pruneArgs) (*prunedObject, error) {
		if (in.ID == "") == (in.OlderThanMS == nil) {
			return nil, core.Errorf(core.CodeInvalidArgument, "give either id or older_than_ms").
				WithHint(`For example {"older_than_ms": 86400000, "dry_run": true} names what ended more than a day ago.`)
		}
		ids, err := c.h.Prune(ctx, c.caller, core.PruneRequest{
			ID: in.ID, OlderThan: milliseconds(in.OlderThanMS), DryRun: in.DryRun, Once: c.once,
		})
		if err != nil {
			return nil, err
		}
		return c.pruned(ids, in), nil
	},
}

// prunedObject is the reply of prune.
type prunedObject struct {
	nexts
	DryRun bool     `json:"dry_run,omitempty"`
	Pruned []string `json:"pruned"`

	all []string
	id  string // that was to be deleted, "" for all old ones
}

func (c *call) pruned(ids []string, in pruneArgs) *prunedObject {
	o := &prunedObject{DryRun: in.DryRun, Pruned: []string{}, all: ids, id: in.ID}
	if in.DryRun && len(ids) > 0 {
		a := args{}
		if in.ID != "" {
			a["id"] = in.ID
		} else {
			a["older_than_ms"] = *in.OlderThanMS
		}
		o.suggest("prune", "deletes them", a)
	}
	return o
}

func (o *prunedObject) slots() []slot {
	if len(o.all) == 0 {
		return nil
	}
	return []slot{&listSlot{dst: &o.Pruned, src: o.all}}
}

func (o *prunedObject) links() []mcp.ResourceLink { return nil }

func (o *prunedObject) prose() prose {
	line := fmt.Sprintf("%s deleted.", proseCount(len(o.all), "resource"))
	switch {
	case o.id != "" && len(o.all) == 0: // a repeated call: the first has deleted it
		line = fmt.Sprintf("There is no %s any more: nothing deleted.", clip(o.id, maxShownValue))
	case o.DryRun:
		line = fmt.Sprintf("%s would be deleted.", proseCount(len(o.all), "resource"))
	}
	return prose{lines: []string{line}, content: strings.Join(o.Pruned, "\n")}
}
