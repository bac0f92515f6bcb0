package journal

import (
	"log/slog"
	"sync/atomic"
)

// Outage is the state of a store for all that write to it in one server, so that
// a failure is logged once as an error. The zero value is a store that works. It
// is safe for concurrent use.
type Outage struct{ on atomic.Bool }

// Began records a write that failed, and returns the level at which to log it:
// error for the first, debug for those that follow.
func (o *Outage) Began() slog.Level {
	if o.on.CompareAndSwap(false, true) {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// Over records a write that succeeded. It reports whether it ends an outage.
func (o *Outage) Over() bool { return o.on.Load() && o.on.CompareAndSwap(true, false) }
