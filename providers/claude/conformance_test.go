package claude

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
)

// The suite looks for goroutines that it left behind, so nothing runs beside it.
func TestRealConformance(t *testing.T) {
	for name, find := range map[string]func(*testing.T) *bench{"newest": newBench, "oldest": oldBench} {
		t.Run(name, func(t *testing.T) { conform(t, find(t)) })
	}
}

func conform(t *testing.T, b *bench) {
	providertest.Run(t, providertest.Config{
		Provider: b.provider(),
		Session:  func(testing.TB) core.SessionConfig { return b.session() },
		Timeout:  patience,
		Prompts: providertest.Prompts{
			Say:     func(text string) string { return "say " + text },
			Stream:  func(n int) string { return fmt.Sprintf("stream %d", n) },
			Think:   "think deeply\nsay thought",
			Run:     "run echo hello\nsay ran",
			Approve: "escalate touch approved\nsay done",
			Ask:     "ask Which?|red|blue\nsay asked",
			Fail:    "fail 500",
			Slow:    func(d time.Duration) string { return fmt.Sprintf("slow %d\nsay x", d.Milliseconds()) },
			Recall:  "remember",
		},
		// The model server's own, for connections that the CLI keeps open.
		Leaks: []goleak.Option{
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		},
	})
}
