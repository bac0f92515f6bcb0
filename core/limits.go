package core

import "time"

// Limits of what is stored of an event.
const (
	// MaxRaw is the longest provider frame that is stored whole.
	MaxRaw = 256 << 10
	// MaxText is the longest text of an event that is kept whole, in bytes: no
	// model's answer comes near. Of a longer one the middle is cut out, before it
	// is copied on its way to the store.
	MaxText = 4 << 20
)

// Limits of what a session takes.
const (
	// MaxQueue is how many turns may wait behind the active one.
	MaxQueue = 64
	// MaxQueueBytes is how large the inputs of all queued turns may be.
	MaxQueueBytes = 16 << 20
	// MaxPrompt is how large the input of one turn may be, in bytes.
	MaxPrompt = 8 << 20
)

// DefaultTimeouts are the bounds of a session that asked for none.
var DefaultTimeouts = Timeouts{
	Startup: 30 * time.Second, TurnStart: 30 * time.Second, ProviderCommand: 30 * time.Second,
	Interrupt: 15 * time.Second, ProviderStop: StopGrace,
	SessionIdle: time.Hour, Request: 15 * time.Minute,
}

// DefaultLimits are the limits of an instance that was given none.
var DefaultLimits = Limits{
	MaxSessions: 64, MaxProcesses: 256,
	Retention: 30 * 24 * time.Hour, StoreTimeout: 10 * time.Second,
}

// Limits of a page.
const (
	MaxPage = 1000
)
