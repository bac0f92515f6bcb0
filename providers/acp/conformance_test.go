package acp

import (
	"fmt"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/internal/acpscript"
)

func TestScriptedAgentConforms(t *testing.T) {
	for name, o := range map[string]acpscript.Options{
		"usual":           {},
		"ids are strings": {StringIDs: true, NoResume: true},
		"never exits":     {StayAlive: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTable(t, o, nil)
			providertest.Run(t, providertest.Config{
				Provider: b.provider,
				Session:  func(testing.TB) core.SessionConfig { return b.session() },
				Timeout:  20 * time.Second,
				Prompts: providertest.Prompts{
					Say:     func(text string) string { return "say " + text },
					Stream:  func(n int) string { return fmt.Sprintf("stream %d", n) },
					Think:   "think deeply\nsay thought",
					Run:     "run echo hello\nsay ran",
					Approve: "approve touch it\nsay done",
					Fail:    "fail it does not work",
					Slow:    func(d time.Duration) string { return fmt.Sprintf("slow %d\nsay x", d.Milliseconds()) },
					Recall:  "recall",
				},
			})
		})
	}
}
