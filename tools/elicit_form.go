package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/mark3labs/mcp-go/mcp"
)

// multiChoiceFrom is the first protocol revision whose forms have lists of
// choices.
const multiChoiceFrom = "2025-11-25"

// form is a request as the user is shown it, with the function that turns what
// the user entered into an answer.
type form struct {
	message string
	schema  map[string]any
	answer  func(content map[string]any) core.Response
}

// The choices of a decision.
const (
	wordApprove = "Approve"
	wordAlways  = "Approve for the whole session"
	wordDeny    = "Deny, and let the agent go on"
	wordCancel  = "Deny, and stop the agent"
)

// newForm makes the form of a request. It returns nil where a form cannot or
// must not ask it: for a schema that forms cannot show, and for a secret, which
// must not pass through a client's form.
func newForm(s core.Session, q core.Request, version string) *form {
	var f *form
	switch {
	case len(q.Questions) > 0 && slices.Contains(q.Actions, core.ActionAnswer):
		f = questionForm(q.Questions, version)
	case len(q.Schema) > 0 && slices.Contains(q.Actions, core.ActionAnswer):
		f = schemaForm(q.Schema)
	case slices.Contains(q.Actions, core.ActionApprove):
		f = decisionForm(q)
	}
	if f != nil {
		f.message = redact.Plain(formMessage(s, q))
	}
	return f
}

func (f *form) params() mcp.ElicitationParams {
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: f.message, RequestedSchema: f.schema}
}

// formMessage returns who asks what, with all that the user needs to decide.
func formMessage(s core.Session, q core.Request) string {
	who := s.Provider
	if s.Title != "" {
		who += " (" + oneLine(s.Title, maxPreview) + ")"
	}
	lines := []string{fmt.Sprintf("%s asks: %s", who, clip(q.Prompt, maxFormDetail))}
	if d := q.Details; d != nil {
		lines = append(lines, labelled(maxFormDetail, "Command", d.Command, "Tool", d.Tool, "In", firstNonEmpty(d.CWD, s.CWD),
			"File", d.Path, "Why", d.Reason, "Input", string(d.Input), "Change", d.Diff)...)
	}
	for _, x := range q.Questions {
		if len(q.Questions) > 1 || x.Prompt != q.Prompt {
			lines = append(lines, clip(x.Prompt, maxFormDetail))
		}
		for _, c := range x.Choices {
			if c.Description != "" {
				lines = append(lines, "- "+choiceWord(x, c)+": "+oneLine(c.Description, maxFormWord))
			}
		}
	}
	return clip(strings.Join(lines, "\n"), maxFormText)
}

func objectSchema(properties map[string]any, required []string) map[string]any {
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// decisionForm asks for a decision.
func decisionForm(q core.Request) *form {
	words := map[string]core.Response{}
	var order []string
	add := func(word string, r core.Response) {
		words[word] = r
		order = append(order, word)
	}
	for _, a := range q.Actions {
		switch a {
		case core.ActionApprove:
			add(wordApprove, core.Response{Action: a})
			if slices.Contains(q.Scopes, core.ScopeSession) {
				add(wordAlways, core.Response{Action: a, Scope: core.ScopeSession})
			}
		case core.ActionDeny:
			add(wordDeny, core.Response{Action: a})
		case core.ActionCancel:
			add(wordCancel, core.Response{Action: a})
		}
	}
	return &form{
		schema: objectSchema(map[string]any{
			"decision": map[string]any{"type": "string", "title": "Decision", "enum": order},
			"reason":   map[string]any{"type": "string", "title": "Reason", "description": "Told to the agent. Optional."},
		}, []string{"decision"}),
		answer: func(content map[string]any) core.Response {
			r := words[formString(content, "decision")] // an unknown choice has no action: core refuses it
			r.Reason = formString(content, "reason")
			return r
		},
	}
}

// choiceWord returns how a choice is shown: its label if that is unique, else
// its value. core accepts both.
func choiceWord(q core.Question, c core.Choice) string {
	other := func(o core.Choice) bool { return o != c && (o.Label == c.Label || o.Value == c.Label) }
	if c.Label == "" || len(c.Label) > maxFormWord || slices.ContainsFunc(q.Choices, other) {
		return c.Value
	}
	return c.Label
}

// otherField is the name of the field for an answer in free text.
func otherField(id string) string { return id + " (other)" }

// questionForm asks questions: one choice each, several where that is allowed,
// or free text.
func questionForm(qs []core.Question, version string) *form {
	fields := map[string]any{}
	var required []string
	for _, q := range qs {
		if q.Secret || redact.SecretName(q.ID) || redact.SecretName(q.Header) {
			return nil
		}
		fields[q.ID] = questionField(q, version)
		if len(q.Choices) > 0 && q.AllowsOther {
			fields[otherField(q.ID)] = map[string]any{"type": "string", "title": clip(firstNonEmpty(q.Header, q.Prompt), maxFormWord) + ": other",
				"description": "In your own words, instead of a choice."}
			continue
		}
		required = append(required, q.ID)
	}
	return &form{schema: objectSchema(fields, required), answer: func(content map[string]any) core.Response {
		r := core.Response{Action: core.ActionAnswer, Answers: map[string][]string{}}
		for _, q := range qs {
			if vals := answersOf(q, content); len(vals) > 0 {
				r.Answers[q.ID] = vals
			}
		}
		return r
	}}
}

func questionField(q core.Question, version string) map[string]any {
	f := map[string]any{"type": "string", "title": clip(firstNonEmpty(q.Header, q.Prompt), maxFormWord)}
	if q.Header != "" {
		f["description"] = clip(q.Prompt, maxFormDetail)
	}
	var words []string
	for _, c := range q.Choices {
		words = append(words, choiceWord(q, c))
	}
	switch {
	case len(words) == 0:
	case !q.Multiple:
		f["enum"] = words
	case version >= multiChoiceFrom:
		f["type"] = "array"
		f["items"] = map[string]any{"type": "string", "enum": words}
	default:
		f["description"] = "Any of, separated by semicolons: " + clip(strings.Join(words, "; "), maxFormDetail)
	}
	return f
}

// answersOf returns what was entered for one question. Free text takes
// precedence over a choice.
func answersOf(q core.Question, content map[string]any) []string {
	if other := formString(content, otherField(q.ID)); other != "" && q.AllowsOther {
		return []string{other}
	}
	switch v := content[q.ID].(type) {
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	case string:
		if v == "" {
			return nil
		}
		if !q.Multiple || len(q.Choices) == 0 {
			return []string{v}
		}
		var out []string
		for _, s := range strings.Split(v, ";") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// schemaForm passes on the schema of an agent's own form, if a form can show it
// and it asks for no secret.
func schemaForm(schema json.RawMessage) *form {
	var s struct {
		Type       string                    `json:"type"`
		Properties map[string]map[string]any `json:"properties"`
	}
	var whole map[string]any
	if json.Unmarshal(schema, &s) != nil || json.Unmarshal(schema, &whole) != nil || s.Type != "object" || len(s.Properties) == 0 {
		return nil
	}
	for name, p := range s.Properties {
		title, _ := p["title"].(string)
		if redact.SecretName(name) || redact.SecretName(title) || p["format"] == "password" || p["writeOnly"] == true || !isFormField(p) {
			return nil
		}
	}
	return &form{schema: whole, answer: func(content map[string]any) core.Response {
		return core.Response{Action: core.ActionAnswer, Content: encode(content)}
	}}
}

// isFormField reports whether forms have such a field: a string, a number, a
// boolean, or a list of choices.
func isFormField(p map[string]any) bool {
	switch p["type"] {
	case "string", "number", "integer", "boolean":
		return true
	case "array":
		items, _ := p["items"].(map[string]any)
		return items["enum"] != nil || items["anyOf"] != nil
	}
	return false
}

// formString returns a string that the user entered or chose, "" for none.
func formString(content map[string]any, name string) string {
	s, _ := content[name].(string)
	return s
}
