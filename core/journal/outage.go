package journal

import (
	"log/slog"
	"sync/atomic"
)

// Outage is a time in which a store takes no writes, as all who write to it in
// one server see it: the first of them says so in the log, the others add
// details to it. The zero value is a store that works. It is safe for concurrent
// use.
type Outage struct{ on atomic.Bool }

// Began is told of a write that failed, and gives the level at which to log it.
func (o *Outage) Began() slog.Level {
	if o.on.CompareAndSwap(false, true) {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// Over is told of a write that succeeded. It is true for the first one.
func (o *Outage) Over() bool { return o.on.Load() && o.on.CompareAndSwap(true, false) }
