package core

import (
	"slices"
	"time"
)

// timers are the timers of one session, few at a time. A value never changes:
// arming and disarming give another, so an old one stays true.
type timers []timer

type timer struct {
	id TimerID
	at time.Time
}

func (t timers) index(id TimerID) int {
	return slices.IndexFunc(t, func(x timer) bool { return x.id == id })
}

func (t timers) has(id TimerID) bool { return t.index(id) >= 0 }

// with gives t with a timer set, or moved.
func (t timers) with(id TimerID, at time.Time) timers {
	out := make(timers, 0, len(t)+1)
	for _, x := range t {
		if x.id != id {
			out = append(out, x)
		}
	}
	return append(out, timer{id, at})
}

// without gives t without a timer.
func (t timers) without(id TimerID) timers {
	i := t.index(id)
	switch {
	case i < 0:
		return t
	case len(t) == 1:
		return nil
	}
	return slices.Concat(t[:i], t[i+1:])
}

// first says when the next timer is due, the zero time for never.
func (t timers) first() (at time.Time) {
	for _, x := range t {
		if at.IsZero() || x.at.Before(at) {
			at = x.at
		}
	}
	return at
}

// due gives the timers whose time has come, the earliest first.
func (t timers) due(now time.Time) []TimerID {
	var come timers
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
