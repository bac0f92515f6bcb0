package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEmbedDelegatesAnswersAndReadsBack(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, demo.New(demo.Options{Dir: t.TempDir(), Pace: -1}), "tidy the tests"); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{ // in this order
		"the agent asks: Run touch approved.txt? -> approve",
		"the agent asks: Which greeting shall I write? -> answer",
		"the turn completed",
		"turn_accepted", "turn_started", "message ", "reasoning ", "tool_completed",
		"request_created", "request_resolved", "request_created", "request_resolved",
		"file_change", "turn_completed",
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in:\n%s", want, out.String())
		}
		at += i + len(want)
	}
}
