package machine

import "github.com/harness-mcp/harness-mcp/core"

// Observation is one report to Telemetry about a session. Exactly one of Began,
// Ended and Signal is set.
type Observation struct {
	Of     OperationKey
	Began  *core.Operation
	Ended  *core.Ended // of every operation that Of matches and that has not ended
	Signal *core.Signal
}

// OperationKey names an operation of one session.
type OperationKey struct {
	Name core.OperationName // OpSession, OpTurn or OpCommand
	Turn string             // of a turn, or of the turn that a command is for
	Op   core.OpID          // of a command
}

// Matches reports whether an operation is meant by o. A command without Op
// stands for all commands of its turn, and without a turn for all.
func (o OperationKey) Matches(x OperationKey) bool {
	if o.Name != core.OpCommand || x.Name != core.OpCommand {
		return o == x
	}
	if o.Op != 0 {
		return o.Op == x.Op
	}
	return o.Turn == "" || o.Turn == x.Turn
}

// ObserveInputs returns the reports of the commands whose outcome is in a batch.
// They are true whatever becomes of the batch.
func ObserveInputs(batch []Input) (out []Observation) {
	for _, in := range batch {
		switch in := in.(type) {
		case Notice:
			if n, ok := in.Notice.(core.OpDone); ok {
				e := core.EndedBy(nil)
				if n.Err != nil {
					e = core.EndedBy(n.Err)
				}
				out = append(out, Observation{Of: OperationKey{Name: core.OpCommand, Op: n.Op}, Ended: &e})
			}
		case TimerDue:
			if in.Timer.Kind == TimerCommand {
				out = append(out, Observation{Of: OperationKey{Name: core.OpCommand, Op: in.Timer.Op}, Ended: &core.Ended{Ending: core.EndedUncertain}})
			}
		}
	}
	return out
}

// ObserveEffects returns the reports of committed effects. s is the state after
// them.
func ObserveEffects(s *State, effects []Effect) []Observation {
	o := observations{s: s}
	for _, e := range effects {
		switch e := e.(type) {
		case Append:
			o.appended(e)
		case Send:
			o.sent(e.Op)
		}
	}
	return o.out
}

// observations collects the reports of one commit.
type observations struct {
	s   *State
	out []Observation
}

// began reports that an operation has begun. Its time is when it is passed on.
func (o *observations) began(of OperationKey, command string) {
	c := o.s.Base.Config
	o.out = append(o.out, Observation{Of: of, Began: &core.Operation{Name: of.Name, Provider: c.Provider, Transport: c.Transport,
		Model: o.s.Model, Session: c.SessionID, Turn: of.Turn, Command: command}})
}

func (o *observations) ended(of OperationKey, e core.Ended) {
	o.out = append(o.out, Observation{Of: of, Ended: &e})
}

// signals are the events that are counted, by type.
var signals = map[core.EventType]core.SignalName{core.TransportError: core.LinkWasLost, core.RequestCreated: core.RequestWasCreated, core.RequestResolved: core.RequestWasResolved,
	core.RequestExpired: core.RequestWasExpired, core.StoreFailure: core.StoreHasFailed, core.StoreRecovered: core.StoreHasRecovered}

// appended reports what an event is: a count, or the begin or end of an operation.
func (o *observations) appended(e Append) {
	if name := signals[e.Type]; name != "" {
		c := o.s.Base.Config
		s := &core.Signal{Name: name, Provider: c.Provider, Session: c.SessionID, Turn: e.TurnID, Request: e.RequestID}
		switch d := e.Data.(type) {
		case RequestData:
			s.Kind = string(d.Request.Kind)
		case ExpiredData:
			s.Reason = d.Reason
		}
		o.out = append(o.out, Observation{Signal: s})
	}
	switch e.Type {
	case core.SessionReady:
		o.began(OperationKey{Name: core.OpSession}, "")
	case core.SessionClosed, core.SessionFailed, core.SessionKilled, core.TransportError:
		o.sessionEnded()
	case core.TurnAccepted:
		o.began(OperationKey{Name: core.OpTurn, Turn: e.TurnID}, "")
	}
	if d, ok := e.Data.(*TerminalData); ok {
		o.turnEnded(e.TurnID, d)
	}
}

// turnEnded reports the end of a turn and of its commands that the provider has not
// answered. The turn's end counts as their answer, unless no verdict came.
func (o *observations) turnEnded(turn string, d *TerminalData) {
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
	o.ended(OperationKey{Name: core.OpCommand, Turn: turn}, core.Ended{Ending: command})
	o.ended(OperationKey{Name: core.OpTurn, Turn: turn}, e) // one that never left the queue has not begun
}

// sessionEnded reports the end of the session and of every command that will get no
// answer.
func (o *observations) sessionEnded() {
	o.ended(OperationKey{Name: core.OpCommand}, core.Ended{Ending: core.EndedAborted})
	e := core.Ended{Ending: core.EndedOK, Status: string(o.s.Status()), Reason: o.s.Reason}
	if o.s.Err != nil {
		e.Ending, e.Code = core.EndedRejected, o.s.Err.Code
	} else if o.s.End == EndKilled {
		e.Ending = core.EndedAborted
	}
	o.ended(OperationKey{Name: core.OpSession}, e)
}

// sent reports that a command goes to the provider. The answer to a request counts
// for the active turn.
func (o *observations) sent(op core.Op) {
	var turn, command string
	switch op := op.(type) {
	case core.StartTurn:
		turn, command = op.TurnID, "start_turn"
	case core.Steer:
		turn, command = op.TurnID, "steer"
	case core.Respond:
		command = "respond"
		if t := o.s.Active(); t != nil {
			turn = t.Rec.ID
		}
	case core.Interrupt:
		turn, command = op.TurnID, "interrupt"
	case core.Configure:
		command = "configure"
	}
	o.began(OperationKey{Name: core.OpCommand, Turn: turn, Op: op.OpID()}, command)
}
