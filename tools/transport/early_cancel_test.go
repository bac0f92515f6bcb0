package transport

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnEarlyCancellationCountsOnceAndNotForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var early earlyCancels
		early.add(`1`)
		if !early.take(`1`) {
			t.Error("it was forgotten")
		}
		if early.take(`1`) {
			t.Error("it counted twice")
		}
		early.add(`2`)
		time.Sleep(earlyFor + 1)
		if early.take(`2`) {
			t.Error("it counted after its time")
		}
	})
}

func TestEarlyCancellationsAreBounded(t *testing.T) {
	var early earlyCancels
	for i := range 10 * maxEarly {
		early.add(fmt.Sprint(i))
	}
	early.add(strings.Repeat("x", maxEarlyID+1))
	early.add("")
	if len(early.ids) != maxEarly {
		t.Errorf("%d are held, want %d", len(early.ids), maxEarly)
	}
	if last := fmt.Sprint(10*maxEarly - 1); !early.take(last) {
		t.Error("the newest was dropped")
	}
	if early.take("0") {
		t.Error("the oldest was kept")
	}
}

func TestARequestAndItsCancellationAlwaysMeet(t *testing.T) {
	p := newPrincipal(t.Context(), "alice", 1)
	s := &httpSession{owner: p, client: newClient("a client")}
	for i := range 2000 { // in either order, and at the same time
		id := fmt.Sprint(i)
		var racing sync.WaitGroup
		racing.Go(func() { s.cancelCall(id) })
		c, refused := p.calls.admit(t.Context(), s.key([]byte(id)), classTool, 1)
		if refused != nil {
			t.Fatal(refused)
		}
		s.cancelIfEarly(c, id)
		racing.Wait()
		if c.waitTurn() || !c.cancelled.Load() {
			t.Fatalf("call %s was not cancelled", id)
		}
		c.end()
	}
	if n := len(s.early.ids); n != 0 {
		t.Errorf("%d cancellations are left over", n)
	}
}
