package main

import (
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
)

func TestEchoConforms(t *testing.T) {
	providertest.Run(t, providertest.Config{
		Provider: echo{},
		Session:  func(testing.TB) core.SessionConfig { return core.SessionConfig{} },
		Prompts:  providertest.Prompts{Say: func(text string) string { return text }},
	})
}

func TestTalkPrintsATurn(t *testing.T) {
	var out strings.Builder
	if err := talk(&out, echo{}, "hello there"); err != nil {
		t.Fatal(err)
	}
	want := "accepted\nmessage {Item:turn-1.1 Text:hello there Partial:false}\nturn completed\n"
	if out.String() != want {
		t.Errorf("it printed %q, not %q", out.String(), want)
	}
}
