package core

import (
	"fmt"
	"slices"
)

// simFold derives from a journal alone what a session is: the other half of the
// invariant that the stored status equals what the events say. It also knows
// the grammar of a journal, and refuses an event that breaks it.
type simFold struct {
	ready bool
	lost  bool
	end   EventType

	ours, theirs string
	queue        []string
	turns        map[string]*foldTurn
	requests     map[string]*foldRequest
	touched      []string // turns and requests changed since the last commit
}

type foldTurn struct {
	origin     Origin
	phase      foldPhase
	cancelling bool
	word       TurnStatus // once it has ended
	open       int
}

type foldRequest struct {
	turn string
	word RequestStatus
}

type foldPhase int

const (
	foldQueued foldPhase = iota
	foldAccepted
	foldStarted
	foldEnded
)

func newSimFold() *simFold {
	return &simFold{turns: map[string]*foldTurn{}, requests: map[string]*foldRequest{}}
}

func (f *simFold) live() bool { return f.ready && !f.lost && f.end == "" }

// apply takes the next event, or says which rule it breaks.
func (f *simFold) apply(a doAppend) error {
	bad := func(why string) error { return fmt.Errorf("%s of turn %q: %s", a.Type, a.TurnID, why) }
	if err := f.allowed(a); err != "" {
		return bad(err)
	}
	if a.TurnID != "" {
		f.touched = append(f.touched, a.TurnID)
	}
	if a.RequestID != "" {
		f.touched = append(f.touched, a.RequestID)
	}
	t := f.turns[a.TurnID]
	switch a.Type {
	case SessionReady:
		if f.live() {
			return bad("the session is ready already")
		}
		f.ready, f.lost, f.end = true, false, ""
	case SessionClosed, SessionFailed, SessionKilled:
		if f.ours != "" || f.theirs != "" || len(f.queue) > 0 {
			return bad("turns have no terminal yet")
		}
		f.end = a.Type
	case TransportError:
		f.lost = true
	case SessionIdle:
		if f.ours != "" || f.theirs != "" || len(f.queue) > 0 {
			return bad("there is work")
		}
	case QueueChanged:
		want := len(f.queue)
		if want > 0 && f.live() && f.ours == "" && f.theirs == "" {
			want-- // the first is about to be accepted
		}
		if n := a.Data.(dataQueue).Queued; n != want {
			return bad(fmt.Sprintf("says %d are queued, %d are", n, len(f.queue)))
		}
	case TurnQueued:
		if t != nil {
			return bad("it exists already")
		}
		f.turns[a.TurnID] = &foldTurn{origin: OriginCaller}
		f.queue = append(f.queue, a.TurnID)
	case TurnAccepted:
		return f.accepted(a, bad)
	case TurnStarted:
		if t.phase != foldAccepted {
			return bad("it was not accepted, or started twice")
		}
		t.phase = foldStarted
	case CancelRequested:
		if t.cancelling {
			return bad("twice")
		}
		t.cancelling = true
	case RequestCreated:
		if t.cancelling || f.requests[a.RequestID] != nil {
			return bad("a new request in a turn that is being stopped, or the same one again")
		}
		t.open++
		f.requests[a.RequestID] = &foldRequest{turn: a.TurnID, word: RequestPending}
	case RequestResolved, RequestExpired:
		q := f.requests[a.RequestID]
		if q == nil || q.word != RequestPending || q.turn != a.TurnID {
			return bad("the request is not open")
		}
		t.open--
		q.word = RequestDoneResolved
		if a.Type == RequestExpired {
			q.word = RequestDoneExpired
		}
	case TurnCompleted, TurnFailed, TurnCancelled, TurnInterrupted:
		return f.terminal(a, t, bad)
	}
	return nil
}

// allowed checks what holds for every event: nothing before the start, nothing
// after an end, nothing of a turn before its admission or after its terminal.
func (f *simFold) allowed(a doAppend) string {
	switch a.Type {
	case StoreFailure, StoreRecovered, SessionReady:
		return ""
	case SessionStarted:
		if f.ready {
			return "the session has started already"
		}
		return ""
	}
	switch {
	case !f.ready:
		return "before the session was ready"
	case f.end != "":
		return "after the end of the session"
	case f.lost && !a.Type.EndsTurn() && !slices.Contains([]EventType{RequestExpired, QueueChanged, SessionClosed, SessionKilled}, a.Type):
		return "after the link was lost"
	}
	if a.TurnID == "" || a.Type == TurnQueued || a.Type == TurnAccepted {
		return ""
	}
	t := f.turns[a.TurnID]
	switch {
	case t == nil:
		return "before its admission"
	case t.phase == foldEnded:
		return "after its terminal"
	case t.phase == foldQueued && a.Type != TurnInterrupted:
		return "it is only queued"
	}
	return ""
}

func (f *simFold) accepted(a doAppend, bad func(string) error) error {
	if a.Data.(dataPrompt).Origin == OriginProvider {
		if f.turns[a.TurnID] != nil || f.theirs != "" {
			return bad("the provider has a turn already")
		}
		if o := f.turns[f.ours]; o != nil && o.phase != foldAccepted {
			return bad("ours runs already")
		}
		f.theirs = a.TurnID
		f.turns[a.TurnID] = &foldTurn{origin: OriginProvider, phase: foldAccepted}
		return nil
	}
	if f.ours != "" || f.theirs != "" {
		return bad("another turn is active")
	}
	switch t := f.turns[a.TurnID]; {
	case len(f.queue) > 0 && f.queue[0] != a.TurnID:
		return bad("it overtook the queue")
	case len(f.queue) == 0 && t != nil:
		return bad("it exists already")
	case t != nil:
		f.queue = f.queue[1:]
		t.phase = foldAccepted
	default:
		f.turns[a.TurnID] = &foldTurn{origin: OriginCaller, phase: foldAccepted}
	}
	f.ours = a.TurnID
	return nil
}

func (f *simFold) terminal(a doAppend, t *foldTurn, bad func(string) error) error {
	d := a.Data.(*dataTerminal)
	if terminalEvent(d.Status) != a.Type {
		return bad("its data says " + string(d.Status))
	}
	if t.open > 0 {
		return bad("requests are open")
	}
	if (a.Type == TurnCompleted || a.Type == TurnCancelled) && t.phase != foldStarted {
		return bad("a provider's verdict on a turn that never started")
	}
	switch a.TurnID {
	case f.ours:
		f.ours = ""
	case f.theirs:
		f.theirs = ""
	default:
		i := slices.Index(f.queue, a.TurnID)
		if i < 0 {
			return bad("it is neither active nor queued")
		}
		f.queue = slices.Delete(slices.Clone(f.queue), i, i+1)
	}
	t.phase, t.word = foldEnded, d.Status
	return nil
}

// status is the word that the journal gives. An opening and a closing write no
// event: they are not seen here.
func (f *simFold) status() SessionStatus {
	switch {
	case f.end == SessionClosed:
		return StatusClosed
	case f.end == SessionFailed:
		return StatusFailed
	case f.end == SessionKilled:
		return StatusKilled
	case !f.ready:
		return StatusOpening
	case f.lost:
		return StatusUnavailable
	}
	id := f.theirs
	if id == "" {
		id = f.ours
	}
	if id == "" {
		return StatusIdle
	}
	return SessionStatus(f.turns[id].status())
}

func (t *foldTurn) status() TurnStatus {
	switch {
	case t.phase == foldEnded:
		return t.word
	case t.phase == foldQueued:
		return TurnIsQueued
	case t.cancelling:
		return TurnIsCancelling
	case t.phase == foldAccepted:
		return TurnIsStarting
	case t.open > 0:
		return TurnIsAwaitingInput
	}
	return TurnIsRunning
}
