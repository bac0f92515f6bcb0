package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

type delegateArgs struct {
	Provider    string   `arg:"provider,required" doc:"from list_providers"`
	Prompt      string   `arg:"prompt,required"`
	Attachments []string `arg:"attachments" doc:"paths"`
	launchArgs
	KeepOpen bool `arg:"keep_open" doc:"for follow-ups"`
	waiting
	keyed
}

var delegateTool = tool[delegateArgs, *turnObject]{
	name:  "delegate",
	title: "Delegate a task",
	description: "Delegate one task in one call: opens a session, sends the prompt, waits, returns the agent's answer, " +
		"closes. If it takes longer or the agent asks something, the reply has turn_id and pending requests: go on " +
		"with await or respond, do not call delegate again. wait_ms 0 only starts it, for several at once. " +
		"keep_open allows follow-ups.",
	hints:  opens,
	meta:   alwaysShown,
	output: turnOutput,
	run:    runDelegate,
}

func runDelegate(ctx context.Context, c *call, in delegateArgs) (*turnObject, error) {
	c.progress.say("opening " + in.Provider)
	v, err := c.h.StartSession(ctx, c.caller, core.StartRequest{Config: in.config(in.Provider), Once: c.once})
	if err != nil {
		return nil, err
	}
	// The session holds the key now: the turn has one of its own, so that a
	// repeated call finds both.
	send := c.once
	send.Tool = "delegate/send"
	t, err := c.h.SendMessage(ctx, c.caller, core.SendRequest{
		SessionID: v.Session.ID, Once: send,
		Input: core.TurnInput{Prompt: in.Prompt, Attachments: in.Attachments, OutputSchema: json.RawMessage(in.OutputSchema)},
	})
	if err != nil {
		c.abandon(ctx, v.Session.ID)
		return nil, err
	}
	o := c.settleTurn(ctx, t, in.duration(c.opts.Wait))
	if !o.Status.Ended() && !in.KeepOpen {
		go c.closeAtRest(context.WithoutCancel(ctx), o.SessionID)
	}
	o.SessionStatus = c.finish(ctx, o, in.KeepOpen)
	return o, nil
}

// restLook is how long closeAtRest waits at a time.
const restLook = 10 * time.Minute

// closeAtRest closes the session of a delegated task whose caller has gone on,
// once it is idle with an empty queue. It lives as long as the session is at
// work: the harness bounds how many do, and ends them when it shuts down.
func (c *call) closeAtRest(ctx context.Context, session string) {
	for {
		res, err := c.h.Await(ctx, c.caller, core.AwaitRequest{IDs: []string{session}, Wait: restLook})
		if err != nil {
			return // it is gone
		}
		if res.Outcome != core.OutcomeDone {
			continue
		}
		_, err = c.h.Close(ctx, c.caller, core.CloseRequest{ID: session, Reason: reasonTaskEnded})
		if err != nil && core.CodeOf(err) != core.CodeNotFound {
			c.opts.Logger.Warn("closing a delegated session failed", slog.String("session", session), slog.Any("error", err))
		}
		return
	}
}

// reasonTaskEnded is why delegate closes a session, for the journal.
const reasonTaskEnded = "the delegated task ended"

// abandon closes a session in which nothing was begun.
func (c *call) abandon(ctx context.Context, session string) {
	_, err := c.h.Close(ctx, c.caller, core.CloseRequest{ID: session, Force: true, Reason: "delegate could not send its prompt"})
	if err != nil {
		c.opts.Logger.Warn("closing an unused session failed", slog.String("session", session), slog.Any("error", err))
	}
}

// finish closes the session of a turn that has ended, and says how it is.
func (c *call) finish(ctx context.Context, o *turnObject, keepOpen bool) core.SessionStatus {
	if !o.Status.Ended() || keepOpen {
		r, err := c.h.Get(ctx, c.caller.Owner, o.SessionID)
		if err != nil || r.Session == nil {
			return ""
		}
		return r.Session.Session.Status
	}
	r, err := c.h.Close(ctx, c.caller, core.CloseRequest{ID: o.SessionID, Reason: reasonTaskEnded})
	if err != nil || r.Session == nil {
		o.Warnings = append(o.Warnings, "the session could not be closed: "+core.AsError(err).Message)
		return ""
	}
	o.Next = nil
	if len(o.text.text) > c.budget/2 {
		o.suggest("inspect", "the whole answer, in pages", args{"id": o.TurnID, "offset": 0})
	}
	o.suggest("replay", "the steps it took", args{"id": o.TurnID, "view": "summary"})
	o.suggest("start_session", "continues the conversation", args{"resume": o.SessionID})
	return r.Session.Session.Status
}
