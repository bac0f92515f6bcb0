package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Effect is what the machine asks for: one of the types below. The host carries
// effects out in order. Timers move at once; everything else that is not stored
// comes after the commit of what is.
type Effect interface{ effect() }

// Append journals an event. Data is marshalled by the host.
type Append struct {
	Type      core.EventType
	TurnID    string
	RequestID string
	Late      string // the ended turn that this came too late for
	Data      any
	Raw       []byte
}

// PutTurn stores a turn's snapshot.
type PutTurn struct {
	Turn core.Turn
}

// PutRequest stores a request's snapshot.
type PutRequest struct{ Request core.Request }

// Keep stores an idempotency key with the effect that it answers for.
type Keep struct{ Key core.KeyRecord }

// Send hands an op to the provider.
type Send struct{ Op core.Op }

// Reply answers a waiting caller.
type Reply struct {
	Token Token
	Value any // Turn, Request, SessionView or InterruptResult
	Err   *core.Error
}

// Arm sets a timer, or moves it.
type Arm struct {
	Timer TimerID
	At    time.Time
}

// Disarm forgets a timer.
type Disarm struct{ Timer TimerID }

// Open opens the provider conversation.
type Open struct {
	Epoch  uint64
	Config core.SessionConfig
}

// CancelOpen ends an opening. Its Opened still comes.
type CancelOpen struct{ Epoch uint64 }

// Hangup ends the conversation and its process tree: politely for Grace, by force
// after it.
type Hangup struct {
	Epoch uint64
	Grace time.Duration
}

// Discard asks that nothing of this session remains.
type Discard struct{}

func (Append) effect()     {}
func (PutTurn) effect()    {}
func (PutRequest) effect() {}
func (Keep) effect()       {}
func (Send) effect()       {}
func (Reply) effect()      {}
func (Arm) effect()        {}
func (Disarm) effect()     {}
func (Open) effect()       {}
func (CancelOpen) effect() {}
func (Hangup) effect()     {}
func (Discard) effect()    {}
