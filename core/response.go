package core

import (
	"encoding/json"
	"slices"
)

// CheckResponse checks an answer against what a request declares and returns it
// in the form that adapters rely on: Scope is set for approvals, Answers has
// values and one entry per question. It never widens or narrows the answer.
//
// Errors: CodeAction, CodeScope, CodeMissingAnswer, CodeInvalidArgument.
func CheckResponse(spec RequestSpec, r Response) (Response, *Error) {
	if !slices.Contains(spec.Actions, r.Action) {
		return r, Errorf(CodeAction, "action %q is not offered by this request", r.Action).
			WithHint("It offers: %s.", JoinList(spec.Actions)).WithDetail("actions", spec.Actions)
	}
	if r.Scope != "" && (r.Action != ActionApprove || !offers(spec, r.Scope)) {
		return r, Errorf(CodeScope, "scope %q cannot be given with %s here", r.Scope, r.Action).
			WithHint("Scopes offered for approve: %s.", JoinList(scopes(spec))).WithDetail("scopes", scopes(spec))
	}
	if r.Action == ActionApprove && r.Scope == "" {
		if !offers(spec, ScopeOnce) { // a wider one is for the caller to choose
			return r, Errorf(CodeScope, "approve needs a scope here: once is not offered").
				WithHint("Scopes offered for approve: %s.", JoinList(scopes(spec))).WithDetail("scopes", scopes(spec))
		}
		r.Scope = ScopeOnce
	}
	if r.Action != ActionAnswer {
		if r.Answer != "" || len(r.Answers) > 0 || len(r.Content) > 0 {
			return r, Errorf(CodeInvalidArgument, "%s takes no answer", r.Action).
				WithHint("Use action answer to give one, or leave answer, answers and content out.")
		}
		return r, nil
	}
	if len(spec.Questions) > 0 {
		return checkAnswers(spec, r)
	}
	return checkContent(r)
}

func offers(spec RequestSpec, s Scope) bool { return slices.Contains(scopes(spec), s) }

// scopes returns the scopes that approve may have: once when none are declared.
func scopes(spec RequestSpec) []Scope {
	if len(spec.Scopes) == 0 {
		return []Scope{ScopeOnce}
	}
	return spec.Scopes
}

func checkAnswers(spec RequestSpec, r Response) (Response, *Error) {
	given := r.Answers
	if r.Answer != "" {
		if len(given) > 0 || len(spec.Questions) != 1 {
			return r, Errorf(CodeInvalidArgument, "answer is for a single question; this request has %d", len(spec.Questions)).
				WithHint("Use answers: {question id: [values]}.")
		}
		given = map[string][]string{spec.Questions[0].ID: {r.Answer}}
	}
	out := make(map[string][]string, len(spec.Questions))
	for _, q := range spec.Questions {
		vals, err := checkAnswer(q, given[q.ID])
		if err != nil {
			return r, err
		}
		out[q.ID] = vals
	}
	for id := range given {
		if _, ok := out[id]; !ok {
			return r, Errorf(CodeInvalidArgument, "there is no question %q", id).WithHint("The questions are: %s.", questionIDs(spec))
		}
	}
	r.Answer, r.Answers = "", out
	return r, nil
}

func checkAnswer(q Question, vals []string) ([]string, *Error) {
	if len(vals) == 0 {
		return nil, Errorf(CodeMissingAnswer, "question %q has no answer: %s", q.ID, q.Prompt).
			WithHint("Every question needs one. %s", choicesHint(q)).WithDetail("question", q.ID)
	}
	if len(vals) > 1 && !q.Multiple {
		return nil, Errorf(CodeInvalidArgument, "question %q takes one answer, %d were given", q.ID, len(vals)).WithHint("%s", choicesHint(q))
	}
	out := make([]string, 0, len(vals))
	for _, v := range vals {
		i := slices.IndexFunc(q.Choices, func(c Choice) bool { return c.Value == v })
		if i < 0 {
			i = slices.IndexFunc(q.Choices, func(c Choice) bool { return c.Label == v })
		}
		switch {
		case i >= 0:
			out = append(out, q.Choices[i].Value)
		case len(q.Choices) == 0 || q.AllowsOther:
			out = append(out, v)
		default:
			return nil, Errorf(CodeInvalidArgument, "%q is not a choice of question %q", Truncate(v, 80), q.ID).WithHint("%s", choicesHint(q))
		}
	}
	return out, nil
}

func checkContent(r Response) (Response, *Error) {
	if r.Answer != "" || len(r.Answers) > 0 {
		return r, Errorf(CodeInvalidArgument, "this request takes content, an object, and no answer text").
			WithHint("Use content: {...} that fits the request's schema.")
	}
	var obj map[string]json.RawMessage
	if len(r.Content) == 0 || json.Unmarshal(r.Content, &obj) != nil {
		return r, Errorf(CodeMissingAnswer, "answer needs content, an object that fits the request's schema").
			WithHint("Use content: {...}, or action deny.")
	}
	return r, nil
}

func choicesHint(q Question) string {
	if len(q.Choices) == 0 {
		return "It takes free text."
	}
	vals := make([]string, len(q.Choices))
	for i, c := range q.Choices {
		vals[i] = c.Value
	}
	s := "Choices: " + JoinList(vals)
	if q.AllowsOther {
		s += ", or free text"
	}
	return s + "."
}

func questionIDs(spec RequestSpec) string {
	ids := make([]string, len(spec.Questions))
	for i, q := range spec.Questions {
		ids[i] = q.ID
	}
	return JoinList(ids)
}

// JoinList returns the words of a list, separated by commas.
func JoinList[S ~string](ss []S) string {
	out := ""
	for i, s := range ss {
		if i > 0 {
			out += ", "
		}
		out += string(s)
	}
	return out
}
