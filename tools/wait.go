package tools

import (
	"context"
	"log/slog"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// runTurn starts a turn, unless an earlier round of this call has, and waits for
// it as waitForTurn does.
func (c *call) runTurn(ctx context.Context, wait time.Duration, start func() (core.Turn, error)) (*turnObject, error) {
	t, err := c.startTurnOnce(ctx, start)
	if err != nil {
		return nil, err
	}
	return c.waitForTurn(ctx, t, wait), nil
}

// waitForTurn waits until a turn ends or asks something, for at most wait, and
// makes its object. It never fails: the turn was started, so an error of the
// wait is logged and the last known state is shown.
func (c *call) waitForTurn(ctx context.Context, t core.Turn, wait time.Duration) *turnObject {
	asItIs := core.Resource{Kind: core.KindTurn, ID: t.ID, Turn: &t}
	if wait <= 0 {
		// The turn of a repeated call may have a pending request by now.
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

// processWait is how a call waits for a process that it has started or written
// to.
type processWait struct {
	pattern      string
	after        uint64
	wait         time.Duration
	dialogueStep bool // a step of a dialogue: shown in short form
}

// waitForProcess waits until a process ends or its output matches, and makes
// its object with the output since. It never fails: the process was started or
// written to, so an error of the wait is logged and the last known state is
// shown.
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
