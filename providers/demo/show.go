package demo

import (
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// The steps of the plan that the show reports.
var planned = []string{"Look around", "Ask for an approval and a decision", "Edit a file"}

// show plays everything once: what an agent can do, seen from its client.
func (t *turn) show() error {
	if err := t.say(t.welcome()); err != nil {
		return err
	}
	if err := t.planAt(0); err != nil {
		return err
	}
	if err := t.think("The person wants to see what an agent can do. I look around first, then ask, then edit."); err != nil {
		return err
	}
	if err := t.listFolder(); err != nil {
		return err
	}
	if err := t.planAt(1); err != nil {
		return err
	}
	ran, err := t.approve()
	if err != nil {
		return err
	}
	greeting, err := t.ask()
	if err != nil {
		return err
	}
	if err := t.planAt(2); err != nil {
		return err
	}
	path, err := t.patch(greeting)
	if err != nil {
		return err
	}
	if err := t.planAt(len(planned)); err != nil {
		return err
	}
	return t.say(farewell(ran, path))
}

func (t *turn) welcome() string {
	text := fmt.Sprintf("Hello. I am the scripted agent inside harness-mcp: no model, no account, no cost. You said %q.",
		quoted(t.prompt))
	if n := len(t.earlier); n > 0 {
		text += fmt.Sprintf(" Before that you said %q.", quoted(t.earlier[n-1]))
	}
	return text
}

func farewell(ran, path string) string {
	wrote := "I wrote no file."
	if path != "" {
		wrote = "I wrote " + path + "."
	}
	return "That was the whole show. I listed my folder. " + ran + " " + wrote
}

// planAt reports the plan with the steps before n done and step n at work.
func (t *turn) planAt(n int) error {
	if err := t.pause(t.pace); err != nil {
		return err
	}
	steps := make([]core.PlanStep, len(planned))
	for i, text := range planned {
		status := "pending"
		switch {
		case i < n:
			status = "completed"
		case i == n:
			status = "in_progress"
		}
		steps[i] = core.PlanStep{Text: text, Status: status}
	}
	return t.content(core.PlanUpdated{Steps: steps})
}

// quoted is the beginning of a prompt, on one line.
func quoted(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if c := clip(s, maxQuoted); c != s {
		return c + "..."
	}
	return s
}
