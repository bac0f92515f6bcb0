package harness

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core/machine"
)

// mark is what the host returns to when a batch has not happened, because it
// could not be stored. Timers that were due are due again then.
type mark struct {
	state  machine.State
	timers machine.Timers
}

// goBack makes the batch after a mark not have happened.
func (a *actor) goBack(to mark) { a.state, a.timers = to.state, to.timers }

// step feeds the machine. Timers move at once, the other effects wait for the
// commit.
func (a *actor) step(in machine.Input) []machine.Effect {
	var out []machine.Effect
	a.state, out = machine.Step(a.state, in, time.Now())
	a.moveTimers(out)
	return out
}

// moveTimers arms and disarms at once, before the commit: a timer that fires for
// what was not stored finds nothing that it is about.
func (a *actor) moveTimers(out []machine.Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case machine.Arm:
			a.timers = a.timers.With(e.Timer, e.At)
		case machine.Disarm:
			a.timers = a.timers.Without(e.Timer)
		}
	}
}

// earlier returns the earlier of two times, of which the zero time is never.
func earlier(x, y time.Time) time.Time {
	if x.IsZero() || !y.IsZero() && y.Before(x) {
		return y
	}
	return x
}
