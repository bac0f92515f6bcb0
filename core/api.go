package core

import (
	"encoding/json"
	"time"
)

// Caller is on whose behalf a call is made.
type Caller struct {
	// Owner is the principal; a resource is visible to its owner only.
	Owner string
	// Client names the program that called, for the journal.
	Client string
	// Directory is where the caller works: what relative directories are
	// relative to, and the one of work that names none. It allows nothing that
	// Limits.AllowDirs does not. "" is the directory of this process; a caller
	// that is Elsewhere cannot mean a relative one by that.
	Directory string
	// Elsewhere means that the caller did not start this process, whose own
	// directory means nothing to it.
	Elsewhere bool
	// User means that a person entered this answer in a form.
	User bool
}

// Once is the idempotency part of a call. Key empty means that there is none.
type Once struct {
	Tool string
	Key  string
	// Args are the call's arguments without waits, in a canonical form.
	Args json.RawMessage
}

// Reuse is what may happen to a stored session whose id is asked for again.
type Reuse string

// What may happen to a stored id.
const (
	ReuseNever   Reuse = "never"
	ReuseClosed  Reuse = "closed"
	ReuseReplace Reuse = "replace"
)

// StartRequest asks for a session. Config.SessionID empty means that the
// harness makes one. With Resume, Config holds only what is given anew.
type StartRequest struct {
	Config SessionConfig
	Reuse  Reuse
	Resume string // a session of ours: same id and journal, stored settings
	Fork   bool   // with Resume or Config.ProviderSesID: a new session
	// CloseAtRest closes the session by itself once a turn has ended and no
	// other is queued, also while callers wait for it. A resume does not keep it.
	CloseAtRest bool
	// Task is the input of the turn that follows, nil for none: one that the
	// session could not take is refused before anything is opened.
	Task *TurnInput
	// Warnings are added to those of the harness in the reply and the journal.
	Warnings []string
	Once     Once
}

// SendRequest asks for a turn.
type SendRequest struct {
	SessionID string
	TurnID    string // the caller's own, or empty
	Input     TurnInput
	Once      Once
}

// SteerRequest adds to the running turn.
type SteerRequest struct {
	SessionID string
	TurnID    string // refused if another one runs
	Input     TurnInput
	Once      Once
}

// RespondRequest answers a request.
type RespondRequest struct {
	RequestID string
	Response  Response
	Once      Once
}

// InterruptRequest stops the running turn or removes a queued one.
type InterruptRequest struct {
	SessionID  string
	TurnID     string
	ClearQueue bool
	Once       Once
}

// InterruptResult is the interrupted turn and how many are queued behind it.
type InterruptResult struct {
	Turn        Turn
	QueuedTurns int
}

// ConfigureRequest changes a live session.
type ConfigureRequest struct {
	SessionID string
	Changes   Changes
	Once      Once
}

// CloseRequest ends a session or process.
type CloseRequest struct {
	ID     string
	Force  bool
	Reason string // the caller's words, for the journal
	Once   Once
}

// PruneRequest deletes ended resources: ID, or all that ended longer ago than
// OlderThan. DryRun deletes nothing and only lists them.
type PruneRequest struct {
	ID        string
	OlderThan time.Duration
	DryRun    bool
	Once      Once
}

// SessionView is a session with its turns and requests, as of Session.LastSeq.
type SessionView struct {
	Session  Session
	Current  *Turn
	Last     *Turn
	Queued   []Turn
	Requests []Request // pending and claimed ones
	Instance string    // the owning instance while live

	Capabilities Capabilities
}

// ResourceKind is the kind of thing that an id names.
type ResourceKind string

// What ids name.
const (
	KindSession ResourceKind = "session"
	KindTurn    ResourceKind = "turn"
	KindRequest ResourceKind = "request"
	KindProcess ResourceKind = "process"
)

// Resource is the present state of what an id names: the field of its Kind is
// set, and Session too for turns and requests.
type Resource struct {
	Kind    ResourceKind
	ID      string
	Session *SessionView
	Turn    *Turn
	Request *Request
	Process *ProcessSnapshot
	// Matched is where an awaited pattern was found in a process's output.
	Matched *OutputMatch
}

// Done reports whether nothing more happens without a new command: a turn,
// request or process has ended; a session is idle with an empty queue,
// unavailable or ended.
func (r Resource) Done() bool {
	switch r.Kind {
	case KindTurn:
		return r.Turn.Status.Ended()
	case KindRequest:
		return r.Request.Status.Ended()
	case KindProcess:
		return r.Process.Status.Ended()
	case KindSession:
		s := r.Session.Session
		return !s.Status.Live() || s.Status == StatusIdle && len(s.Queue) == 0
	}
	return false
}

// Pending returns the requests that wait for an answer and concern the resource:
// those of a turn, or of a session's turns.
func (r Resource) Pending() []Request {
	if r.Session == nil || r.Kind == KindRequest {
		return nil
	}
	var out []Request
	for _, q := range r.Session.Requests {
		if q.Status == RequestPending && (r.Kind == KindSession || q.TurnID == r.ID) {
			out = append(out, q)
		}
	}
	return out
}

// Outcome is why an await returned.
type Outcome string

// Why an await returns.
const (
	OutcomeDone    Outcome = "done"
	OutcomeRequest Outcome = "request_pending"
	OutcomeMatched Outcome = "matched"
	OutcomeTimeout Outcome = "timeout"
)

// AwaitRequest asks to wait for resources. The caller's ctx ends the wait and
// nothing else.
type AwaitRequest struct {
	IDs            []string
	Any            bool          // the first of them, instead of all
	Wait           time.Duration // how long at most
	WakeOnRequest  bool
	IgnoreRequests []string
	// HoldRequest reports whether a pending request must not end the wait yet,
	// because a person is being asked. Nil holds none.
	HoldRequest func(Request) bool
	// Pattern, when set, ends the wait for a process when a line of its output
	// matches, from its beginning or, for a single process, from behind After.
	Pattern string
	After   uint64
	// Progress, when set, is called about once a second with the resources as
	// they are, never after Await has returned.
	Progress func([]Resource)
}

// AwaitResult is the state of the resources. Results has every id once, in
// order of finishing, then the others in the order asked.
type AwaitResult struct {
	Outcome   Outcome
	Results   []Resource
	WaitingOn []string
}

// ReplayRequest asks for a page of a journal. ID is a session, process or
// turn.
type ReplayRequest struct {
	ID       string
	After    uint64
	Limit    int
	Types    []EventType
	MaxBytes int
	Tail     int // the last n instead
	Raw      bool
}

// ReplayPage is a page of a journal. AvailableFrom is set when events behind
// After are gone; Events then begins with a ReplayGap.
type ReplayPage struct {
	Resource      string // the journal's resource: the session of a turn
	TurnID        string
	Events        []Event
	Cursor        uint64
	More          bool
	AvailableFrom uint64
}

// ListRequest asks for rows of one kind.
type ListRequest struct {
	Kind      ResourceKind
	SessionID string
	Provider  string
	Status    []string
	Live      *bool
	Limit     int
	Page      string
}

// ListResult is a page of rows, newest first. Items have Kind and their own
// field set; Session is set for turns and requests only when it is live.
type ListResult struct {
	Items    []Resource
	NextPage string
}

// ProviderInfo is a provider with what a probe found.
type ProviderInfo struct {
	Spec   Spec
	Status Status
}

// AskRequest reports that a person is being shown a request (Said is AskedNow, and
// For is how long somebody waits for the answer), or that the person gave none.
type AskRequest struct {
	RequestID string
	Said      string
	For       time.Duration
}
