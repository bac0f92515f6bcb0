package core

import "time"

// Telemetry receives what the harness does, for traces and counters: names, ids,
// codes and counts, and never a prompt, an answer, an argument, an environment
// or a credential.
//
// All methods may be called concurrently, from a session's own goroutine among
// others: they must return at once.
type Telemetry interface {
	// Begin reports that an operation has begun. The function that it returns is
	// called once, when the operation has ended.
	Begin(Operation) (end func(Ended))
	// Count reports that something has happened.
	Count(Signal)
}

// OperationName names a kind of operation.
type OperationName string

// The operations. Of those that a caller asks for the time is what the caller
// waited.
const (
	OpStartSession OperationName = "start_session" // a caller's wait for a session
	OpStartTurn    OperationName = "start_turn"    // a caller's wait for a turn's admission
	OpSession      OperationName = "session"       // from ready to its end
	OpTurn         OperationName = "turn"          // from admission to its terminal event
	OpCommand      OperationName = "provider_command"
	OpStoreWrite   OperationName = "store_write"
	OpToolCall     OperationName = "tool_call" // of an MCP client
)

// Operation is something that takes time. Fields that do not apply are empty.
type Operation struct {
	Name      OperationName
	Provider  string
	Transport string
	Model     string
	Session   string
	Turn      string
	Request   string
	// Command is the op sent to a provider (start_turn, steer, respond,
	// interrupt, configure), or the tool that was called.
	Command string
	At      time.Time // when it began; zero means now
}

// Ending is how an operation ended.
type Ending string

// The endings. Uncertain is a command of which nobody knows whether it had an
// effect, aborted one that was given up because its session or its caller went.
const (
	EndedOK        Ending = "ok"
	EndedRejected  Ending = "rejected"
	EndedUncertain Ending = "uncertain"
	EndedAborted   Ending = "aborted"
)

// Ended is how an operation ended, in words from closed lists.
type Ended struct {
	Ending Ending
	Code   Code   // of the error, if it was one
	Status string // the last status of a session or turn
	Reason Reason
	Usage  *Usage
	Bytes  int // of a store write
}

// SignalName names a kind of signal.
type SignalName string

// The signals.
const (
	RequestWasCreated  SignalName = "request_created"
	RequestWasResolved SignalName = "request_resolved"
	RequestWasExpired  SignalName = "request_expired"
	ProcessWasStarted  SignalName = "process_started"
	StoreHasFailed     SignalName = "store_failed"
	StoreHasRecovered  SignalName = "store_recovered"
	LinkWasLost        SignalName = "transport_error"
)

// Signal is something that happened at once.
type Signal struct {
	Name     SignalName
	Provider string
	Session  string
	Turn     string
	Request  string
	Kind     string // of a request
	Reason   Reason // why it expired
}

// EndedBy returns how a call with this error ended.
func EndedBy(err error) Ended {
	switch {
	case err == nil:
		return Ended{Ending: EndedOK}
	case IsContext(err):
		return Ended{Ending: EndedAborted}
	}
	e := Ended{Ending: EndedRejected, Code: CodeOf(err)}
	if e.Code == CodeResponseUncertain {
		e.Ending = EndedUncertain
	}
	return e
}
