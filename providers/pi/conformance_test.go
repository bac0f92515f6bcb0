package pi

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

func TestRealConformance(t *testing.T) {
	onPi(t, func(b *bench) {
		b.extend()
		prompts := conntest.Prompts()
		prompts.Run = call("read", object{"path": "/etc/hostname"}) + "\nsay ran"
		prompts.Approve = Call("touch approved") + "\nsay done"
		prompts.Ask = call("survey", object{"how": "select"}) + "\nsay asked"
		prompts.Fail = "fail 400"
		providertest.Run(b.t.(*testing.T), providertest.Config{
			Provider: b.provider(),
			Session:  func(testing.TB) core.SessionConfig { return b.session() },
			Timeout:  maxWait,
			Prompts:  prompts,
			// The model server's own, for connections that Pi keeps open.
			Leaks: []goleak.Option{
				goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
				goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
			},
		})
		if left, _ := filepath.Glob(filepath.Join(b.root, "harness-mcp-pi-*")); len(left) > 0 {
			b.t.Errorf("files of sessions are left: %v", left)
		}
	})
}
