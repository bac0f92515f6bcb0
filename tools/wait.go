package tools

import (
	"context"
	"log/slog"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// waitForTurn waits until a turn that a call has begun or moved ends or asks
// something, for at most wait, and makes its object. Whatever happens to the
// wait, the turn was begun: so this never fails, it shows what is known.
func (c *call) waitForTurn(ctx context.Context, t core.Turn, wait time.Duration) *turnObject {
	asItIs := core.Resource{Kind: core.KindTurn, ID: t.ID, Turn: &t}
	if wait <= 0 {
		// A repeated call can meet a turn that asks something by now.
		if t.Status == core.TurnIsAwaitingInput {
			if r, err := c.h.Get(ctx, c.caller.Owner, t.ID); err == nil && r.Turn != nil {
				asItIs = r
			}
		}
		return c.turnReply(asItIs, false)
	}
	res, err := c.await(ctx, core.AwaitRequest{
		IDs: []string{t.ID}, Wait: wait, WakeOnRequest: true, Progress: c.reportProgress,
	})
	if err != nil || len(res.Results) != 1 || res.Results[0].Turn == nil {
		if err != nil && !core.IsContext(err) {
			c.opts.Logger.Warn("waiting for a turn failed", slog.String("turn", t.ID), slog.Any("error", err))
		}
		return c.turnReply(asItIs, false)
	}
	c.now = time.Now()
	return c.turnReply(res.Results[0], res.Outcome == core.OutcomeTimeout)
}

// processWait says how long a call waits for a process that it has started or
// written to.
type processWait struct {
	pattern      string
	after        uint64
	wait         time.Duration
	dialogueStep bool // of a dialogue: the caller knows the process well by now
}

// waitForProcess waits until a process ends or its output matches, and makes its
// object with the output since. Whatever happens to the wait, the process has
// been started or written to: so this never fails, it shows what is known.
func (c *call) waitForProcess(ctx context.Context, p core.ProcessSnapshot, s processWait) *processObject {
	r := core.Resource{Kind: core.KindProcess, ID: p.ID, Process: &p}
	looked := false
	if s.wait > 0 || s.pattern != "" {
		res, err := c.h.Await(ctx, c.caller, core.AwaitRequest{
			IDs: []string{p.ID}, Wait: s.wait, Pattern: s.pattern, After: s.after, Progress: c.reportProgress,
		})
		switch {
		case err == nil && len(res.Results) == 1 && res.Results[0].Process != nil:
			r, looked = res.Results[0], true
		case err != nil && !core.IsContext(err):
			c.opts.Logger.Warn("waiting for a process failed", slog.String("process", p.ID), slog.Any("error", err))
		}
		c.now = time.Now()
	}
	o := c.processObject(r)
	if looked {
		o.setPattern(s.pattern, s.after)
	}
	silent := o.Status.Ended() && o.StdoutBytes+o.StderrBytes == 0
	if !silent && (s.wait > 0 || s.pattern != "" || s.after > 0) {
		c.addOutput(o, s.after)
	}
	if s.dialogueStep {
		o.shorten()
	}
	c.afterProcess(o)
	return o
}
