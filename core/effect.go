package core

import "time"

// Effect is what the machine asks for: the closed set below. The host carries
// effects out in order, those that leave the process only after the commit.
type Effect interface{ effect() }

// doAppend journals an event. Data is marshalled by the host.
type doAppend struct {
	Type      EventType
	TurnID    string
	RequestID string
	Late      string // the ended turn that this came too late for
	Data      any
	Raw       []byte
}

// doPutTurn stores a turn's snapshot.
type doPutTurn struct {
	Turn Turn
}

// doPutRequest stores a request's snapshot.
type doPutRequest struct{ Request Request }

// doKeep stores an idempotency key with the effect that it answers for.
type doKeep struct{ Key KeyRecord }

// doSend hands an op to the provider.
type doSend struct{ Op Op }

// doReply answers a waiting caller.
type doReply struct {
	Token Token
	Value any // Turn, Request, SessionView or InterruptResult
	Err   *Error
}

// doArm sets a timer, or moves it.
type doArm struct {
	Timer TimerID
	At    time.Time
}

// doDisarm forgets a timer.
type doDisarm struct{ Timer TimerID }

// doOpen opens the provider conversation.
type doOpen struct {
	Epoch  uint64
	Config SessionConfig
}

// doCancelOpen ends an opening; its inOpened still comes.
type doCancelOpen struct{ Epoch uint64 }

// doHangup ends the conversation and its tree, politely for Grace.
type doHangup struct {
	Epoch uint64
	Grace time.Duration
}

// doDiscard says that nothing of this session is to remain.
type doDiscard struct{}

func (doAppend) effect()     {}
func (doPutTurn) effect()    {}
func (doPutRequest) effect() {}
func (doKeep) effect()       {}
func (doSend) effect()       {}
func (doReply) effect()      {}
func (doArm) effect()        {}
func (doDisarm) effect()     {}
func (doOpen) effect()       {}
func (doCancelOpen) effect() {}
func (doHangup) effect()     {}
func (doDiscard) effect()    {}
