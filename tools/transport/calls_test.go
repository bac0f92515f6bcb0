package transport

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallsAreAdmittedWithinEveryBound(t *testing.T) {
	for name, tc := range map[string]struct {
		lane callClass
		size int
		want int // calls admitted
	}{
		"tools":   {classTool, 1, 2 + maxQueuedCalls},
		"quick":   {classQuick, 1, maxQuickCalls},
		"streams": {classStream, 1, maxStreams},
		"bytes":   {classTool, maxHeldBytes / 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			table := newCalls(2, maxStreams)
			var admitted []*call
			for i := range tc.want {
				c, refused := table.admit(t.Context(), fmt.Sprint(i), tc.lane, tc.size)
				if refused != nil {
					t.Fatalf("call %d: %v", i, refused)
				}
				admitted = append(admitted, c)
			}
			if _, refused := table.admit(t.Context(), "one more", tc.lane, tc.size); refused == nil || refused.code != codeBusy {
				t.Fatalf("one call too many: %v", refused)
			}
			admitted[0].end()
			if _, refused := table.admit(t.Context(), "one more", tc.lane, tc.size); refused != nil {
				t.Errorf("after one ended: %v", refused)
			}
		})
	}
}

func TestACallCancelledBeforeItsTurnNeverRunsEvenWhenATurnIsFree(t *testing.T) {
	table := newCalls(1, maxStreams)
	for i := range 100 { // a choice at random would show
		c, refused := table.admit(t.Context(), fmt.Sprint(i), classTool, 1)
		if refused != nil {
			t.Fatal(refused)
		}
		table.cancel(fmt.Sprint(i))
		if c.waitTurn() {
			t.Fatal("a cancelled call got its turn")
		}
		c.end()
	}
	c, refused := table.admit(t.Context(), "next", classTool, 1)
	if refused != nil || !c.waitTurn() {
		t.Errorf("a turn was lost: %v", refused)
	}
}

func TestDrainEndsStreamsAtOnceAndCallsAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newCalls(1, maxStreams)
		ended := make(chan string, 2)
		for id, l := range map[string]callClass{"stream": classStream, "tool": classTool} {
			c, refused := table.admit(context.Background(), id, l, 1)
			if refused != nil {
				t.Fatal(refused)
			}
			go func() {
				<-c.ctx.Done()
				ended <- fmt.Sprintf("%s after %v", id, time.Since(start(t)))
				c.end()
			}()
		}
		if left := table.drain(5 * time.Second); left != 0 {
			t.Errorf("%d calls left", left)
		}
		for _, want := range []string{"stream after 0s", "tool after 5s"} {
			if got := <-ended; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if _, refused := table.admit(context.Background(), "late", classQuick, 1); refused == nil {
			t.Error("a call was admitted after the end")
		}
	})
}

// start is when fake time begins.
func start(t *testing.T) time.Time {
	t.Helper()
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
}
