package core

import "time"

// The bounds of a host: everything that waits or is kept has one of these.
const (
	drainInputs  = 64      // inputs that one commit may cover
	drainBytes   = 1 << 20 // and their size
	inboxReports = 32      // a full inbox blocks the provider's reader
	inboxCalls   = 16
	ringBytes    = 256 << 10 // recent events kept per live resource
	// ringPartBytes is how much of them goes at once.
	ringPartBytes = 32 << 10

	// loopLinger is how long the goroutine of a session stays when there is
	// nothing to do: a busy session starts none, and a quiet one has none.
	loopLinger = time.Second

	// MaxRaw is the longest provider frame that is stored whole.
	MaxRaw = 256 << 10
	// MaxText is the longest text of an event that is kept whole, in bytes: no
	// model's answer comes near. Of a longer one the middle is cut out, before it
	// is copied on its way to the store.
	MaxText = 4 << 20

	storeRetryFirst = time.Second
	storeRetryMost  = 30 * time.Second
	// recoverTimeout bounds each step of an attempt to become durable again.
	recoverTimeout = 2 * time.Second

	// sinceBytes is how much a session does during such an attempt that is
	// written right behind it.
	sinceBytes = 1 << 20
	// rewriteRoom is how many numbers an attempt leaves free that may have to
	// end what a failed batch left open: its turns and requests.
	rewriteRoom = 2 * maxReplayPage

	// lostTurns bounds, per kind, what a degraded session remembers for the
	// store's return.
	lostTurns = 256

	keyLife        = 24 * time.Hour
	maxKey         = 128
	maxClaims      = 4096             // of keys that the store did not take, in memory
	claimYoung     = 10 * time.Second // whoever claimed a key may still be at it
	claimWait      = 3 * time.Second  // for a call of another server under the same key
	claimPoll      = 50 * time.Millisecond
	probeTimeout   = 5 * time.Second
	probeMemory    = 30 * time.Second
	lookEvery      = 5 * time.Second        // for resources of dead instances
	pollOthers     = 250 * time.Millisecond // changes made by other instances
	answerPoll     = 200 * time.Millisecond // for answers left by others, while an agent asks
	progressEvery  = time.Second
	sweepEvery     = time.Hour
	maxAwaitIDs    = 64
	maxReplayPage  = 1000
	recoverPage    = 500 // sessions of dead servers that are put to rest at once
	maxListPage    = 200
	lostLinkGrace  = time.Second // for the tree of a conversation that broke
	abandonTimeout = 30 * time.Second
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
