package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheCollectorHearsTheWholeTask(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, demo.New(demo.Options{Dir: t.TempDir(), Pace: -1})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"create_agent demo ", "\n  demo/start_turn ", "\n  demo/respond ", "\ninvoke_agent demo ", "\nsession demo ",
		"harness_mcp.outcome=ok", "gen_ai.operation.name=invoke_agent",
		`harness_mcp_signals_total{gen_ai_agent_name="demo",harness_mcp_request_kind="command_approval",harness_mcp_signal="request_created"} 1`,
	} {
		if !strings.Contains("\n"+out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "it is done") {
		t.Errorf("the prompt is in\n%s", out.String())
	}
}
