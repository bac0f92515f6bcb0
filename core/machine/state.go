package machine

import (
	"encoding/json"
	"iter"
	"slices"
	"time"
	"unique"

	"github.com/harness-mcp/harness-mcp/core"
)

// State is what the machine knows of one session: facts, from which the status is
// derived. It is copied by value; what its pointers and slices reach is never
// changed in place, so that an old State stays true. The host goes back to the State
// before a batch that was not stored.
type State struct {
	Base  *Base
	Epoch uint64
	Link  Link
	End   End
	// Reason and Err are why the session ended or lost its link.
	Reason core.Reason
	Err    *core.TurnError
	// Opening is set while Link is LinkOpening.
	Opening *Opening
	// Closing is set from the decision to end until the tree is gone.
	Closing *Closing

	// Turn is the caller's turn; ProviderTurn is one that the provider began by
	// itself. When both are set, the caller's waits behind the provider's.
	Turn         *ActiveTurn
	ProviderTurn *ActiveTurn
	Queue        []QueuedTurn
	Last         *core.Turn // the turn that ended last

	// Ops are commands that wait for their OpDone and are not a turn's start,
	// interrupt or a request's claim.
	Ops    []PendingOp
	NextOp core.OpID

	// Facts that the provider reported.
	ProviderSessionID string
	Model             string
	ReasoningEffort   string
	ApprovalMode      core.ApprovalMode
	SandboxMode       core.SandboxMode
	Usage             *core.Usage
	CostUSD           *float64
	TurnsBegun        uint64
	Warnings          []string

	Durability core.Durability
	UpdatedAt  time.Time
}

// Base is what does not change while a session is in one instance.
type Base struct {
	Config       core.SessionConfig
	Capabilities unique.Handle[core.Capabilities] // kept once for all that have the same
	CreatedAt    time.Time
	// CheckSchema checks answers against schemas; nil checks nothing.
	CheckSchema core.SchemaCheck `json:"-"`
}

// Link is the phase of the provider conversation.
type Link int

// The phases of a link.
const (
	LinkNone    Link = iota // nothing has been opened yet
	LinkOpening             // Provider.Open runs
	LinkUp
	LinkBroken // it broke, or its server died
	LinkDown   // we ended it
)

// End is how a session ended.
type End int

// The ends of a session, a stronger one later. EndGone is the end of one that
// never became ready: nothing is left of it.
const (
	EndNone End = iota
	EndClosed
	EndFailed
	EndKilled
	EndGone
)

// Opening is a conversation that is being opened.
type Opening struct {
	Token Token // of the starter; 0 once it has been answered
	// Prior is what a failed resume restores; nil for a new session.
	Prior    *State
	Key      *core.KeyRecord
	Warnings []string // for the reply and the journal, once it is ready
}

// Closing is the end of a session that is decided and not carried out yet.
type Closing struct {
	Word   End
	Reason core.Reason
	Tokens []Token // who waits for it
	// HungUp is set once the conversation is being ended.
	HungUp bool
}

// Phase is how far a turn has come.
type Phase int

// The phases of an active turn.
const (
	PhaseStarting Phase = iota // the provider has not accepted it yet
	PhaseRunning
)

// Intent is how far the wish to stop a turn has come.
type Intent int

// The wish to stop a turn.
const (
	IntentNone     Intent = iota
	IntentRecorded        // decided, but the provider has not accepted the turn yet
	IntentSent            // the provider has been asked
)

// ActiveTurn is a turn that was admitted and has no terminal event yet.
type ActiveTurn struct {
	Rec    core.Turn // the snapshot; its Status is derived when read
	Name   string
	Op     core.OpID
	Phase  Phase
	Intent Intent
	// IntOp is the interrupt that was sent.
	IntOp core.OpID
	// Withdraw names requests that ended with a recorded intent: the
	// interrupt, once it is sent, withdraws them.
	Withdraw []string
	// Accepted is set when the provider accepted a turn that still waits behind one of
	// its own.
	Accepted bool
	// Cause is the turn time-out that made us stop it.
	Cause    core.Code
	Requests []OpenRequest
	Text     string // the last whole message
	HasText  bool
	// Recovered is what the journal has of a turn whose server has died.
	Recovered RecoveredText
	Schema    json.RawMessage // what the answer is to meet, if anything
}

// RecoveredText is what the journal has of the end of a turn whose server has
// died.
type RecoveredText struct {
	Message core.Message // the last one; its parts joined when it never became whole
	Parts   bool         // it never became whole
	Seq     uint64       // of the event that has it whole
	At      time.Time    // of the turn's last event; the zero time when nothing was read
}

// OpenRequest is a request that can still be answered.
type OpenRequest struct {
	Rec   core.Request
	Claim *Claim
}

// Claim is an answer to a request that is on its way to the provider.
type Claim struct {
	Op       core.OpID
	Token    Token
	Response core.Response
	By       string
	Client   string
	Key      *core.KeyRecord
}

// QueuedTurn is a turn that waits behind others.
type QueuedTurn struct {
	Rec   core.Turn
	Input core.TurnInput
}

// PendingOp is a command that waits for its OpDone.
type PendingOp struct {
	ID      core.OpID
	Kind    OpKind
	Token   Token
	TurnID  string
	Prompt  string
	Changes core.Changes
	Key     *core.KeyRecord
}

// OpKind is the kind of a pending op.
type OpKind int

// The kinds of pending ops.
const (
	OpSteer OpKind = iota
	OpConfigure
	OpDismiss // an answer given by core itself: on expiry, or for no turn
)

// NewState returns the state of a session that is about to be opened.
func NewState(cfg core.SessionConfig, caps core.Capabilities, d core.Durability, now time.Time) State {
	return State{
		Base:         &Base{Config: cfg, Capabilities: unique.Make(caps), CreatedAt: now},
		Model:        cfg.Model,
		ApprovalMode: cfg.ApprovalMode, SandboxMode: cfg.SandboxMode,
		ReasoningEffort: cfg.ReasoningEffort,
		Durability:      d, UpdatedAt: now, NextOp: 1,
	}
}

// Status derives the session's status from the facts.
func (s State) Status() core.SessionStatus {
	switch s.End {
	case EndClosed, EndGone:
		return core.StatusClosed
	case EndFailed:
		return core.StatusFailed
	case EndKilled:
		return core.StatusKilled
	}
	switch {
	case s.Closing != nil && s.Link != LinkOpening:
		return core.StatusClosing
	case s.Link == LinkOpening || s.Link == LinkNone:
		return core.StatusOpening
	case s.Link == LinkBroken || s.Link == LinkDown:
		return core.StatusUnavailable
	}
	if t := s.Active(); t != nil {
		return core.SessionStatus(t.Status()) // the words are the same
	}
	return core.StatusIdle
}

// Active returns the turn that the provider works on, or the caller's that is
// starting; nil for none. The provider's own turn comes first.
func (s State) Active() *ActiveTurn {
	if s.ProviderTurn != nil {
		return s.ProviderTurn
	}
	return s.Turn
}

// Status derives a turn's status from the facts.
func (t *ActiveTurn) Status() core.TurnStatus {
	switch {
	case t.Intent != IntentNone:
		return core.TurnIsCancelling
	case t.Phase == PhaseStarting:
		return core.TurnIsStarting
	case len(t.Requests) > 0:
		return core.TurnIsAwaitingInput
	}
	return core.TurnIsRunning
}

// Snapshot returns the turn as callers read it.
func (t *ActiveTurn) Snapshot() core.Turn {
	r := t.Rec
	r.Status = t.Status()
	return r
}

// Snapshot returns the session as callers read it. The host fills in LastSeq.
func (s State) Snapshot() core.Session {
	c := s.Base.Config
	out := core.Session{
		ID: c.SessionID, Owner: c.Owner, Title: c.Title, Provider: c.Provider, Transport: c.Transport,
		Status: s.Status(), Reason: s.Reason, CWD: c.CWD, Model: s.Model, ReasoningEffort: s.ReasoningEffort,
		ProviderSessionID: s.ProviderSessionID, ApprovalMode: s.ApprovalMode, SandboxMode: s.SandboxMode,
		AnswerBy: c.AnswerBy, Durability: s.Durability, Warnings: s.Warnings, Usage: s.Usage, CostUSD: s.CostUSD,
		Epoch: s.Epoch, TurnsBegun: s.TurnsBegun, Fingerprint: c.Fingerprint, Error: s.Err,
		CreatedAt: s.Base.CreatedAt, UpdatedAt: s.UpdatedAt, Metadata: c.Metadata,
	}
	if t := s.Active(); t != nil {
		out.CurrentTurn = t.Rec.ID
	}
	if s.Last != nil {
		out.LastTurn = s.Last.ID
	}
	for _, q := range s.Queue {
		out.Queue = append(out.Queue, q.Rec.ID)
	}
	return out
}

// View returns the session with its turns and open requests.
func (s State) View() core.SessionView {
	v := core.SessionView{Session: s.Snapshot(), Last: s.Last, Capabilities: s.Base.Capabilities.Value()}
	if t := s.Active(); t != nil {
		snap := t.Snapshot()
		v.Current = &snap
	}
	for i, q := range s.queued() {
		q.QueuePosition = i + 1
		v.Queued = append(v.Queued, q)
	}
	for t := range s.Turns() {
		for _, q := range t.Requests {
			v.Requests = append(v.Requests, q.snapshot())
		}
	}
	return v
}

// Turns returns an iterator over the turns that are active: the provider's own
// first, then the caller's.
func (s *State) Turns() iter.Seq[*ActiveTurn] {
	provider, ours := s.ProviderTurn, s.Turn
	return func(yield func(*ActiveTurn) bool) {
		if provider != nil && !yield(provider) {
			return
		}
		if ours != nil {
			yield(ours)
		}
	}
}

// turn returns the active turn with an id of ours, or nil.
func (s *State) turn(id string) *ActiveTurn {
	for t := range s.Turns() {
		if t.Rec.ID == id {
			return t
		}
	}
	return nil
}

// HasTurn reports whether the state shows a turn: active, queued or the last
// that ended.
func (s *State) HasTurn(id string) bool {
	return s.turn(id) != nil || s.Last != nil && s.Last.ID == id ||
		slices.ContainsFunc(s.Queue, func(q QueuedTurn) bool { return q.Rec.ID == id })
}

// openRequest returns the first open request for which is returns true, as its turn
// and its index there. The turn is nil when there is none.
func (s *State) openRequest(is func(OpenRequest) bool) (*ActiveTurn, int) {
	for t := range s.Turns() {
		if i := slices.IndexFunc(t.Requests, is); i >= 0 {
			return t, i
		}
	}
	return nil, -1
}

// request is openRequest by our id.
func (s *State) request(id string) (*ActiveTurn, int) {
	return s.openRequest(func(q OpenRequest) bool { return q.Rec.ID == id })
}

// HasRequest reports whether a request is open.
func (s *State) HasRequest(id string) bool {
	t, _ := s.request(id)
	return t != nil
}

// Asks reports whether any request is open.
func (s *State) Asks() bool {
	t, _ := s.openRequest(func(OpenRequest) bool { return true })
	return t != nil
}

// Works reports whether an active turn runs and asks nothing.
func (s *State) Works(turn string) bool {
	t := s.turn(turn)
	return t != nil && len(t.Requests) == 0
}

// queued returns the turns that wait. The caller's, behind a turn of the provider's,
// is first.
func (s State) queued() []core.Turn {
	out := make([]core.Turn, 0, len(s.Queue)+1)
	if s.ProviderTurn != nil && s.Turn != nil {
		out = append(out, s.Turn.Snapshot())
	}
	for _, q := range s.Queue {
		t := q.Rec
		t.Status = core.TurnIsQueued
		out = append(out, t)
	}
	return out
}

func (q OpenRequest) snapshot() core.Request {
	r := q.Rec
	r.Status = core.RequestPending
	if q.Claim != nil {
		r.Status = core.RequestClaimed
	}
	return r
}
