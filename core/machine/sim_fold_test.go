package machine

import (
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// simFold derives from a journal alone what a session is: the other half of the
// invariant that the stored status equals what the events say. It also knows
// the grammar of a journal, and refuses an event that breaks it.
type simFold struct {
	ready bool
	lost  bool
	end   core.EventType

	ours, theirs string
	queue        []string
	turns        map[string]*foldTurn
	requests     map[string]*foldRequest
	touched      []string // turns and requests changed since the last commit
}

type foldTurn struct {
	origin     core.Origin
	phase      foldPhase
	cancelling bool
	word       core.TurnStatus // once it has ended
	open       int
}

type foldRequest struct {
	turn string
	word core.RequestStatus
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
func (f *simFold) apply(a Append) error {
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
	case core.SessionReady:
		if f.live() {
			return bad("the session is ready already")
		}
		f.ready, f.lost, f.end = true, false, ""
	case core.SessionClosed, core.SessionFailed, core.SessionKilled:
		if f.ours != "" || f.theirs != "" || len(f.queue) > 0 {
			return bad("turns have no terminal yet")
		}
		f.end = a.Type
	case core.TransportError:
		f.lost = true
	case core.SessionIdle:
		if f.ours != "" || f.theirs != "" || len(f.queue) > 0 {
			return bad("there is work")
		}
	case core.QueueChanged:
		want := len(f.queue)
		if want > 0 && f.live() && f.ours == "" && f.theirs == "" {
			want-- // the first is about to be accepted
		}
		if n := a.Data.(dataQueue).Queued; n != want {
			return bad(fmt.Sprintf("says %d are queued, %d are", n, len(f.queue)))
		}
	case core.TurnQueued:
		if t != nil {
			return bad("it exists already")
		}
		f.turns[a.TurnID] = &foldTurn{origin: core.OriginCaller}
		f.queue = append(f.queue, a.TurnID)
	case core.TurnAccepted:
		return f.accepted(a, bad)
	case core.TurnStarted:
		if t.phase != foldAccepted {
			return bad("it was not accepted, or started twice")
		}
		t.phase = foldStarted
	case core.CancelRequested:
		if t.cancelling {
			return bad("twice")
		}
		t.cancelling = true
	case core.RequestCreated:
		if t.cancelling || f.requests[a.RequestID] != nil {
			return bad("a new request in a turn that is being stopped, or the same one again")
		}
		t.open++
		f.requests[a.RequestID] = &foldRequest{turn: a.TurnID, word: core.RequestPending}
	case core.RequestResolved, core.RequestExpired:
		q := f.requests[a.RequestID]
		if q == nil || q.word != core.RequestPending || q.turn != a.TurnID {
			return bad("the request is not open")
		}
		t.open--
		q.word = core.RequestDoneResolved
		if a.Type == core.RequestExpired {
			q.word = core.RequestDoneExpired
		}
	case core.TurnCompleted, core.TurnFailed, core.TurnCancelled, core.TurnInterrupted:
		return f.terminal(a, t, bad)
	}
	return nil
}

// allowed checks what holds for every event: nothing before the start, nothing
// after an end, nothing of a turn before its admission or after its terminal.
func (f *simFold) allowed(a Append) string {
	switch a.Type {
	case core.StoreFailure, core.StoreRecovered, core.SessionReady:
		return ""
	case core.SessionStarted:
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
	case f.lost && !a.Type.EndsTurn() && !slices.Contains([]core.EventType{core.RequestExpired, core.QueueChanged, core.SessionClosed, core.SessionKilled}, a.Type):
		return "after the link was lost"
	}
	if a.TurnID == "" || a.Type == core.TurnQueued || a.Type == core.TurnAccepted {
		return ""
	}
	t := f.turns[a.TurnID]
	switch {
	case t == nil:
		return "before its admission"
	case t.phase == foldEnded:
		return "after its terminal"
	case t.phase == foldQueued && a.Type != core.TurnInterrupted:
		return "it is only queued"
	}
	return ""
}

func (f *simFold) accepted(a Append, bad func(string) error) error {
	if a.Data.(dataPrompt).Origin == core.OriginProvider {
		if f.turns[a.TurnID] != nil || f.theirs != "" {
			return bad("the provider has a turn already")
		}
		if o := f.turns[f.ours]; o != nil && o.phase != foldAccepted {
			return bad("ours runs already")
		}
		f.theirs = a.TurnID
		f.turns[a.TurnID] = &foldTurn{origin: core.OriginProvider, phase: foldAccepted}
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
		f.turns[a.TurnID] = &foldTurn{origin: core.OriginCaller, phase: foldAccepted}
	}
	f.ours = a.TurnID
	return nil
}

func (f *simFold) terminal(a Append, t *foldTurn, bad func(string) error) error {
	d := a.Data.(*TerminalData)
	if terminalEvents[d.Status] != a.Type {
		return bad("its data says " + string(d.Status))
	}
	if t.open > 0 {
		return bad("requests are open")
	}
	if (a.Type == core.TurnCompleted || a.Type == core.TurnCancelled) && t.phase != foldStarted {
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

// status is the status by the journal. An opening and a closing write no
// event: they are not seen here.
func (f *simFold) status() core.SessionStatus {
	switch {
	case f.end == core.SessionClosed:
		return core.StatusClosed
	case f.end == core.SessionFailed:
		return core.StatusFailed
	case f.end == core.SessionKilled:
		return core.StatusKilled
	case !f.ready:
		return core.StatusOpening
	case f.lost:
		return core.StatusUnavailable
	}
	id := f.theirs
	if id == "" {
		id = f.ours
	}
	if id == "" {
		return core.StatusIdle
	}
	return core.SessionStatus(f.turns[id].status())
}

func (t *foldTurn) status() core.TurnStatus {
	switch {
	case t.phase == foldEnded:
		return t.word
	case t.phase == foldQueued:
		return core.TurnIsQueued
	case t.cancelling:
		return core.TurnIsCancelling
	case t.phase == foldAccepted:
		return core.TurnIsStarting
	case t.open > 0:
		return core.TurnIsAwaitingInput
	}
	return core.TurnIsRunning
}
