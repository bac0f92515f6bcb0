package link

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(kind string, raw string) core.Notice {
	return core.Content{Payload: core.ProviderEvent{Kind: kind}, Raw: json.RawMessage(raw)}
}

func TestInboxGivesNoticesInOrderAndThenItsEnd(t *testing.T) {
	b := NewInbox(Limits{10, 100})
	gone := errors.New("gone")
	b.Add([]core.Notice{event("1", ""), event("2", "")})
	b.End(gone)
	b.End(io.EOF)
	b.Add([]core.Notice{event("3", "")})
	for _, want := range []string{"1", "2"} {
		n, err := b.Take(t.Context())
		if err != nil || n.(core.Content).Payload.(core.ProviderEvent).Kind != want {
			t.Errorf("got %v, %v, want %s", n, err, want)
		}
	}
	for range 2 {
		if _, err := b.Take(t.Context()); !errors.Is(err, gone) {
			t.Errorf("ended with %v", err)
		}
	}
	<-b.Ended()
	if !errors.Is(b.Err(), gone) {
		t.Errorf("Err is %v", b.Err())
	}
}

func TestInboxTakeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewInbox(Limits{1, 1}).Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInboxHoldsTheReaderBackUntilThereIsRoom(t *testing.T) {
	cases := map[string]struct {
		limits Limits
		fill   []core.Notice
	}{
		"by count": {Limits{2, 100}, []core.Notice{event("1", ""), event("2", "")}},
		"by bytes": {Limits{10, 4}, []core.Notice{event("1", "12345")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewInbox(c.limits)
				b.Add(c.fill)
				passed := make(chan bool, 1)
				go func() { passed <- b.WaitRoom(nil) }()
				synctest.Wait()
				select {
				case <-passed:
					t.Fatal("there was no room")
				default:
				}
				if _, err := b.Take(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !<-passed {
					t.Error("WaitRoom says that the inbox has ended")
				}
			})
		})
	}
}

func TestInboxWaitForRoomEndsWithTheInboxOrTheStop(t *testing.T) {
	stop := make(chan struct{})
	b := NewInbox(Limits{1, 1})
	b.Add([]core.Notice{event("1", "")})
	close(stop)
	if b.WaitRoom(stop) {
		t.Error("it waited on")
	}
	b.End(io.EOF)
	if b.WaitRoom(nil) {
		t.Error("there is no room after the end")
	}
}

func TestOutboxWritesLinesInOrderAndSaysSo(t *testing.T) {
	r, w := io.Pipe()
	o := NewOutbox(w, Limits{10, 1000})
	wrote := make(chan string, 2)
	for _, s := range []string{"a", "b"} {
		if err := o.Add(map[string]string{"x": s}, func() { wrote <- s }); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, len("{\"x\":\"a\"}\n"))
	for _, want := range []string{"a", "b"} {
		if _, err := io.ReadFull(r, buf); err != nil || string(buf) != `{"x":"`+want+"\"}\n" {
			t.Errorf("read %q, %v", buf, err)
		}
		if got := <-wrote; got != want {
			t.Errorf("%s was written, want %s", got, want)
		}
	}
	o.Close()
	<-o.Done()
	if err := o.Add(1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestOutboxRefusesWhatAStalledPipeCannotTake(t *testing.T) {
	cases := map[string]Limits{"by count": {1, 1000}, "by bytes": {10, 20}}
	for name, limits := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				o := NewOutbox(w, limits)
				if err := o.Add(strings.Repeat("x", 30), nil); err != nil {
					t.Errorf("a large line alone: %v", err)
				}
				synctest.Wait() // it is being written
				_ = o.Add("y", nil)
				if err := o.Add("z", nil); !errors.Is(err, ErrFull) {
					t.Errorf("beyond the limit: %v", err)
				}
				_ = r.CloseWithError(errors.New("broken"))
				<-o.Done()
				if err := o.Add("late", nil); err == nil || errors.Is(err, ErrFull) {
					t.Errorf("on a broken pipe: %v", err)
				}
			})
		})
	}
}
