package harness

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// inboxActor is an actor whose loop does not run.
func inboxActor() *actor {
	return &actor{host: &Harness{quit: make(chan struct{})}, inbox: newInbox(), waiting: map[machine.Token]chan machine.Reply{}, opens: map[uint64]context.CancelFunc{}}
}

// epochs returns the epochs of a batch of reports.
func epochs(batch []machine.Input) (es []uint64) {
	for _, in := range batch {
		es = append(es, in.(machine.Notice).Epoch)
	}
	return es
}

func TestSendersThatWaitForRoomAreTakenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := inboxActor()
		const all = inboxReports + 7
		for i := range all {
			go a.inbox.post(report{in: machine.Notice{Epoch: uint64(i)}})
			synctest.Wait()
		}
		var got []uint64
		for len(got) < all {
			batch, ok := a.next(nil)
			if !ok {
				t.Fatal("the server has not ended")
			}
			got = append(got, epochs(batch)...)
			synctest.Wait()
		}
		for i, e := range got {
			if e != uint64(i) {
				t.Fatalf("report %d is the one of epoch %d", i, e)
			}
		}
	})
}

func TestADrainTakesCommandsFirstAndKeepsItsBounds(t *testing.T) {
	small := report{in: machine.Notice{Notice: core.Content{Raw: make([]byte, 10)}}}
	large := report{in: machine.Notice{Notice: core.Content{Raw: make([]byte, drainBytes/4)}}}
	for name, c := range map[string]struct {
		calls, reports       int
		report               report
		again                int
		wantCalls, wantMails int
	}{
		"all of it":                         {3, 5, small, 0, 3, 5},
		"full channels":                     {inboxCalls, inboxReports, small, 0, inboxCalls, inboxReports},
		"as many bytes":                     {1, 20, large, 0, 1, 2},
		"no commands":                       {0, 20, large, 0, 0, 2},
		"beside what came before":           {5, 5, small, drainInputs - 7, 5, 2},
		"commands when only they have room": {5, 5, small, drainInputs - 3, 3, 0},
		"nothing when it is full":           {5, 5, small, drainInputs, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // select chooses at random
				a := inboxActor()
				for range c.again {
					a.again = append(a.again, machine.HungUp{})
				}
				for range c.reports {
					a.inbox.post(c.report)
				}
				for range c.calls {
					if err := a.inbox.put(t.Context(), call{in: machine.Close{}}); err != nil {
						t.Fatal(err)
					}
				}
				batch, ok := a.next(nil)
				if !ok || len(batch) != c.again+c.wantCalls+c.wantMails {
					t.Fatalf("%d inputs, %v", len(batch), ok)
				}
				for i, in := range batch[c.again:] {
					if _, isCall := in.(machine.Close); isCall != (i < c.wantCalls) {
						t.Fatalf("input %d is %T", i, in)
					}
				}
			}
		})
	}
}

func TestAFullInboxMakesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := inboxActor() // nobody takes anything
		for range inboxCalls {
			if err := a.inbox.put(t.Context(), call{}); err != nil {
				t.Fatal(err)
			}
		}
		for range inboxReports {
			a.inbox.post(report{})
		}
		over := make(chan error, 3)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { over <- a.inbox.put(ctx, call{}) }()
		synctest.Wait()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("who stops waiting gets %v", err)
		}
		go func() { over <- a.inbox.put(t.Context(), call{}) }()
		go func() { a.inbox.post(report{}); over <- nil }()
		synctest.Wait()
		if len(over) != 0 {
			t.Error("there was room in a full inbox")
		}
		if n := len(a.inbox.calls); n != inboxCalls {
			t.Errorf("%d commands are in the inbox", n)
		}
		close(a.inbox.done)
		synctest.Wait()
		if err := errors.Join(<-over, <-over); !errors.Is(err, errRetired) {
			t.Errorf("who waited at the end gets %v", err)
		}
		if err := a.inbox.put(t.Context(), call{}); !errors.Is(err, errRetired) {
			t.Errorf("who comes too late gets %v", err)
		}
		if a.inbox.post(report{}) {
			t.Error("a report was taken after the end")
		}
	})
}

func TestTheEndAnswersWhoWaitsAndKeepsWhatWasAnsweredBefore(t *testing.T) {
	for range 20 { // select chooses at random
		a := inboxActor()
		answered, unanswered := a.putFirst(1, machine.Close{}), a.putFirst(2, machine.Close{})
		answered.reply <- machine.Reply{Token: 1, Value: "closed"}
		close(a.inbox.done)
		if v, err := a.reply(t.Context(), answered); v != "closed" || err != nil {
			t.Fatalf("a reply made before the end: %v, %v", v, err)
		}
		if _, err := a.reply(t.Context(), unanswered); !errors.Is(err, errRetired) {
			t.Fatalf("a command without a reply: %v", err)
		}
		answered.reply <- machine.Reply{Token: 1, Value: "closed"}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if v, err := a.reply(gone, answered); v != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("a caller that has left gets %v, %v", v, err)
		}
	}
}

func TestAWaitEndsWithTheTimerAndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := inboxActor()
		if batch, ok := a.next(time.After(time.Second)); !ok || len(batch) != 0 {
			t.Errorf("the timer: %d inputs, %v", len(batch), ok)
		}
		time.AfterFunc(time.Second, func() { close(a.host.quit) })
		if _, ok := a.next(nil); ok {
			t.Error("it goes on after the server's end")
		}
		a.inbox.post(report{in: machine.HungUp{}})
		if _, ok := a.next(nil); ok {
			t.Error("a report keeps it going after the server's end")
		}
	})
}

// lateConn is a conversation that opened after its session had ended.
type lateConn struct {
	core.Conn
	closed int
}

func (c *lateConn) Close(context.Context) error { c.closed++; return nil }

func TestAConversationThatOpensTooLateIsClosed(t *testing.T) {
	h := &Harness{registry: newRegistry(), quit: make(chan struct{}), ctx: t.Context(), telemetry: noTelemetry{}}
	a := newActor(h, nil, machine.State{Base: &machine.Base{Config: core.SessionConfig{Owner: "me", SessionID: "ses_1"}}}, 0)
	conn := &lateConn{}
	a.inbox.post(report{in: machine.Opened{Epoch: 1}, conn: conn})
	close(h.quit)
	a.loop()
	if conn.closed != 1 {
		t.Errorf("it was closed %d times", conn.closed)
	}
	if a.inbox.post(report{in: machine.Opened{Epoch: 2}, conn: conn}) {
		t.Error("a report was taken after the end")
	}
}
