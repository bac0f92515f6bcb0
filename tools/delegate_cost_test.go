package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/tools"
)

// maxDelegation is what a whole delegation may cost its caller, in bytes of
// replies as its client shows them: some clients show the structured half, the
// others the text.
const maxDelegation = 6 << 10

// TestADelegationIsCheap plays the calls of a delegation of two turns, one with
// an approval and one with 300 deltas, and adds up what comes back.
func TestADelegationIsCheap(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		var structured, text int
		var table strings.Builder
		call := func(tool string, a args) answer {
			r := c.must(tool, a)
			structured, text = structured+r.size, text+len(r.text)
			fmt.Fprintf(&table, "%-14s %5d %5d\n", tool, r.size, len(r.text))
			return r
		}
		ses := call("start_session", args{"provider": "demo", "cwd": c.cwd, "title": "tidy the tests"}).str("session_id")
		turn := call("send_message", args{"session_id": ses, "prompt": "approve\nsay The tests are tidy."}).str("turn_id")
		req := call("await", args{"ids": turn}).str("results", 0, "pending_requests", 0, "request_id")
		call("respond", args{"request_id": req, "action": "approve", "wait_ms": 45_000}).is("completed", "turn", "status")
		second := call("send_message", args{"session_id": ses, "prompt": "stream 300\nsay All is well."}).str("turn_id")
		call("await", args{"ids": second}).is("completed", "results", 0, "status")
		call("close", args{"id": ses}).is("closed", "status")

		page, err := json.Marshal(c.must("replay", args{"id": second, "view": "events", "limit": 1000, "types": []string{"message_delta"}, "max_bytes": 1 << 20}).object)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(page), `"message_delta"`); n < 300 {
			t.Fatalf("the turn had %d deltas, want 300", n)
		}
		if structured > maxDelegation || text > maxDelegation {
			t.Errorf("%d bytes of structured halves, %d of text; at most %d\n%s", structured, text, maxDelegation, table.String())
		}
		t.Logf("%d bytes of structured halves, %d of text\n%s", structured, text, table.String())
	})
}
