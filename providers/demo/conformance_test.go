package demo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func TestDemoConforms(t *testing.T) {
	providertest.Run(t, providertest.Config{
		Provider: demo.New(demo.Options{Dir: t.TempDir()}),
		Session:  func(testing.TB) core.SessionConfig { return core.SessionConfig{} },
		Prompts: providertest.Prompts{
			Say:     func(text string) string { return "say " + text },
			Stream:  func(n int) string { return fmt.Sprintf("stream %d", n) },
			Think:   "think about it",
			Run:     "run",
			Approve: "approve",
			Ask:     "ask",
			Fail:    "fail",
			Slow:    func(d time.Duration) string { return fmt.Sprintf("slow %d", d.Milliseconds()) },
			Recall:  "recall",
		},
	})
}
