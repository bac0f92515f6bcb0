package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// heard is a Telemetry that remembers what it was told.
type heard struct {
	mu    sync.Mutex
	open  int
	lines []string
}

func (h *heard) Begin(o core.Operation) func(core.Ended) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	once := false
	return func(e core.Ended) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if once {
			h.lines = append(h.lines, "ended twice")
		}
		once = true
		h.open--
		if o.Name == core.OpStoreWrite {
			return
		}
		h.lines = append(h.lines, strings.Join(strings.Fields(fmt.Sprint(o.Name, " ", o.Command, " ", e.Ending, " ", e.Code, " ", e.Status, " ", e.Reason)), " "))
	}
}

func (h *heard) Count(s core.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, strings.TrimSpace(fmt.Sprint(s.Name, " ", s.Kind, s.Reason)))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

func listening(t *testing.T, f func(t *testing.T, w *world)) *heard {
	t.Helper()
	h := &heard{}
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, fake: newFake(), store: memstore.New()}
		w.Harness = harness.New(harness.Config{Store: w.store, Providers: []core.Provider{w.fake}, Telemetry: h})
		f(t, w)
		if err := w.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	if h.open != 0 {
		t.Errorf("%d operations were not ended", h.open)
	}
	return h
}

func (h *heard) want(t *testing.T, lines ...string) {
	t.Helper()
	have := h.all()
	for _, l := range lines {
		i := slices.Index(have, l)
		if i < 0 {
			t.Errorf("%q was not heard in\n%s", l, strings.Join(h.all(), "\n"))
			continue
		}
		have = slices.Delete(have, i, i+1)
	}
	if len(have) > 0 {
		t.Errorf("heard also\n%s", strings.Join(have, "\n"))
	}
}

func TestTelemetryHearsAnOrdinarySession(t *testing.T) {
	listening(t, func(t *testing.T, w *world) {
		id := w.start().Session.ID
		turn := w.send(id, "ask")
		q := w.wait(turn.ID).Results[0].Pending()[0]
		if _, err := w.Respond(t.Context(), me, core.RespondRequest{RequestID: q.ID, Response: core.Response{Action: core.ActionApprove}}); err != nil {
			t.Fatal(err)
		}
		w.wait(turn.ID)
		if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
	}).want(t, "start_session ok", "start_turn ok", "provider_command start_turn ok", "request_created command_approval",
		"provider_command respond ok", "request_resolved", "turn ok completed", "session ok closed")
}

func TestTelemetryHearsHowThingsEndBadly(t *testing.T) {
	for name, tc := range map[string]struct {
		prompt string
		then   func(t *testing.T, w *world, id string, turn core.Turn)
		want   []string
	}{
		"rejected": {"reject", func(t *testing.T, w *world, id string, turn core.Turn) { w.wait(turn.ID) },
			[]string{"provider_command start_turn rejected invalid_argument", "turn rejected rejected failed", "session ok closed session_shutdown"}},
		"uncertain": {"deaf", func(t *testing.T, w *world, id string, turn core.Turn) { w.wait(turn.ID); time.Sleep(time.Minute) },
			[]string{"provider_command start_turn uncertain", "turn uncertain uncertain failed", "session rejected uncertain failed"}},
		"aborted": {"deaf", func(t *testing.T, w *world, id string, turn core.Turn) {
			if _, err := w.Close(t.Context(), me, core.CloseRequest{ID: id, Force: true}); err != nil {
				t.Fatal(err)
			}
		}, []string{"provider_command start_turn aborted", "turn aborted interrupted forced_stop", "session aborted killed forced_stop"}},
		"lost": {"die", func(t *testing.T, w *world, id string, turn core.Turn) { w.wait(turn.ID); time.Sleep(time.Minute) },
			[]string{"provider_command start_turn ok", "transport_error", "turn rejected transport_lost failed transport_lost", "session rejected transport_lost unavailable transport_lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			listening(t, func(t *testing.T, w *world) {
				id := w.start().Session.ID
				tc.then(t, w, id, w.send(id, tc.prompt))
			}).want(t, append(tc.want, "start_session ok", "start_turn ok")...)
		})
	}
}
