package tools

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

func (o *requestObject) prose() prose {
	p := prose{lines: []string{o.stateLine()}}
	if o.Turn != nil {
		p.lines = append(p.lines, o.Turn.stateLine())
		if l := o.Turn.outcomeLine(); l != "" {
			p.lines = append(p.lines, l)
		}
		p.content = o.Turn.proseContent()
		return p
	}
	p.content = o.proseContent()
	return p
}

func (o *requestObject) stateLine() string {
	s := fmt.Sprintf("%s %s", o.RequestID, o.Status)
	if r := o.Resolution; r != nil {
		if r.Action != "" {
			s += ": " + string(r.Action)
		}
		s += " by the " + r.By
		if r.Scope != "" {
			s += ", scope " + string(r.Scope)
		}
		if r.Reason != "" {
			s += " (" + oneLine(r.Reason, maxWarning) + ")"
		}
	}
	return fmt.Sprintf("%s; turn %s, session %s.", s, o.TurnID, o.SessionID)
}

// proseContent returns the request in prose: the question, the details and the
// possible answers.
func (o *requestObject) proseContent() string {
	lines := []string{fmt.Sprintf("%s %s: %s", o.RequestID, strings.ReplaceAll(string(o.Kind), "_", " "), o.Prompt)}
	if d := o.Details; d != nil {
		lines = append(lines, labelled(math.MaxInt, "tool", d.Tool, "command", d.Command, "cwd", d.CWD, "path", d.Path,
			"reason", d.Reason, "input", string(d.Input), "diff", d.Diff)...)
	}
	for _, q := range o.Questions {
		lines = append(lines, proseQuestion(q)...)
	}
	if len(o.Schema) > 0 {
		lines = append(lines, "content as of: "+string(o.Schema))
	}
	return strings.Join(append(lines, o.answersLine()), "\n")
}

func proseQuestion(q core.Question) []string {
	head := fmt.Sprintf("question %s: %s", q.ID, q.Prompt)
	var how []string
	if q.Multiple {
		how = append(how, "several may be chosen")
	}
	if q.AllowsOther || len(q.Choices) == 0 {
		how = append(how, "free text is allowed")
	}
	if q.Secret {
		how = append(how, "secret")
	}
	if len(how) > 0 {
		head += " (" + strings.Join(how, ", ") + ")"
	}
	lines := []string{head}
	for _, c := range q.Choices {
		l := "- " + c.Value
		if c.Label != "" && c.Label != c.Value {
			l += " = " + c.Label
		}
		if c.Description != "" {
			l += ": " + oneLine(c.Description, maxWarning)
		}
		lines = append(lines, l)
	}
	return lines
}

// answersLine returns what respond accepts, and until when.
func (o *requestObject) answersLine() string {
	s := "actions: " + strings.Join(convertStrings[string](o.Actions), ", ")
	if len(o.Scopes) > 0 {
		s += "; scopes: " + strings.Join(convertStrings[string](o.Scopes), ", ")
	}
	if o.ExpiresAt != nil && !o.Status.Ended() {
		s += "; expires " + o.ExpiresAt.Format(time.TimeOnly) + " UTC"
	}
	switch {
	case o.asking:
		s += "; the user is being asked"
	case o.AskedUser != "":
		s += "; the user was asked: " + o.AskedUser
	}
	return s + "."
}
