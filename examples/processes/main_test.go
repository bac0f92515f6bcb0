//go:build unix

package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/process"
)

func TestMain(m *testing.M) {
	process.Init()
	goleak.VerifyTestMain(m)
}

func TestProcessesAreReadyAnswerAndAreReadBack(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{ // in this order
		"it says: calculator ready", "it says: 6 * 7 = 42", "it says: 2 + 2 = 4", "it has exited with code 3",
		"1 process_started", `stdout {"text":"calculator ready\n"}`, `stdout {"text":"6 * 7 = 42\n"}`, `stderr {"text":"bye\n"}`, "process_exited",
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in:\n%s", want, out.String())
		}
		at += i + len(want)
	}
}
