package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/tools"
)

func TestPromptsNameCallsThatWork(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		for _, tc := range []struct{ name, arguments, want string }{
			{"delegate", `{"provider":"demo","task":"say \"hi\"","cwd":"/x"}`, `delegate {"cwd":"/x","prompt":"say \"hi\"","provider":"demo"}`},
			{"supervise", `{"ids":"trn_a, ses_b"}`, `await {"ids":["trn_a","ses_b"],"until":"any"}`},
			{"review_journal", `{"id":"ses_a"}`, `replay {"id":"ses_a","view":"summary"}`},
		} {
			res, failure := c.ask("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tc.name, tc.arguments))
			if failure != "" {
				t.Fatal(failure)
			}
			if text := (answer{t: t, object: res}).str("messages", 0, "content", "text"); !strings.Contains(text, tc.want) {
				t.Errorf("%s says %s", tc.name, text)
			}
			if _, failure := c.ask("prompts/get", fmt.Sprintf(`{"name":%q}`, tc.name)); !strings.Contains(failure, "is required") {
				t.Errorf("%s without arguments: %q", tc.name, failure)
			}
		}
		res, _ := c.ask("prompts/list", `{}`)
		if n := len(res["prompts"].([]any)); n != 3 {
			t.Errorf("%d prompts", n)
		}
	})
}

func TestCompletionsOfferWhatThereIs(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		turn := c.must("send_message", args{"session_id": ses, "prompt": "say x", "wait_ms": 1000}).str("turn_id")
		for _, tc := range []struct{ ref, argument, value, want string }{
			{`{"type":"ref/prompt","name":"delegate"}`, "provider", "de", "[demo]"},
			{`{"type":"ref/prompt","name":"delegate"}`, "provider", "x", "[]"},
			{`{"type":"ref/prompt","name":"delegate"}`, "task", "", "[]"},
			{`{"type":"ref/prompt","name":"supervise"}`, "ids", "trn_x,trn_", "[trn_x," + turn + "]"},
			{`{"type":"ref/prompt","name":"review_journal"}`, "id", "", "[" + ses + " " + turn + "]"},
			{`{"type":"ref/resource","uri":"harness://sessions/{session_id}"}`, "session_id", "ses_", "[" + ses + "]"},
			{`{"type":"ref/resource","uri":"harness://turns/{turn_id}"}`, "turn_id", "", "[" + turn + "]"},
		} {
			res, failure := c.ask("completion/complete", fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":%q}}`, tc.ref, tc.argument, tc.value))
			if failure != "" {
				t.Fatal(failure)
			}
			if got := fmt.Sprint((answer{t: t, object: res}).get("completion", "values")); got != tc.want {
				t.Errorf("%s %q: %s, want %s", tc.argument, tc.value, got, tc.want)
			}
		}
	})
}
