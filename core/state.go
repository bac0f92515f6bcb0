package core

import (
	"encoding/json"
	"time"
	"unique"
)

// State is what the machine knows of one session: facts, never a status. It is
// copied by value; what its pointers and slices reach is never changed in
// place, so an old State stays true.
type State struct {
	Base  *Base
	Epoch uint64
	Link  Link
	End   End
	// Reason and Err say why the session ended or lost its link.
	Reason Reason
	Err    *TurnError
	// Opening is set while Link is LinkOpening.
	Opening *Opening
	// Closing is set from the decision to end until the tree is gone.
	Closing *Closing

	// Turn is the caller's turn; Theirs is one that the provider began by
	// itself. When both are set, ours waits behind theirs.
	Turn   *ActiveTurn
	Theirs *ActiveTurn
	Queue  []QueuedTurn
	Last   *Turn // the turn that ended last

	// Ops are commands that wait for their OpDone and are not a turn's start,
	// interrupt or a request's claim.
	Ops    []PendingOp
	NextOp OpID

	// Facts that the provider reported.
	ProviderSessionID string
	Model             string
	ReasoningEffort   string
	ApprovalMode      ApprovalMode
	SandboxMode       SandboxMode
	Usage             *Usage
	CostUSD           *float64
	TurnsBegun        uint64
	Warnings          []string

	Durability Durability
	UpdatedAt  time.Time
}

// Base is what never changes while a session lives in one instance.
type Base struct {
	Config       SessionConfig
	Capabilities unique.Handle[Capabilities] // kept once for all that have the same
	CreatedAt    time.Time
	// CheckSchema says whether a document meets a JSON schema, nil for yes. It
	// is a pure function. Nil checks nothing.
	CheckSchema SchemaCheck `json:"-"`
}

// SchemaCheck says why a document does not meet a JSON schema, or, for a nil
// document, why the schema is none. It depends on its arguments alone.
type SchemaCheck func(schema, doc json.RawMessage) error

// Link is where the provider conversation stands.
type Link int

// The phases of a link.
const (
	LinkNone    Link = iota // nothing has been opened yet
	LinkOpening             // Provider.Open runs
	LinkUp
	LinkLost // it broke, or its server died
	LinkDown // we ended it
)

// End is the word of an ended session.
type End int

// How a session ends, the stronger word later. EndGone is one that never
// became ready: it leaves nothing behind.
const (
	EndNone End = iota
	EndClosed
	EndFailed
	EndKilled
	EndGone
)

// Opening is what is known of a conversation that is being opened.
type Opening struct {
	Token Token // of the starter; 0 once it has been answered
	// Prior is what a failed resume restores; nil for a new session.
	Prior    *State
	Key      *KeyRecord
	Warnings []string // to be told when it is ready
}

// Closing is the end of a session, decided and not yet carried out.
type Closing struct {
	Word   End
	Reason Reason
	Tokens []Token // who waits for it
	// HungUp says that the link was told to end.
	HungUp bool
}

// Phase is how far a turn has come.
type Phase int

// The phases of an active turn.
const (
	PhaseStarting Phase = iota // the provider has not accepted it yet
	PhaseRunning
)

// Intent is how far a wish to stop a turn has come.
type Intent int

// The wish to stop a turn.
const (
	IntentNone     Intent = iota
	IntentRecorded        // decided, but the provider has not accepted the turn yet
	IntentSent            // the provider has been asked
)

// ActiveTurn is a turn that has been admitted and has no terminal yet.
type ActiveTurn struct {
	Rec    Turn // the snapshot; its Status is derived when read
	Name   string
	Op     OpID
	Phase  Phase
	Intent Intent
	// IntOp is the interrupt that was sent.
	IntOp OpID
	// Withdraw names requests that ended with a recorded intent: the
	// interrupt, once it is sent, withdraws them.
	Withdraw []string
	// Accepted says that a starting turn behind a provider's turn is accepted.
	Accepted bool
	// Cause is the turn time-out that made us stop it.
	Cause    Code
	Requests []OpenRequest
	Text     string // the last whole message
	HasText  bool
	Last     lastWords       // of a turn whose server is gone
	Schema   json.RawMessage // what the answer is to meet, if anything
}

// OpenRequest is a request that can still be answered.
type OpenRequest struct {
	Rec   Request
	Claim *Claim
}

// Claim is an answer that the provider is being told.
type Claim struct {
	Op       OpID
	Token    Token
	Response Response
	By       string
	Client   string
	Key      *KeyRecord
}

// QueuedTurn waits for the turns before it.
type QueuedTurn struct {
	Rec   Turn
	Input TurnInput
}

// PendingOp is a command that waits for its OpDone.
type PendingOp struct {
	ID      OpID
	Kind    OpKind
	Token   Token
	TurnID  string
	Prompt  string
	Changes Changes
	Key     *KeyRecord
}

// OpKind names the kinds of pending ops.
type OpKind int

// The kinds of pending ops.
const (
	OpSteer OpKind = iota
	OpConfigure
	OpDismiss // an answer given by core itself: on expiry, or for no turn
)

// NewState gives the state of a session that is about to be opened.
func NewState(cfg SessionConfig, caps Capabilities, d Durability, now time.Time) State {
	return State{
		Base:         &Base{Config: cfg, Capabilities: unique.Make(caps), CreatedAt: now},
		Model:        cfg.Model,
		ApprovalMode: cfg.ApprovalMode, SandboxMode: cfg.SandboxMode,
		ReasoningEffort: cfg.ReasoningEffort,
		Durability:      d, UpdatedAt: now, NextOp: 1,
	}
}

// Status derives the session's word from the facts.
func (s State) Status() SessionStatus {
	switch s.End {
	case EndClosed, EndGone:
		return StatusClosed
	case EndFailed:
		return StatusFailed
	case EndKilled:
		return StatusKilled
	}
	switch {
	case s.Closing != nil && s.Link != LinkOpening:
		return StatusClosing
	case s.Link == LinkOpening || s.Link == LinkNone:
		return StatusOpening
	case s.Link == LinkLost || s.Link == LinkDown:
		return StatusUnavailable
	}
	if t := s.Active(); t != nil {
		switch t.Status() {
		case TurnIsStarting:
			return StatusStarting
		case TurnIsAwaitingInput:
			return StatusAwaitingInput
		case TurnIsCancelling:
			return StatusCancelling
		}
		return StatusRunning
	}
	return StatusIdle
}

// Active gives the turn that the provider works on, or ours that is starting:
// the provider's own first.
func (s State) Active() *ActiveTurn {
	if s.Theirs != nil {
		return s.Theirs
	}
	return s.Turn
}

// Status derives a turn's word from the facts.
func (t *ActiveTurn) Status() TurnStatus {
	switch {
	case t.Intent != IntentNone:
		return TurnIsCancelling
	case t.Phase == PhaseStarting:
		return TurnIsStarting
	case len(t.Requests) > 0:
		return TurnIsAwaitingInput
	}
	return TurnIsRunning
}

// Snapshot gives the turn as callers read it.
func (t *ActiveTurn) Snapshot() Turn {
	r := t.Rec
	r.Status = t.Status()
	return r
}

// Snapshot gives the session as callers read it; LastSeq is the host's to fill.
func (s State) Snapshot() Session {
	c := s.Base.Config
	out := Session{
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

// View gives the session with everything that hangs on it.
func (s State) View() SessionView {
	v := SessionView{Session: s.Snapshot(), Last: s.Last, Capabilities: s.Base.Capabilities.Value()}
	if t := s.Active(); t != nil {
		snap := t.Snapshot()
		v.Current = &snap
	}
	for i, q := range s.queued() {
		q.QueuePosition = i + 1
		v.Queued = append(v.Queued, q)
	}
	for _, t := range []*ActiveTurn{s.Theirs, s.Turn} {
		if t == nil {
			continue
		}
		for _, q := range t.Requests {
			v.Requests = append(v.Requests, q.snapshot())
		}
	}
	return v
}

// queued gives the turns that wait: ours behind a provider's turn is first.
func (s State) queued() []Turn {
	out := make([]Turn, 0, len(s.Queue)+1)
	if s.Theirs != nil && s.Turn != nil {
		out = append(out, s.Turn.Snapshot())
	}
	for _, q := range s.Queue {
		t := q.Rec
		t.Status = TurnIsQueued
		out = append(out, t)
	}
	return out
}

func (q OpenRequest) snapshot() Request {
	r := q.Rec
	r.Status = RequestPending
	if q.Claim != nil {
		r.Status = RequestClaimed
	}
	return r
}
