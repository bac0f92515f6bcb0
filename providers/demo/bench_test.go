package demo_test

import (
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

// BenchmarkSendToTerminal is one turn through the whole of core: from
// SendMessage to an Await that sees its end, on the memory store.
func BenchmarkSendToTerminal(b *testing.B) {
	h := harness.New(harness.Config{Store: memstore.New(), Providers: []core.Provider{demo.New(demo.Options{Dir: b.TempDir(), Pace: -1})}})
	defer func() { _ = h.Shutdown(b.Context()) }()
	me := core.Caller{Owner: "bench"}
	s, err := h.StartSession(b.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "demo", CWD: b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		t, err := h.SendMessage(b.Context(), me, core.SendRequest{SessionID: s.Session.ID, Input: core.TurnInput{Prompt: "say hello"}})
		if err != nil {
			b.Fatal(err)
		}
		r, err := h.Await(b.Context(), me, core.AwaitRequest{IDs: []string{t.ID}, Wait: time.Minute})
		if err != nil || r.Results[0].Turn.Status != core.TurnDoneCompleted {
			b.Fatal(r, err)
		}
	}
}
