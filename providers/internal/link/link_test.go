package link

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(kind string, raw string) core.Notice {
	return core.Content{Payload: core.ProviderEvent{Kind: kind}, Raw: json.RawMessage(raw)}
}

func TestInboxReturnsNoticesInOrderAndThenItsEnd(t *testing.T) {
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

func TestInboxStopsTheReaderUntilThereIsSpace(t *testing.T) {
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
				go func() { passed <- b.WaitSpace(nil) }()
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
					t.Error("WaitSpace says that the inbox has ended")
				}
			})
		})
	}
}

func TestWaitSpaceEndsWithTheInboxOrTheStop(t *testing.T) {
	stop := make(chan struct{})
	b := NewInbox(Limits{1, 1})
	b.Add([]core.Notice{event("1", "")})
	close(stop)
	if b.WaitSpace(stop) {
		t.Error("it waited on")
	}
	b.End(io.EOF)
	if b.WaitSpace(nil) {
		t.Error("there is no room after the end")
	}
}
