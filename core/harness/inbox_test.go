package harness

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

func TestWhoWaitsForRoomComesInInOrder(t *testing.T) {
	var q queue[int]
	var in []<-chan bool
	for i := range 7 {
		if w := q.put(i, 3); w != nil {
			in = append(in, w)
		}
	}
	if len(q.lies) != 3 || len(in) != 4 {
		t.Fatalf("%d lie there, %d wait", len(q.lies), len(in))
	}
	if !q.leave(in[1]) || q.leave(in[1]) { // 4 goes away
		t.Error("what leaves the line leaves it once")
	}
	got := q.take(2, nil)
	if !slices.Equal(got, []int{0, 1}) || !slices.Equal(q.lies, []int{2, 3, 5}) || !<-in[0] || !<-in[2] {
		t.Errorf("taken %v, there are %v", got, q.lies)
	}
	if got = q.take(3, got); !slices.Equal(got, []int{0, 1, 2, 3, 5}) || !<-in[3] || q.leave(in[3]) {
		t.Errorf("taken %v", got)
	}
	late := q.put(7, 1)
	if lay := q.close(); !slices.Equal(lay, []int{6}) || <-late {
		t.Errorf("there lay %v", lay)
	}
}

func TestADrainTakesCommandsFirstAndKeepsItsBounds(t *testing.T) {
	small := mail{in: machine.Notice{Notice: core.Content{Raw: make([]byte, 10)}}}
	large := mail{in: machine.Notice{Notice: core.Content{Raw: make([]byte, drainBytes/4)}}}
	for name, c := range map[string]struct {
		calls, reports       int
		report               mail
		room                 int
		wantCalls, wantMails int
	}{
		"all of it":                   {3, 5, small, drainInputs, 3, 5},
		"with those who wait":         {inboxCalls + 2, inboxReports + 3, small, drainInputs, inboxCalls + 2, inboxReports + 3},
		"as many as a commit takes":   {40, 40, small, drainInputs, 40, drainInputs - 40},
		"as many bytes":               {1, 20, large, drainInputs, 1, 2},
		"beside what came before":     {5, 5, small, 7, 5, 2},
		"commands when there is none": {5, 5, small, 3, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b inbox
			for range c.calls {
				b.calls.put(call{}, inboxCalls)
			}
			for range c.reports {
				b.reports.put(c.report, inboxReports)
			}
			calls, reports := b.take(nil, nil, c.room)
			if len(calls) != c.wantCalls || len(reports) != c.wantMails {
				t.Errorf("%d commands and %d reports", len(calls), len(reports))
			}
		})
	}
}

func TestAFullInboxMakesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{host: &Harness{clock: newClock()}} // nobody takes anything
		for range inboxCalls {
			if err := a.put(t.Context(), call{}); err != nil {
				t.Fatal(err)
			}
		}
		for range inboxReports {
			a.post(mail{})
		}
		over := make(chan error, 3)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { over <- a.put(ctx, call{}) }()
		synctest.Wait()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("who stops waiting is told %v", err)
		}
		go func() { over <- a.put(t.Context(), call{}) }()
		go func() { a.post(mail{}); over <- nil }()
		synctest.Wait()
		if len(over) != 0 {
			t.Error("there was room in a full inbox")
		}
		if n := len(a.shut()); n != inboxCalls {
			t.Errorf("%d commands lay there", n)
		}
		synctest.Wait()
		if err := errors.Join(<-over, <-over); !errors.Is(err, errRetired) {
			t.Errorf("who waited at the end is told %v", err)
		}
		if err := a.put(t.Context(), call{}); !errors.Is(err, errRetired) {
			t.Errorf("who comes too late is told %v", err)
		}
		a.post(mail{})
	})
}
