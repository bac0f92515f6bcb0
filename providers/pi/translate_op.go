package pi

import (
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// response handles the answer to a command of ours.
func (t *translator) response(raw []byte) {
	var r wire.Response
	if !t.decode(wire.TypeResponse, raw, &r) {
		return
	}
	c, ok := t.answered(r)
	if !ok {
		t.event("response without a command", raw)
		return
	}
	switch tag := c.tag.(type) {
	case opened:
		tag(r)
	case promptTag:
		t.prompted(tag.turn, r, raw)
	case steerTag:
		t.steered(tag, r, raw)
	case abortTag:
		t.aborted(tag.turn, r, raw)
	case stateTag:
		t.stateRead(tag, r, raw)
	case clearTag:
		t.noClear = !r.Success
		t.passed()
	case lateTag:
		t.late(tag, r, raw)
	case *change:
		t.changed(tag, r, raw)
	}
}

// answered finds the command that a response is for. Older releases refuse a
// command that they do not know without its id.
func (t *translator) answered(r wire.Response) (sentCommand, bool) {
	id := r.ID
	if id == "" {
		for have, c := range t.calls {
			if c.command == r.Command && (id == "" || len(have) < len(id) || len(have) == len(id) && have < id) {
				id = have // the oldest
			}
		}
	}
	c, ok := t.calls[id]
	delete(t.calls, id)
	return c, ok
}

// rejection returns Pi's refusal of a command.
func rejection(r wire.Response) *core.Error {
	return core.Errorf(core.TurnRejected, "Pi refused it: %s", r.Error)
}

// Steer handles the op.
func (t *translator) Steer(op core.Steer) *core.Error {
	u := t.turn
	if u == nil || u.name != op.TurnID || u.stopping {
		return core.Errorf(core.CodeTurnNotActive, "the turn no longer runs")
	}
	c, err := prompt(op.Input)
	if err != nil {
		return err
	}
	c.Type = wire.Steer
	t.barrier++
	t.call(c, steerTag{turn: u, op: op.ID, text: *c.Message})
	return nil
}

// steered handles the response to a steer. Pi keeps one that comes after its turn
// for the next, which must not get it.
func (t *translator) steered(tag steerTag, r wire.Response, raw json.RawMessage) {
	if r.Success && t.turn != tag.turn {
		t.clear(lateTag{op: tag.op, text: tag.text})
		t.passed()
		return
	}
	if r.Success {
		t.OpDone(tag.op, "", nil, raw)
	} else {
		t.OpDone(tag.op, "", rejection(r), raw)
	}
	t.passed()
}

// late handles what was left in Pi's queue after a turn that was steered.
func (t *translator) late(tag lateTag, r wire.Response, raw json.RawMessage) {
	var c wire.Cleared
	if r.Success && json.Unmarshal(r.Data, &c) == nil && !slices.Contains(c.Steering, tag.text) {
		t.OpDone(tag.op, "", nil, raw) // the turn took it just before its end
	} else {
		t.OpDone(tag.op, "", core.Errorf(core.CodeTurnNotActive, "the turn ended before it took the message"), raw)
	}
	t.passed()
}

// Interrupt handles the op.
func (t *translator) Interrupt(op core.Interrupt) *core.Error {
	switch u := t.turn; {
	case u != nil && u.name == op.TurnID:
		u.interrupts = append(u.interrupts, op.ID)
		t.stop(u)
		return nil
	case t.pending == nil || t.pending.name != op.TurnID:
		t.OpDone(op.ID, "", nil, nil) // it has ended
		return nil
	}
	u := t.pending
	u.interrupts = append(u.interrupts, op.ID)
	if !u.sent { // it was never sent to Pi
		t.pending = nil
		t.accept(u, nil)
		for _, op := range u.interrupts {
			t.OpDone(op, "", nil, nil)
		}
		t.Notice(core.TurnEnded{Turn: u.name, Verdict: core.VerdictCancelled, Result: core.Result{StopReason: wire.StopAborted}})
	}
	return nil
}

// stop ends a turn: its dialogs first, since Pi does not abort while one is
// open, then what it would continue with, then the run.
func (t *translator) stop(u *turn) {
	t.dismissAll()
	if u.stopping {
		return
	}
	u.stopping = true
	if !t.noClear {
		t.clear(clearTag{})
	}
	t.abort(u)
}

func (t *translator) abort(u *turn) {
	u.aborts++
	t.barrier++
	t.call(wire.Command{Type: wire.Abort}, abortTag{u})
}

// aborted handles the response to an abort. Pi sends it after the run has
// settled; if the turn still runs, the abort had no effect or this release
// does not send agent_settled.
func (t *translator) aborted(u *turn, r wire.Response, raw json.RawMessage) {
	var err *core.Error
	if !r.Success {
		err = rejection(r)
	}
	for _, op := range u.interrupts {
		t.OpDone(op, "", err, raw)
	}
	u.interrupts = nil
	if t.turn == u {
		t.call(wire.Command{Type: wire.GetState}, stateTag{turn: u, abort: true})
	}
	t.passed()
}
