package harness

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// observer tells telemetry what one session does. Its actor calls it, with
// what is true once it has been committed.
type observer struct {
	to      core.Telemetry
	session func(core.Ended) // nil while the session is not ready
	turns   map[string]func(core.Ended)
	ops     map[core.OpID]openOp
}

// openOp is a command that the provider has not answered.
type openOp struct {
	turn string
	end  func(core.Ended)
}

// note keeps the end of something that has begun, in a map that is made for the
// first.
func note[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// saw takes inputs before they have had their effect: what became of a command
// is in them.
func (o *observer) saw(batch []machine.Input) {
	for _, in := range batch {
		switch in := in.(type) {
		case machine.Notice:
			if n, ok := in.Notice.(core.OpDone); ok {
				o.opEnded(n.Op, endedBy(n.ErrOrNil()))
			}
		case machine.TimerDue:
			if in.Timer.Kind == machine.TimerCommand {
				o.opEnded(in.Timer.Op, core.Ended{Ending: core.EndedUncertain})
			}
		}
	}
}

func (o *observer) opEnded(id core.OpID, e core.Ended) {
	if op, ok := o.ops[id]; ok {
		delete(o.ops, id)
		op.end(e)
	}
}

// did takes the effects of a commit.
func (o *observer) did(s machine.State, out []machine.Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case machine.Append:
			o.appended(s, e)
		case machine.Send:
			o.sent(s, e.Op)
		}
	}
}

func (o *observer) about(s machine.State, name core.OperationName, turn string) core.Operation {
	c := s.Base.Config
	return core.Operation{Name: name, Provider: c.Provider, Transport: c.Transport, Model: s.Model, Session: c.SessionID, Turn: turn}
}

func (o *observer) appended(s machine.State, e machine.Append) {
	sig := core.Signal{Provider: s.Base.Config.Provider, Session: s.Base.Config.SessionID, Turn: e.TurnID, Request: e.RequestID}
	switch e.Type {
	case core.SessionReady:
		o.session = o.to.Begin(o.about(s, core.OpSession, ""))
	case core.SessionClosed, core.SessionFailed, core.SessionKilled:
		o.sessionEnded(s)
	case core.TransportError:
		sig.Name = core.LinkWasLost
		o.to.Count(sig)
		o.sessionEnded(s)
	case core.TurnAccepted:
		note(&o.turns, e.TurnID, o.to.Begin(o.about(s, core.OpTurn, e.TurnID)))
	case core.RequestCreated:
		sig.Name = core.RequestWasCreated
		if d, ok := e.Data.(machine.RequestData); ok {
			sig.Kind = string(d.Request.Kind)
		}
		o.to.Count(sig)
	case core.RequestResolved:
		sig.Name = core.RequestWasResolved
		o.to.Count(sig)
	case core.RequestExpired:
		sig.Name = core.RequestWasExpired
		if d, ok := e.Data.(machine.ExpiredData); ok {
			sig.Reason = d.Reason
		}
		o.to.Count(sig)
	case core.StoreFailure:
		sig.Name = core.StoreHasFailed
		o.to.Count(sig)
	case core.StoreRecovered:
		sig.Name = core.StoreHasRecovered
		o.to.Count(sig)
	}
	if d, ok := e.Data.(*machine.TerminalData); ok {
		o.turnEnded(e.TurnID, d)
	}
}

// turnEnded ends a turn, and what its provider has not answered: the turn's end
// is the answer, unless it is just that there was none.
func (o *observer) turnEnded(turn string, d *machine.TerminalData) {
	e := core.Ended{Ending: core.EndedOK, Status: string(d.Status), Reason: d.Reason, Usage: d.Result.Usage}
	switch d.Status {
	case core.TurnDoneFailed:
		e.Ending = core.EndedRejected
		if err := d.Result.Error; err != nil {
			e.Code = err.Code
			if err.Code == core.TurnUncertain {
				e.Ending = core.EndedUncertain
			}
		}
	case core.TurnDoneInterrupted:
		e.Ending = core.EndedAborted
	}
	command := core.EndedOK
	switch {
	case e.Ending == core.EndedUncertain || d.Reason == core.ReasonNoVerdict:
		command = core.EndedUncertain
	case d.Status == core.TurnDoneInterrupted || e.Code == core.TurnTransportLost:
		command = core.EndedAborted
	}
	for id, op := range o.ops {
		if op.turn == turn {
			o.opEnded(id, core.Ended{Ending: command})
		}
	}
	if end := o.turns[turn]; end != nil { // one that never left the queue has none
		delete(o.turns, turn)
		end(e)
	}
}

// sessionEnded ends the session, and commands of no turn that nobody answers.
func (o *observer) sessionEnded(s machine.State) {
	for id := range o.ops {
		o.opEnded(id, core.Ended{Ending: core.EndedAborted})
	}
	if o.session == nil {
		return
	}
	e := core.Ended{Ending: core.EndedOK, Status: string(s.Status()), Reason: s.Reason}
	if s.Err != nil {
		e.Ending, e.Code = core.EndedRejected, s.Err.Code
	} else if s.End == machine.EndKilled {
		e.Ending = core.EndedAborted
	}
	o.session(e)
	o.session = nil
}

func (o *observer) sent(s machine.State, op core.Op) {
	var turn, command string
	switch op := op.(type) {
	case core.StartTurn:
		turn, command = op.TurnID, "start_turn"
	case core.Steer:
		turn, command = op.TurnID, "steer"
	case core.Respond:
		command = "respond"
		if t := s.Active(); t != nil {
			turn = t.Rec.ID
		}
	case core.Interrupt:
		turn, command = op.TurnID, "interrupt"
	case core.Configure:
		command = "configure"
	}
	a := o.about(s, core.OpCommand, turn)
	a.Command, a.At = command, time.Now()
	note(&o.ops, op.OpID(), openOp{turn: turn, end: o.to.Begin(a)})
}

// noTelemetry hears nothing.
type noTelemetry struct{}

func (noTelemetry) Begin(core.Operation) func(core.Ended) { return func(core.Ended) {} }

func (noTelemetry) Count(core.Signal) {}

// endedBy says how a call ended by its error.
func endedBy(err error) core.Ended {
	switch {
	case err == nil:
		return core.Ended{Ending: core.EndedOK}
	case core.IsContext(err):
		return core.Ended{Ending: core.EndedAborted}
	}
	e := core.Ended{Ending: core.EndedRejected, Code: core.CodeOf(err)}
	if e.Code == core.CodeResponseUncertain {
		e.Ending = core.EndedUncertain
	}
	return e
}
