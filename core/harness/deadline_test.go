package harness

import (
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

func TestTheLoopWaitsForWhatComesFirst(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	id := machine.TimerID{Op: 1}
	for name, c := range map[string]struct {
		a    *actor
		want time.Time
	}{
		"nothing":                     {&actor{}, time.Time{}},
		"a timer":                     {&actor{timers: machine.Timers(nil).With(id, at(3))}, at(3)},
		"the quiet time":              {&actor{quietAt: at(1), timers: machine.Timers(nil).With(id, at(3))}, at(1)},
		"a timer before that":         {&actor{quietAt: at(5), timers: machine.Timers(nil).With(id, at(9)).With(machine.TimerID{Op: 2}, at(3))}, at(3)},
		"an attempt":                  {&actor{catchup: &journal.Catchup{RetryAt: at(2)}, timers: machine.Timers(nil).With(id, at(3))}, at(2)},
		"none while one is under way": {&actor{catchup: &journal.Catchup{RetryAt: at(2), Attempt: &journal.Attempt{}}, timers: machine.Timers(nil).With(id, at(3))}, at(3)},
	} {
		if got := c.a.deadline(); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
