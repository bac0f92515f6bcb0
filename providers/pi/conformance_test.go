package pi

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
)

func TestRealConformance(t *testing.T) {
	onPi(t, func(b *bench) {
		b.extend()
		providertest.Run(b.t.(*testing.T), providertest.Config{
			Provider: b.provider(),
			Session:  func(testing.TB) core.SessionConfig { return b.session() },
			Timeout:  patience,
			Prompts: providertest.Prompts{
				Say:     func(text string) string { return "say " + text },
				Stream:  func(n int) string { return fmt.Sprintf("stream %d", n) },
				Think:   "think deeply\nsay thought",
				Run:     call("read", object{"path": "/etc/hostname"}) + "\nsay ran",
				Approve: Call("touch approved") + "\nsay done",
				Ask:     call("survey", object{"how": "select"}) + "\nsay asked",
				Fail:    "fail 400",
				Slow:    slow,
				Recall:  "remember",
			},
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
