package core

import "time"

// The longest parts of an event, in bytes.
const (
	// MaxRaw is the longest provider frame that is stored whole.
	MaxRaw = 256 << 10
	// MaxText is the longest text of an event that is kept whole, in bytes: no
	// model's answer comes near. Of a longer one the middle is cut out, before it
	// is copied on its way to the store.
	MaxText = 4 << 20
)

// DefaultTimeouts are the bounds of a session that asked for none.
var DefaultTimeouts = Timeouts{
	Startup: 30 * time.Second, TurnStart: 30 * time.Second, ProviderCommand: 30 * time.Second,
	Interrupt: 15 * time.Second, ProviderStop: StopGrace,
	SessionIdle: time.Hour, Request: 15 * time.Minute,
}

// Limits of what a session takes.
const (
	// MaxQueue is how many turns may wait behind the active one.
	MaxQueue = 64
	// MaxQueueBytes is how large the inputs of all queued turns may be.
	MaxQueueBytes = 16 << 20
	// MaxPrompt is how large the input of one turn may be, in bytes.
	MaxPrompt = 8 << 20
)

// Limits of a page.
const (
	MaxPage = 1000
)
