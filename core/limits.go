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

// DefaultLimits are the limits of an instance that was given none.
var DefaultLimits = Limits{
	MaxSessions: 64, MaxProcesses: 256,
	Retention: 30 * 24 * time.Hour, StoreTimeout: 10 * time.Second,
}

// WithDefaults returns l with its zero fields filled from DefaultLimits.
func (l Limits) WithDefaults() Limits {
	if l.MaxSessions <= 0 {
		l.MaxSessions = DefaultLimits.MaxSessions
	}
	if l.MaxProcesses <= 0 {
		l.MaxProcesses = DefaultLimits.MaxProcesses
	}
	if l.Retention <= 0 {
		l.Retention = DefaultLimits.Retention
	}
	if l.StoreTimeout <= 0 {
		l.StoreTimeout = DefaultLimits.StoreTimeout
	}
	return l
}

// WithDefaults returns t with its zero fields filled from DefaultTimeouts. A
// negative timeout is none.
func (t Timeouts) WithDefaults() Timeouts {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&t.Startup, DefaultTimeouts.Startup)
	set(&t.TurnStart, DefaultTimeouts.TurnStart)
	set(&t.ProviderCommand, DefaultTimeouts.ProviderCommand)
	set(&t.Interrupt, DefaultTimeouts.Interrupt)
	set(&t.ProviderStop, DefaultTimeouts.ProviderStop)
	set(&t.SessionIdle, DefaultTimeouts.SessionIdle)
	set(&t.Request, DefaultTimeouts.Request)
	return t
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
