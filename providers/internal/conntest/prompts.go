package conntest

import (
	"fmt"
	"time"

	"github.com/harness-mcp/harness-mcp/core/providertest"
)

// Prompts are those by which the loopback model server makes a real CLI play the
// situations of the conformance suite.
func Prompts() providertest.Prompts {
	return providertest.Prompts{
		Say:     func(text string) string { return "say " + text },
		Stream:  func(n int) string { return fmt.Sprintf("stream %d", n) },
		Think:   "think deeply\nsay thought",
		Run:     "run echo hello\nsay ran",
		Approve: "escalate touch approved\nsay done",
		Ask:     "ask Which?|red|blue\nsay asked",
		Fail:    "fail 500",
		Slow:    func(d time.Duration) string { return fmt.Sprintf("slow %d\nsay x", d.Milliseconds()) },
		Recall:  "remember",
	}
}
