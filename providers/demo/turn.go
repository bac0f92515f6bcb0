package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// turn is one turn being played. Its methods run on the conversation's
// goroutine and return errCancelled, errFailed or errClosed when the script
// must not continue.
type turn struct {
	*conn
	id      string
	prompt  string
	earlier []string // what the conversation remembered before this turn
	pace    time.Duration
	items   int
	steers  []string // taken and not yet reported
	open    *request // the request that waits for an answer
}

// request is an open request; answer is set by the Respond that closes it.
type request struct {
	ref    string
	spec   core.RequestSpec
	answer *core.Response
}

// playTurn admits and plays a turn and reports its end.
func (c *conn) playTurn(op core.StartTurn) error {
	prompt, err := promptOf(op.Input)
	if err != nil {
		return c.reject(op.ID, err)
	}
	t := &turn{conn: c, id: op.TurnID, prompt: prompt, earlier: slices.Clone(c.folder.memory.Prompts)}
	saved := c.folder.remember(prompt)
	c.turns++
	if err := c.emit(core.OpDone{Op: op.ID, Ref: fmt.Sprintf("turn-%d", c.turns)}); err != nil {
		return err
	}
	if saved != nil {
		t.content(core.Warning{Message: "the conversation could not be saved, a resume will not know this turn: " + saved.Error()})
	}
	played := t.play()
	if played == nil {
		played = t.sayNoted()
	}
	return t.end(played)
}

// promptOf returns the script of a turn: its prompt and, below it, the text
// blocks.
func promptOf(in core.TurnInput) (string, *core.Error) {
	switch {
	case len(in.Attachments) > 0:
		return "", unsupported(core.CodeCapability, "attachments")
	case len(in.OutputSchema) > 0:
		return "", unsupported(core.CodeCapability, "output_schema")
	case in.ReasoningEffort != "":
		return "", unsupported(core.CodeOption, "reasoning_effort")
	case len(in.ProviderOptions) > 0:
		return "", unsupported(core.CodeOption, "provider_options")
	}
	lines := []string{in.Prompt}
	for _, b := range in.Content {
		if b.Type != "text" {
			return "", unsupported(core.CodeCapability, b.Type+" content")
		}
		lines = append(lines, b.Text)
	}
	return strings.Join(lines, "\n"), nil
}

func (t *turn) play() error {
	script, ok := parse(t.prompt)
	if !ok {
		if t.model == modelPaced {
			t.pace = max(t.options.Pace, 0)
		}
		return t.show()
	}
	for _, d := range script {
		if err := t.perform(d); err != nil {
			return err
		}
	}
	return nil
}

// perform plays one directive.
func (t *turn) perform(d directive) error {
	if err := t.pause(0); err != nil {
		return err
	}
	switch d.Verb {
	case verbSay:
		return t.say(d.Text)
	case verbStream:
		return t.stream(d.N)
	case verbThink:
		return t.think(d.Text)
	case verbRun:
		return t.listFolder()
	case verbPatch:
		_, err := t.patch("")
		return err
	case verbApprove:
		_, err := t.approve()
		return err
	case verbAsk:
		_, err := t.ask()
		return err
	case verbSlow:
		return t.pause(d.Wait)
	case verbRecall:
		return t.recall()
	}
	return errFailed
}

// end reports the verdict. Every item is closed by then: each step closes its
// own, also when it is cut.
func (t *turn) end(why error) error {
	ended := core.TurnEnded{Turn: t.id}
	switch {
	case errors.Is(why, errClosed):
		return why
	case errors.Is(why, errCancelled):
		ended.Verdict, ended.Result.StopReason = core.VerdictCancelled, "cancelled"
	case why != nil:
		ended.Verdict, ended.Result.StopReason = core.VerdictFailed, "error"
		ended.Result.Error = &core.TurnError{
			Code:     core.TurnProviderError,
			Message:  "the script told the demo agent to fail",
			Provider: json.RawMessage(`{"type":"scripted_failure"}`),
		}
	default:
		ended.Verdict, ended.Result.StopReason = core.VerdictCompleted, "end_turn"
	}
	return t.emit(ended)
}

// pause serves the ops that wait and, for d, those that come.
func (t *turn) pause(d time.Duration) error {
	for {
		select {
		case <-t.quit:
			return errClosed
		case op := <-t.ops:
			if err := t.take(op); err != nil {
				return err
			}
			continue
		default:
		}
		break
	}
	if d <= 0 {
		return nil
	}
	fired, stop := t.options.Clock.Timer(d)
	defer stop()
	for {
		select {
		case <-t.quit:
			return errClosed
		case <-fired:
			return nil
		case op := <-t.ops:
			if err := t.take(op); err != nil {
				return err
			}
		}
	}
}

// take does an op that comes while the turn runs.
func (t *turn) take(op core.Op) error {
	t.took(op)
	switch op := op.(type) {
	case core.Interrupt:
		return t.interrupt(op)
	case core.Steer:
		return t.steer(op)
	case core.Respond:
		return t.respond(op)
	case core.StartTurn:
		return t.reject(op.ID, core.Errorf(core.CodeTurnInProgress, "the turn %s still runs", t.id))
	}
	return t.serve(op)
}

func (t *turn) interrupt(op core.Interrupt) error {
	if op.TurnID != t.id {
		return t.reject(op.ID, core.Errorf(core.CodeTurnNotActive, "the turn %s does not run", op.TurnID))
	}
	if err := t.emit(core.OpDone{Op: op.ID}); err != nil {
		return err
	}
	if t.open != nil {
		ref := t.open.ref
		t.open = nil
		if err := t.emit(core.RequestWithdrawn{Ref: ref}); err != nil {
			return err
		}
	}
	return errCancelled
}

func (t *turn) steer(op core.Steer) error {
	text, rejected := promptOf(op.Input)
	switch {
	case op.TurnID != t.id:
		rejected = core.Errorf(core.CodeTurnNotActive, "the turn %s does not run", op.TurnID)
	case len(text) > maxSteerBytes:
		rejected = core.Errorf(core.CodeTooLarge, "a steered text has at most %d bytes", maxSteerBytes)
	case len(t.steers) >= maxSteers:
		rejected = core.Errorf(core.CodeQueueFull, "%d steered texts wait already", maxSteers)
	}
	if rejected != nil {
		return t.reject(op.ID, rejected)
	}
	t.steers = append(t.steers, text)
	return t.emit(core.OpDone{Op: op.ID})
}

// respond passes an answer to the open request.
func (t *turn) respond(op core.Respond) error {
	if t.open == nil || t.open.answer != nil || t.open.ref != op.Ref {
		return t.reject(op.ID, core.Errorf(core.CodeRequestNotPending, "the demo agent does not wait for %q", op.Ref))
	}
	r := op.Response
	if !slices.Contains(t.open.spec.Actions, r.Action) {
		return t.reject(op.ID, core.Errorf(core.CodeAction, "the request takes no %q", r.Action))
	}
	if r.Scope != "" && !slices.Contains(t.open.spec.Scopes, r.Scope) {
		return t.reject(op.ID, core.Errorf(core.CodeScope, "the request has no scope %q", r.Scope))
	}
	t.open.answer = &r
	return t.emit(core.OpDone{Op: op.ID})
}

// request raises a request and waits for its answer. A cancelled request
// cancels the turn.
func (t *turn) request(spec core.RequestSpec) (core.Response, error) {
	r := &request{ref: t.nextRef(), spec: spec}
	t.open = r
	defer func() { t.open = nil }()
	if err := t.emit(core.RequestRaised{Turn: t.id, Ref: r.ref, Spec: spec}); err != nil {
		return core.Response{}, err
	}
	for r.answer == nil {
		select {
		case <-t.quit:
			return core.Response{}, errClosed
		case op := <-t.ops:
			if err := t.take(op); err != nil {
				return core.Response{}, err
			}
		}
	}
	if r.answer.Action == core.ActionCancel {
		return *r.answer, errCancelled
	}
	return *r.answer, nil
}

func (t *turn) content(p core.Payload) error { return t.emit(core.Content{Turn: t.id, Payload: p}) }

// newItem names a message or tool use. The turn's id makes the name unique in
// the whole journal, over resumes too.
func (t *turn) newItem() string {
	t.items++
	return fmt.Sprintf("%s.%d", t.id, t.items)
}
