package machine

import (
	"slices"
	"time"
)

// Timers are the timers of one session, few at a time. A value never changes:
// arming and disarming give another, so an old one stays true.
type Timers []timer

type timer struct {
	id TimerID
	at time.Time
}

func (t Timers) index(id TimerID) int {
	return slices.IndexFunc(t, func(x timer) bool { return x.id == id })
}

// Has reports whether a timer is set.
func (t Timers) Has(id TimerID) bool { return t.index(id) >= 0 }

// With returns t with a timer set, or moved.
func (t Timers) With(id TimerID, at time.Time) Timers {
	out := make(Timers, 0, len(t)+1)
	for _, x := range t {
		if x.id != id {
			out = append(out, x)
		}
	}
	return append(out, timer{id, at})
}

// Without returns t without a timer.
func (t Timers) Without(id TimerID) Timers {
	i := t.index(id)
	switch {
	case i < 0:
		return t
	case len(t) == 1:
		return nil
	}
	return slices.Concat(t[:i], t[i+1:])
}

// First says when the next timer is due, the zero time for never.
func (t Timers) First() (at time.Time) {
	for _, x := range t {
		if at.IsZero() || x.at.Before(at) {
			at = x.at
		}
	}
	return at
}

// Due returns the timers whose time has come, the earliest first.
func (t Timers) Due(now time.Time) []TimerID {
	var come Timers
	for _, x := range t {
		if !x.at.After(now) {
			come = append(come, x)
		}
	}
	slices.SortStableFunc(come, func(x, y timer) int { return x.at.Compare(y.at) })
	var ids []TimerID
	for _, x := range come {
		ids = append(ids, x.id)
	}
	return ids
}
