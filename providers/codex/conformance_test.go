package codex

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestRealConformance(t *testing.T) {
	onCodex(t, 0, realConformance)
}

func realConformance(t *testing.T, b *bench) {
	providertest.Run(t, providertest.Config{
		Provider: b.provider(),
		Session:  func(testing.TB) core.SessionConfig { return b.session() },
		Timeout:  maxWait,
		Prompts:  conntest.Prompts(),
		// The model server's own, for connections that Codex keeps open.
		Leaks: []goleak.Option{
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
		},
	})
}
