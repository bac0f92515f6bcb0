package core

import (
	"encoding/json"
	"time"
)

// SchemaVersion is the version of the event envelope, not of the payloads.
const SchemaVersion = 1

// Event is one ordered observation of a resource. Events of one resource have
// strictly increasing Seq; gaps are allowed. An event that anyone has seen is
// in the store, unless the resource's durability says otherwise.
type Event struct {
	SchemaVersion int             `json:"schema_version"`
	ID            string          `json:"id"`
	Resource      string          `json:"resource"`
	Seq           uint64          `json:"seq"`
	TurnID        string          `json:"turn_id,omitempty"`
	RequestID     string          `json:"request_id,omitempty"`
	Provider      string          `json:"provider,omitempty"`
	Type          EventType       `json:"type"`
	At            time.Time       `json:"at"`
	Data          json.RawMessage `json:"data"`
	Raw           json.RawMessage `json:"raw,omitempty"`
}

// EventType is a word of the closed event vocabulary.
type EventType string

// Events of a session's life.
const (
	SessionStarted EventType = "session_started"
	SessionReady   EventType = "session_ready"
	SessionUpdate  EventType = "session_updated"
	SessionIdle    EventType = "session_idle"
	SessionClosed  EventType = "session_closed"
	SessionFailed  EventType = "session_failed"
	SessionKilled  EventType = "session_killed"
	TransportError EventType = "transport_error"
	StoreFailure   EventType = "store_failed"
	StoreRecovered EventType = "store_recovered"
)

// Events of turns and requests that core itself decides.
const (
	TurnQueued      EventType = "turn_queued"
	QueueChanged    EventType = "queue_changed"
	TurnAccepted    EventType = "turn_accepted"
	TurnStarted     EventType = "turn_started"
	TurnCompleted   EventType = "turn_completed"
	TurnFailed      EventType = "turn_failed"
	TurnCancelled   EventType = "turn_cancelled"
	TurnInterrupted EventType = "turn_interrupted"
	CancelRequested EventType = "cancel_requested"
	Steered         EventType = "steered"
	RequestCreated  EventType = "request_created"
	RequestResolved EventType = "request_resolved"
	RequestExpired  EventType = "request_expired"
)

// Content: what an agent did and said, one vocabulary for all providers.
const (
	TypeMessageDelta       EventType = "message_delta"
	TypeMessage            EventType = "message"
	TypeReasoningDelta     EventType = "reasoning_delta"
	TypeReasoning          EventType = "reasoning"
	TypeToolStarted        EventType = "tool_started"
	TypeToolDelta          EventType = "tool_delta"
	TypeToolCompleted      EventType = "tool_completed"
	TypeCommandOutputDelta EventType = "command_output_delta"
	TypeFileChange         EventType = "file_change"
	TypePlanUpdated        EventType = "plan_updated"
	TypeUsageUpdated       EventType = "usage_updated"
	TypeRateLimit          EventType = "rate_limit"
	TypeWarning            EventType = "warning"
	TypeProviderError      EventType = "provider_error"
	TypeProviderEvent      EventType = "provider_event"
)

// Events of managed processes.
const (
	ProcessStarted   EventType = "process_started"
	TypeStdout       EventType = "stdout"
	TypeStderr       EventType = "stderr"
	ProcessStopping  EventType = "process_stopping"
	ProcessExited    EventType = "process_exited"
	ProcessFailed    EventType = "process_failed"
	ProcessCancelled EventType = "process_cancelled"
	ProcessTimedOut  EventType = "process_timed_out"
)

// ReplayGap is synthetic: it replaces events that are gone in a page and is
// never stored. Its data is {"available_from": seq}.
const ReplayGap EventType = "replay_gap"

// EndsTurn reports whether t is one of the four terminal events of a turn.
func (t EventType) EndsTurn() bool {
	switch t {
	case TurnCompleted, TurnFailed, TurnCancelled, TurnInterrupted:
		return true
	}
	return false
}

// IsDelta reports whether t is a piece of an item that a later event carries
// whole.
func (t EventType) IsDelta() bool {
	switch t {
	case TypeMessageDelta, TypeReasoningDelta, TypeToolDelta, TypeCommandOutputDelta:
		return true
	}
	return false
}

// EventTypes returns the whole stored vocabulary, in the order of the
// documentation.
func EventTypes() []EventType {
	return []EventType{
		SessionStarted, SessionReady, SessionUpdate, SessionIdle, SessionClosed, SessionFailed, SessionKilled,
		TransportError, StoreFailure, StoreRecovered,
		TurnQueued, QueueChanged, TurnAccepted, TurnStarted, TurnCompleted, TurnFailed, TurnCancelled,
		TurnInterrupted, CancelRequested, Steered, RequestCreated, RequestResolved, RequestExpired,
		TypeMessageDelta, TypeMessage, TypeReasoningDelta, TypeReasoning, TypeToolStarted, TypeToolDelta,
		TypeToolCompleted, TypeCommandOutputDelta, TypeFileChange, TypePlanUpdated, TypeUsageUpdated,
		TypeRateLimit, TypeWarning, TypeProviderError, TypeProviderEvent,
		ProcessStarted, TypeStdout, TypeStderr, ProcessStopping, ProcessExited, ProcessFailed,
		ProcessCancelled, ProcessTimedOut,
	}
}

// Essential reports whether the journal would be untrue without the event: a turn or
// session would look unfinished, or ended while it lives.
func (t EventType) Essential() bool {
	switch t {
	case SessionReady, SessionClosed, SessionFailed, SessionKilled, TransportError:
		return true
	}
	return t.EndsTurn()
}

// EndsSession reports whether t is a terminal event of a session.
func (t EventType) EndsSession() bool {
	return t == SessionClosed || t == SessionFailed || t == SessionKilled
}

// EndsProcess reports whether t is a terminal event of a process.
func (t EventType) EndsProcess() bool {
	switch t {
	case ProcessExited, ProcessFailed, ProcessCancelled, ProcessTimedOut:
		return true
	}
	return false
}

// StoreFailedData is the data of store_failed.
type StoreFailedData struct {
	Message string `json:"message"`
}

// StoreRecoveredData is the data of store_recovered: the range of seqs whose events
// were in memory only.
type StoreRecoveredData struct {
	LostFrom uint64 `json:"lost_from"`
	LostTo   uint64 `json:"lost_to"`
}
