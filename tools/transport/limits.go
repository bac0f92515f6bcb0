package transport

import (
	"log/slog"
	"time"
)

// Bounds of a connection. Those that a caller may change are in Options.
const (
	// MaxMessage is the size of the largest message read, in bytes. A longer
	// one is refused and skipped.
	MaxMessage = 32 << 20

	// DefaultMaxCalls is how many tool calls run at once.
	DefaultMaxCalls = 128

	// DefaultGrace is how long calls in flight may go on after end of input.
	DefaultGrace = 2 * time.Second

	maxQueuedCalls = 1024      // tool calls that wait their turn
	maxQuickCalls  = 256       // control tools, lists, reads: calls that never wait
	maxStreams     = 32        // open subscriptions/listen
	maxHeldBytes   = 128 << 20 // requests of all calls in flight, in bytes
	maxAsks        = 128       // requests to the client that await their answer

	abandonAfter = 500 * time.Millisecond // for cancelled calls, and for writes at the end

	callNotices   = 64   // notifications of one call that wait to be written
	callHeadroom  = 32   // of those, kept free for producers that race each other
	feedNotices   = 256  // notifications of no call, before they are coalesced
	maxFeed       = 1024 // coalesced notifications that wait to be written
	maxUnwritten  = 1 << 20
	maxSpareBytes = 1 << 20 // largest buffer kept for reuse
	readBuffer    = 64 << 10
	idleWorkers   = 64 // goroutines that wait for the next call
)

// Options tune a transport. The zero value is ready to use.
type Options struct {
	// MaxCalls is how many tool calls run at once; 0 means DefaultMaxCalls.
	MaxCalls int

	// Grace is how long calls in flight may go on after end of input or after
	// the end of the context; 0 means DefaultGrace, less than 0 no grace.
	Grace time.Duration

	// Control reports whether a tool acts on other calls. Its calls neither
	// count against MaxCalls nor wait. It is called from one goroutine; nil
	// means no such tool.
	Control func(tool string) bool

	// Log receives panics and faults of the connection; nil means
	// slog.Default(). It must not write to the connection's output.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxCalls <= 0 {
		o.MaxCalls = DefaultMaxCalls
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Grace < 0 {
		o.Grace = 0
	}
	if o.Control == nil {
		o.Control = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}
