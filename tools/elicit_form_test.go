package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harness-mcp/harness-mcp/core"
)

func formOf(q core.Request, version string) *form {
	return newForm(core.Session{Provider: "codex", Title: "tidy", CWD: "/src/app"}, q, version)
}

func TestADecisionFormOffersWhatTheRequestDoes(t *testing.T) {
	q := anApproval()
	f := formOf(q, "2025-06-18")
	got := string(encode(f.schema))
	want := `{"properties":{"decision":{"enum":["Approve","Approve for the whole session","Deny, and let the agent go on","Deny, and stop the agent"],"title":"Decision","type":"string"},` +
		`"reason":{"description":"Told to the agent. Optional.","title":"Reason","type":"string"}},"required":["decision"],"type":"object"}`
	if got != want {
		t.Errorf("the form is %s", got)
	}
	for _, words := range []string{"codex (tidy) asks: Run this command?", "Command: rm -rf build && make", "In: /src/app", "Why: a clean build"} {
		if !strings.Contains(f.message, words) {
			t.Errorf("the form does not say %q: %s", words, f.message)
		}
	}
	for word, want := range map[string]core.Response{
		"Approve":                       {Action: core.ActionApprove},
		"Approve for the whole session": {Action: core.ActionApprove, Scope: core.ScopeSession},
		"Deny, and let the agent go on": {Action: core.ActionDeny, Reason: "no"},
		"Deny, and stop the agent":      {Action: core.ActionCancel},
		"Perhaps":                       {},
	} {
		if diff := cmp.Diff(want, f.answer(map[string]any{"decision": word, "reason": want.Reason})); diff != "" {
			t.Errorf("%s: %s", word, diff)
		}
	}
	q.Scopes, q.Actions = nil, []core.Action{core.ActionApprove, core.ActionCancel}
	if got := string(encode(formOf(q, "").schema)); strings.Contains(got, "session") || strings.Contains(got, "go on") {
		t.Errorf("the form offers what the request does not: %s", got)
	}
}

func TestAQuestionFormKnowsEveryKindOfQuestion(t *testing.T) {
	q := aQuestion()
	q.Questions = []core.Question{
		{ID: "db", Prompt: "Which database?", AllowsOther: true, Choices: []core.Choice{{Label: "SQLite", Value: "sqlite"}, {Label: "PostgreSQL", Value: "pg"}}},
		{ID: "parts", Prompt: "Which parts?", Multiple: true, Choices: []core.Choice{{Label: "A", Value: "a"}, {Label: "B", Value: "b"}}},
		{ID: "name", Prompt: "What name?"},
		{ID: "twins", Prompt: "Which twin?", Choices: []core.Choice{{Label: "Same", Value: "one"}, {Label: "Same", Value: "two"}}},
	}
	f := formOf(q, multiChoiceFrom)
	var schema struct {
		Properties map[string]struct {
			Type  string
			Enum  []string
			Items struct{ Enum []string }
		}
		Required []string
	}
	if err := json.Unmarshal(encode(f.schema), &schema); err != nil {
		t.Fatal(err)
	}
	p := schema.Properties
	if len(p) != 5 || p["db"].Type != "string" || len(p["db"].Enum) != 2 || p["db (other)"].Type != "string" ||
		p["parts"].Type != "array" || len(p["parts"].Items.Enum) != 2 || p["name"].Enum != nil {
		t.Errorf("fields %+v", p)
	}
	if diff := cmp.Diff([]string{"one", "two"}, p["twins"].Enum); diff != "" {
		t.Errorf("choices that read alike: %s", diff)
	}
	if diff := cmp.Diff([]string{"parts", "name", "twins"}, schema.Required); diff != "" {
		t.Errorf("required: %s", diff)
	}
	got := f.answer(map[string]any{"db": "SQLite", "db (other)": "DuckDB", "parts": []any{"A", "B"}, "name": "x", "twins": "two"})
	want := core.Response{Action: core.ActionAnswer, Answers: map[string][]string{"db": {"DuckDB"}, "parts": {"A", "B"}, "name": {"x"}, "twins": {"two"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := core.CheckResponse(q.RequestSpec, got); err != nil {
		t.Errorf("core refuses it: %v", err)
	}
	// Before lists of choices, several are written in one line.
	old := formOf(q, "2025-06-18").answer(map[string]any{"parts": "A; B ;"})
	if diff := cmp.Diff([]string{"A", "B"}, old.Answers["parts"]); diff != "" {
		t.Error(diff)
	}
}

func TestNoFormAsksForASecret(t *testing.T) {
	secret := aQuestion()
	secret.Questions[0].Secret = true
	named := aQuestion()
	named.Questions[0].ID = "api_key"
	headed := aQuestion()
	headed.Questions[0].Header = "Password"
	form := func(schema string) core.Request {
		q := aQuestion()
		q.Questions, q.Schema, q.Kind = nil, json.RawMessage(schema), core.KindMCPElicitation
		q.Actions = []core.Action{core.ActionAnswer, core.ActionDeny, core.ActionCancel}
		return q
	}
	for name, q := range map[string]core.Request{
		"said to be secret":     secret,
		"named like one":        named,
		"headed like one":       headed,
		"a field of a schema":   form(`{"type":"object","properties":{"access_token":{"type":"string"}}}`),
		"a titled field":        form(`{"type":"object","properties":{"x":{"type":"string","title":"Private key"}}}`),
		"a password field":      form(`{"type":"object","properties":{"x":{"type":"string","format":"password"}}}`),
		"a schema of no form":   form(`{"type":"object","properties":{"x":{"type":"object"}}}`),
		"a schema without type": form(`{"properties":{"x":{"type":"string"}}}`),
		"no schema":             form(`[]`),
	} {
		if f := formOf(q, multiChoiceFrom); f != nil {
			t.Errorf("%s: a form asks %s", name, encode(f.schema))
		}
	}
	f := formOf(form(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), "")
	if f == nil {
		t.Fatal("a plain schema has no form")
	}
	if got := f.answer(map[string]any{"n": 3}); string(got.Content) != `{"n":3}` || got.Action != core.ActionAnswer {
		t.Errorf("answered %+v", got)
	}
}

func TestFormsAreBounded(t *testing.T) {
	q := bigApproval()
	if f := formOf(q, ""); len(f.message) > maxFormText {
		t.Errorf("a form of %d bytes", len(f.message))
	}
}
