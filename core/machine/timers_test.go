package machine

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"pgregory.net/rapid"
)

func TestTimersFireOnceInOrderAndAtTheirTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var have Timers
		now := time.Unix(1000, 0)
		set := map[TimerID]time.Time{}
		id := func(t *rapid.T) TimerID { return TimerID{Op: core.OpID(rapid.IntRange(1, 8).Draw(t, "timer"))} }
		t.Repeat(map[string]func(*rapid.T){
			"arm or move": func(t *rapid.T) {
				x, old := id(t), slices.Clone(have)
				set[x] = now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "in")) * time.Second)
				next := have.With(x, set[x])
				if !slices.Equal(have, old) {
					t.Fatal("arming changed the old value")
				}
				have = next
			},
			"disarm": func(t *rapid.T) {
				x, old := id(t), slices.Clone(have)
				delete(set, x)
				next := have.Without(x)
				if !slices.Equal(have, old) {
					t.Fatal("disarming changed the old value")
				}
				have = next
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "for")) * time.Second)
				last := time.Time{}
				for _, x := range have.Due(now) {
					at, ok := set[x]
					if !ok || at.After(now) || at.Before(last) {
						t.Fatalf("%v fires at %s for %s (%v) after %s", x, now, at, ok, last)
					}
					last = at
					delete(set, x)
					have = have.Without(x)
				}
				left := slices.SortedFunc(maps.Values(set), time.Time.Compare)
				first := have.First()
				if len(left) == 0 && !first.IsZero() || len(left) > 0 && (!first.Equal(left[0]) || !first.After(now)) {
					t.Fatalf("the next is at %s of %v", first, left)
				}
			},
		})
	})
}
