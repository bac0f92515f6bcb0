package tools

import (
	"context"
	"encoding/json"
	"log/slog"

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
	o, err := c.runTurn(ctx, in.duration(c.opts.Wait), func() (core.Turn, error) { return c.startTask(ctx, in) })
	if err != nil {
		return nil, err
	}
	o.SessionStatus = c.finish(ctx, o, in.KeepOpen)
	return o, nil
}

// startTask opens a session and sends the prompt. The session closes itself
// after its task, unless keep_open is set.
func (c *call) startTask(ctx context.Context, in delegateArgs) (core.Turn, error) {
	c.progress.set("opening " + in.Provider)
	input := core.TurnInput{Prompt: in.Prompt, Attachments: in.Attachments, OutputSchema: json.RawMessage(in.OutputSchema)}
	start := core.StartRequest{Config: config(in), CloseAtRest: !in.KeepOpen, Task: &input, Once: c.once}
	c.chooseAnswerer(ctx, &start)
	c.notes = start.Warnings
	v, err := c.h.StartSession(ctx, c.caller, start)
	if err != nil {
		return core.Turn{}, err
	}
	// The key now belongs to the session. The turn has a key of its own, so that
	// a repeated call finds both.
	send := c.once
	send.Tool = "delegate/send"
	// The end of the caller's wait must not end the task, which may have been
	// accepted already.
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	t, err := c.h.SendMessage(sctx, c.caller, core.SendRequest{
		SessionID: v.Session.ID, Once: send, Input: input,
	})
	if err != nil && !core.IsContext(err) {
		c.abandon(ctx, v.Session.ID)
	}
	return t, err
}

// reasonTaskEnded is why delegate closes a session, for the journal.
const reasonTaskEnded = "the delegated task ended"

// abandon closes a session in which no turn was started.
func (c *call) abandon(ctx context.Context, session string) {
	// Also after the end of the caller's context: no other code closes it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	_, err := c.h.Close(ctx, c.caller, core.CloseRequest{ID: session, Force: true, Reason: "delegate could not send its prompt"})
	if err != nil {
		c.opts.Logger.Warn("closing an unused session failed", slog.String("session", session), slog.Any("error", err))
	}
}

// finish returns the status of the session. That of a turn that has ended closes
// by itself, behind the reply.
func (c *call) finish(ctx context.Context, o *turnObject, keepOpen bool) core.SessionStatus {
	if !o.Status.Ended() || keepOpen {
		r, err := c.h.Get(ctx, c.caller.Owner, o.SessionID)
		if err != nil || r.Session == nil {
			return ""
		}
		return r.Session.Session.Status
	}
	v, err := c.h.AfterTask(ctx, c.caller, o.SessionID)
	if err == nil && v.Session.Status == core.StatusUnavailable { // its agent is gone
		var r core.Resource
		if r, err = c.h.Close(ctx, c.caller, core.CloseRequest{ID: o.SessionID, Reason: reasonTaskEnded}); err == nil && r.Session != nil {
			v = *r.Session
		}
	}
	if err != nil {
		o.warn("the session could not be closed: " + core.AsError(err).Message)
		return ""
	}
	o.Next = nil
	o.suggestRest(o)
	o.suggest("replay", "the steps it took", args{"id": o.TurnID, "view": "summary"})
	s := v.Session
	if ends := s.Status == core.StatusClosing || !s.Status.Live(); ends && c.canResume(s.Provider, s.Transport, o.Error) {
		o.suggest("start_session", "continues the conversation", args{"resume": o.SessionID})
	}
	return s.Status
}
