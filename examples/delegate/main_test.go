package main

import (
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/examples/internal/harness/built"
)

func TestDelegateTakesTheFirstAnswerAndStopsTheOthers(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), &out, built.Server(t), built.Env(t), t.TempDir(),
		tasks("", ""))
	if want := "the first answer: I was first.\nanother one: cancelled\nanother one: cancelled\n"; err != nil || out.String() != want {
		t.Fatalf("%v after\n%s", err, out.String())
	}
}

func TestDelegateGoesOnWithoutAnAgentThatFails(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), &out, built.Server(t), built.Env(t), t.TempDir(),
		[]task{{"demo", "fail"}, {"demo", "slow 500\nsay I was last."}})
	if err != nil || out.String() != "one is out: failed\nthe first answer: I was last.\n" {
		t.Fatalf("%v after\n%s", err, out.String())
	}
}
