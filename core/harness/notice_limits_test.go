package harness

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestAnAgentsOwnWordsAreBounded(t *testing.T) {
	long := strings.Repeat("word ", 400_000)
	warnings := make([]string, 1000)
	for i := range warnings {
		warnings[i] = long[:10_000]
	}
	choices := []core.Choice{{Label: long, Value: "yes", Description: long}, {Label: "no", Value: long}}
	for name, n := range map[string]core.Notice{
		"a refusal":       core.OpDone{Err: &core.Error{Code: core.CodeInvalidArgument, Message: long, Hint: long}},
		"an end":          core.TurnEnded{Result: core.Result{StopReason: long, Error: &core.TurnError{Message: long}, Warnings: warnings}},
		"a tool":          core.Content{Payload: core.ToolStarted{Name: long, Kind: core.ToolKind(long), Title: long, CWD: long}},
		"a plan":          core.Content{Payload: core.PlanUpdated{Steps: []core.PlanStep{{Text: long, Status: long}}}},
		"a warning":       core.Content{Payload: core.Warning{Message: long, Code: long}},
		"an error":        core.Content{Payload: core.ProviderError{Message: long, Code: long}},
		"an event":        core.Content{Payload: core.ProviderEvent{Kind: long}},
		"a change":        core.SessionChanged{Model: long, ReasoningEffort: long},
		"another's turn":  core.TurnBegan{Prompt: long},
		"a question":      core.RequestRaised{Spec: core.RequestSpec{Prompt: long, Questions: []core.Question{{Prompt: long, Header: long, Choices: choices}}}},
		"an approval":     core.RequestRaised{Spec: core.RequestSpec{Details: &core.RequestDetails{Tool: long, CWD: long, Path: long, Reason: long}}},
		"a failed tool":   core.Content{Payload: core.ToolCompleted{Error: long}},
		"a flood of them": core.RequestRaised{Spec: core.RequestSpec{Questions: []core.Question{{Choices: make([]core.Choice, 10_000)}}}},
	} {
		const most = 512 << 10 // far below one of the words
		b, err := json.Marshal(limitNotice(n))
		if err != nil || len(b) > most {
			t.Errorf("%s: %d bytes, %v; want at most %d", name, len(b), err, most)
		}
	}
}

func TestAChoiceThatCannotBeShownIsNotOfferedAndTheQuestionSaysSo(t *testing.T) {
	spec := core.RequestSpec{Questions: []core.Question{{Prompt: "Which?", Choices: []core.Choice{
		{Label: "a", Value: "a"}, {Label: "b", Value: strings.Repeat("b", valueBytes+1)},
	}}}}
	got := limitNotice(core.RequestRaised{Spec: spec}).(core.RequestRaised).Spec.Questions[0]
	if len(got.Choices) != 1 || got.Choices[0].Value != "a" || !strings.Contains(got.Prompt, "1 more choice") {
		t.Errorf("got %+v", got)
	}
	if n := len(spec.Questions[0].Choices); n != 2 {
		t.Errorf("the adapter's own question has %d choices now", n)
	}
}

func TestShortWordsStayAsTheyAre(t *testing.T) {
	if got := short("end_turn", wordBytes); got != "end_turn" {
		t.Errorf("got %q", got)
	}
	if got := short(strings.Repeat("\u00e9", wordBytes), wordBytes); len(got) > wordBytes || !strings.HasSuffix(got, "\u00e9...") {
		t.Errorf("got %q", got)
	}
}
