package main

import (
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/examples/internal/harness/built"
)

func TestSessionsTellsTheWholeStory(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), &out, built.Server(t), built.Env(t), "demo", [2]string{"say Good morning.\napprove\nask", "recall"})
	if err != nil {
		t.Fatalf("%v after\n%s", err, out.String())
	}
	at := 0
	for _, want := range []string{ // in this order
		"is ready; by builtin it has approvals: native",
		"the session is idle",
		"it asks: ", "-> approve", "it asks: ", "-> answer",
		"it says: ", "it says: ",
		"session_started", "turn_accepted", "turn_queued", "request_created", "request_resolved", "turn_completed", "turn_completed", "session_idle",
		"after close it is closed", "after start_session it is idle", "after close it is killed", "after inspect it is killed",
		"after prune it is not_found",
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in:\n%s", want, out.String())
		}
		at += i + len(want)
	}
}
