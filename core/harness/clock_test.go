package harness

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheClockRingsEachAlarmOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now := newClock(), time.Unix(1000, 0)
		hosts := make([]*actor, 8)
		for i := range hosts {
			hosts[i] = &actor{}
		}
		set := map[*actor]time.Time{}
		t.Repeat(map[string]func(*rapid.T){
			"set or move": func(t *rapid.T) {
				a := rapid.SampledFrom(hosts).Draw(t, "actor")
				set[a] = now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "in")) * time.Second)
				c.ring(a, set[a])
			},
			"forget": func(t *rapid.T) {
				a := rapid.SampledFrom(hosts).Draw(t, "actor")
				delete(set, a)
				c.forget(a)
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "for")) * time.Second)
				ring, next := c.due(now)
				last := time.Time{}
				for _, a := range ring {
					at, ok := set[a]
					if !ok || at.After(now) || at.Before(last) {
						t.Fatalf("it rings at %s for %s (%v) after %s", now, at, ok, last)
					}
					last = at
					delete(set, a)
				}
				left := slices.SortedFunc(maps.Values(set), time.Time.Compare)
				if len(left) == 0 && !next.IsZero() || len(left) > 0 && (!next.Equal(left[0]) || !next.After(now)) {
					t.Fatalf("the next is at %s of %v", next, left)
				}
			},
		})
	})
}

func TestAnAlarmThatBecomesTheFirstMovesTheClock(t *testing.T) {
	c, now := newClock(), time.Unix(1000, 0)
	moved := func() bool { return len(c.moved) > 0 && func() bool { <-c.moved; return true }() }
	a, b := &actor{}, &actor{}
	for _, s := range []struct {
		of   *actor
		in   time.Duration
		want bool
	}{{a, time.Minute, true}, {b, time.Hour, false}, {b, time.Second, true}, {a, time.Hour, false}} {
		c.ring(s.of, now.Add(s.in))
		if got := moved(); got != s.want {
			t.Errorf("an alarm in %s moves the clock: %v", s.in, got)
		}
	}
}
