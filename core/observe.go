package core

import "time"

// observer tells telemetry what one session does. Its actor calls it, with
// what is true once it has been committed.
type observer struct {
	to      Telemetry
	session func(Ended) // nil while the session is not ready
	turns   map[string]func(Ended)
	ops     map[OpID]openOp
}

// openOp is a command that the provider has not answered.
type openOp struct {
	turn string
	end  func(Ended)
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
func (o *observer) saw(batch []Input) {
	for _, in := range batch {
		switch in := in.(type) {
		case inNotice:
			if n, ok := in.Notice.(OpDone); ok {
				o.opEnded(n.Op, endedBy(n.errOrNil()))
			}
		case inTimer:
			if in.Timer.Kind == TimerCommand {
				o.opEnded(in.Timer.Op, Ended{Ending: EndedUncertain})
			}
		}
	}
}

func (n OpDone) errOrNil() error {
	if n.Err == nil {
		return nil // and not an error that holds a nil
	}
	return n.Err
}

func (o *observer) opEnded(id OpID, e Ended) {
	if op, ok := o.ops[id]; ok {
		delete(o.ops, id)
		op.end(e)
	}
}

// did takes the effects of a commit.
func (o *observer) did(s State, out []Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case doAppend:
			o.appended(s, e)
		case doSend:
			o.sent(s, e.Op)
		}
	}
}

func (o *observer) about(s State, name OperationName, turn string) Operation {
	c := s.Base.Config
	return Operation{Name: name, Provider: c.Provider, Transport: c.Transport, Model: s.Model, Session: c.SessionID, Turn: turn}
}

func (o *observer) appended(s State, e doAppend) {
	sig := Signal{Provider: s.Base.Config.Provider, Session: s.Base.Config.SessionID, Turn: e.TurnID, Request: e.RequestID}
	switch e.Type {
	case SessionReady:
		o.session = o.to.Begin(o.about(s, OpSession, ""))
	case SessionClosed, SessionFailed, SessionKilled:
		o.sessionEnded(s)
	case TransportError:
		sig.Name = LinkWasLost
		o.to.Count(sig)
		o.sessionEnded(s)
	case TurnAccepted:
		note(&o.turns, e.TurnID, o.to.Begin(o.about(s, OpTurn, e.TurnID)))
	case RequestCreated:
		sig.Name = RequestWasCreated
		if d, ok := e.Data.(dataRequest); ok {
			sig.Kind = string(d.Request.Kind)
		}
		o.to.Count(sig)
	case RequestResolved:
		sig.Name = RequestWasResolved
		o.to.Count(sig)
	case RequestExpired:
		sig.Name = RequestWasExpired
		if d, ok := e.Data.(dataExpired); ok {
			sig.Reason = d.Reason
		}
		o.to.Count(sig)
	case StoreFailure:
		sig.Name = StoreHasFailed
		o.to.Count(sig)
	case StoreRecovered:
		sig.Name = StoreHasRecovered
		o.to.Count(sig)
	}
	if d, ok := e.Data.(*dataTerminal); ok {
		o.turnEnded(e.TurnID, d)
	}
}

// turnEnded ends a turn, and what its provider has not answered: the turn's end
// is the answer, unless it is just that there was none.
func (o *observer) turnEnded(turn string, d *dataTerminal) {
	e := Ended{Ending: EndedOK, Status: string(d.Status), Reason: d.Reason, Usage: d.Result.Usage}
	switch d.Status {
	case TurnDoneFailed:
		e.Ending = EndedRejected
		if err := d.Result.Error; err != nil {
			e.Code = err.Code
			if err.Code == TurnUncertain {
				e.Ending = EndedUncertain
			}
		}
	case TurnDoneInterrupted:
		e.Ending = EndedAborted
	}
	command := EndedOK
	switch {
	case e.Ending == EndedUncertain || d.Reason == ReasonNoVerdict:
		command = EndedUncertain
	case d.Status == TurnDoneInterrupted || e.Code == TurnTransportLost:
		command = EndedAborted
	}
	for id, op := range o.ops {
		if op.turn == turn {
			o.opEnded(id, Ended{Ending: command})
		}
	}
	if end := o.turns[turn]; end != nil { // one that never left the queue has none
		delete(o.turns, turn)
		end(e)
	}
}

// sessionEnded ends the session, and commands of no turn that nobody answers.
func (o *observer) sessionEnded(s State) {
	for id := range o.ops {
		o.opEnded(id, Ended{Ending: EndedAborted})
	}
	if o.session == nil {
		return
	}
	e := Ended{Ending: EndedOK, Status: string(s.Status()), Reason: s.Reason}
	if s.Err != nil {
		e.Ending, e.Code = EndedRejected, s.Err.Code
	} else if s.End == EndKilled {
		e.Ending = EndedAborted
	}
	o.session(e)
	o.session = nil
}

func (o *observer) sent(s State, op Op) {
	var turn, command string
	switch op := op.(type) {
	case StartTurn:
		turn, command = op.TurnID, "start_turn"
	case Steer:
		turn, command = op.TurnID, "steer"
	case Respond:
		command = "respond"
		if t := s.Active(); t != nil {
			turn = t.Rec.ID
		}
	case Interrupt:
		turn, command = op.TurnID, "interrupt"
	case Configure:
		command = "configure"
	}
	a := o.about(s, OpCommand, turn)
	a.Command, a.At = command, time.Now()
	note(&o.ops, op.OpID(), openOp{turn: turn, end: o.to.Begin(a)})
}
