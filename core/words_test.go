package core

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAnAgentsOwnWordsAreBounded(t *testing.T) {
	long := strings.Repeat("word ", 400_000)
	warnings := make([]string, 1000)
	for i := range warnings {
		warnings[i] = long[:10_000]
	}
	choices := []Choice{{Label: long, Value: "yes", Description: long}, {Label: "no", Value: long}}
	for name, n := range map[string]Notice{
		"a refusal":       OpDone{Err: &Error{Code: CodeInvalidArgument, Message: long, Hint: long}},
		"an end":          TurnEnded{Result: Result{StopReason: long, Error: &TurnError{Message: long}, Warnings: warnings}},
		"a tool":          Content{Payload: ToolStarted{Name: long, Kind: ToolKind(long), Title: long, CWD: long}},
		"a plan":          Content{Payload: PlanUpdated{Steps: []PlanStep{{Text: long, Status: long}}}},
		"a warning":       Content{Payload: Warning{Message: long, Code: long}},
		"an error":        Content{Payload: ProviderError{Message: long, Code: long}},
		"an event":        Content{Payload: ProviderEvent{Kind: long}},
		"a change":        SessionChanged{Model: long, ReasoningEffort: long},
		"another's turn":  TurnBegan{Prompt: long},
		"a question":      RequestRaised{Spec: RequestSpec{Prompt: long, Questions: []Question{{Prompt: long, Header: long, Choices: choices}}}},
		"an approval":     RequestRaised{Spec: RequestSpec{Details: &RequestDetails{Tool: long, CWD: long, Path: long, Reason: long}}},
		"a failed tool":   Content{Payload: ToolCompleted{Error: long}},
		"a flood of them": RequestRaised{Spec: RequestSpec{Questions: []Question{{Choices: make([]Choice, 10_000)}}}},
	} {
		const most = 512 << 10 // far below one of the words
		b, err := json.Marshal(boundWords(n))
		if err != nil || len(b) > most {
			t.Errorf("%s: %d bytes, %v; want at most %d", name, len(b), err, most)
		}
	}
}

func TestAChoiceThatCannotBeShownIsNotOfferedAndTheQuestionSaysSo(t *testing.T) {
	spec := RequestSpec{Questions: []Question{{Prompt: "Which?", Choices: []Choice{
		{Label: "a", Value: "a"}, {Label: "b", Value: strings.Repeat("b", valueBytes+1)},
	}}}}
	got := boundWords(RequestRaised{Spec: spec}).(RequestRaised).Spec.Questions[0]
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
