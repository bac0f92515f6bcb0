package harness_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// faulty is a provider that panics in one of its methods.
type faulty struct {
	*fakeProvider
	in string
}

func (p faulty) Status(ctx context.Context) core.Status {
	if p.in == "Status" {
		panic("a fault in Status")
	}
	return p.fakeProvider.Status(ctx)
}

func (p faulty) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if p.in == "Open" {
		panic("a fault in Open")
	}
	c, err := p.fakeProvider.Open(ctx, cfg)
	return faultyConn{c.(*fakeConn), p.in}, err
}

type faultyConn struct {
	*fakeConn
	in string
}

func (c faultyConn) Send(op core.Op) error {
	if _, start := op.(core.StartTurn); start && c.in == "Send" {
		panic("a fault in Send")
	}
	return c.fakeConn.Send(op)
}

func (c faultyConn) Recv(ctx context.Context) (core.Notice, error) {
	n, err := c.fakeConn.Recv(ctx)
	if _, content := n.(core.Content); content && c.in == "Recv" {
		panic("a fault in Recv")
	}
	return n, err
}

func (c faultyConn) Close(ctx context.Context) error {
	err := c.fakeConn.Close(ctx)
	if c.in == "Close" {
		panic("a fault in Close")
	}
	return err
}

func TestAPanicOfAProviderEndsItsSessionAndNotTheServer(t *testing.T) {
	for _, in := range []string{"Status", "Open", "Send", "Recv", "Close"} {
		t.Run(in, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				fake := newFake()
				w := &world{t: t, fake: fake, store: memstore.New()}
				w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{faulty{fake, in}},
					Logger: slog.New(slog.NewTextHandler(&log, nil))})
				v, err := w.StartSession(t.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: t.TempDir()}})
				said := ""
				switch in {
				case "Status":
					infos, err := w.Providers(t.Context(), "fake", true)
					if err != nil || infos[0].Status.Ready {
						t.Errorf("%+v, %v", infos, err)
					}
					said = infos[0].Status.Reason
				case "Open":
					if core.CodeOf(err) != core.CodeStartFailed {
						t.Errorf("%v, want start_failed", err)
					}
					said = err.Error()
				case "Send", "Recv":
					turn := w.wait(w.send(v.Session.ID, "say x").ID).Results[0].Turn
					if turn.Status != core.TurnDoneFailed || turn.Error == nil || turn.Error.Code != core.TurnProviderError {
						t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
					}
					said = turn.Error.Message
					time.Sleep(time.Minute)
					if st := w.session(v.Session.ID).Session.Status; st != core.StatusUnavailable {
						t.Errorf("the session is %s", st)
					}
				case "Close":
					if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: v.Session.ID}); err != nil {
						t.Error(err)
					}
				}
				_ = w.Shutdown(t.Context())
				_, id, found := strings.Cut(said, "err_")
				if in != "Close" && (!found || !strings.Contains(log.String(), "err_"+strings.TrimRight(id, "."))) {
					t.Errorf("%q does not name an entry of the log", said)
				}
				if !strings.Contains(log.String(), "a fault in "+in) || !strings.Contains(log.String(), "stack=") {
					t.Errorf("the log does not explain the fault:\n%s", log.String())
				}
			})
		})
	}
}
