package claude

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
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
		Timeout:  maxWait,
		Prompts:  conntest.Prompts(),
		// The model server's own, for connections that the CLI keeps open.
		Leaks: []goleak.Option{
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		},
	})
}
