package link

import (
	"encoding/json"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Output collects what a step of a translator asks for: notices, frames of type
// F, and timers, each in order. A translator embeds it, and whoever called the
// step carries it out before the next one. The zero value is ready for use.
type Output[F any] struct {
	Notices []core.Notice
	Frames  []F
	Timers  []Timer
	Fatal   error // ends the connection; nil for none
}

// Timer asks for a call of Fire, as a step of its own, After from now.
type Timer struct {
	Name  string // one timer of a name runs; a newer one replaces it
	After time.Duration
	Keep  bool   // let a timer of the name that runs already continue
	Fire  func() // nil stops the timer of the name
}

// Take returns what was asked for since the last call.
func (o *Output[F]) Take() Output[F] {
	out := *o
	*o = Output[F]{}
	return out
}

// Notice adds a notice.
func (o *Output[F]) Notice(n core.Notice) { o.Notices = append(o.Notices, n) }

// OpDone adds the outcome of an op.
func (o *Output[F]) OpDone(op core.OpID, ref string, err *core.Error, raw json.RawMessage) {
	o.Notice(core.OpDone{Op: op, Ref: ref, Err: err, Raw: raw})
}

// Frame adds a frame.
func (o *Output[F]) Frame(f F) { o.Frames = append(o.Frames, f) }

// Timer adds a timer.
func (o *Output[F]) Timer(t Timer) { o.Timers = append(o.Timers, t) }
