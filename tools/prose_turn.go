package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// stateLine returns the state of the turn in one line.
func (o *turnObject) stateLine() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", o.TurnID, o.Status)
	switch {
	case o.QueuePosition > 0:
		fmt.Fprintf(&b, ", number %d in the queue", o.QueuePosition)
	default:
		b.WriteString(proseEnd(o.ElapsedMS, o.Status.Ended(), o.Reason))
	}
	if o.Reason != "" {
		fmt.Fprintf(&b, " (%s)", o.Reason)
	}
	if o.QuietMS != nil && *o.QuietMS >= minQuietShown {
		fmt.Fprintf(&b, ", quiet for %s", proseDuration(*o.QuietMS))
	}
	if o.Activity != "" {
		fmt.Fprintf(&b, "; %s", o.Activity)
	}
	fmt.Fprintf(&b, "; session %s", o.SessionID)
	if o.SessionStatus != "" {
		fmt.Fprintf(&b, " %s", o.SessionStatus)
	}
	fmt.Fprintf(&b, ", cursor %d.", o.Cursor)
	return b.String()
}

func (o *turnObject) prose() prose {
	if o.TurnID == "" {
		return prose{lines: []string{"Session " + o.SessionID + " has had no turn: there was nothing to stop."}}
	}
	p := prose{lines: []string{o.stateLine()}}
	if o.QueuedTurns != nil && *o.QueuedTurns > 0 {
		then := " will follow now."
		if o.Reason == core.ReasonQueueCleared { // this turn was itself queued
			then = " left."
		}
		p.lines = append(p.lines, proseCount(*o.QueuedTurns, "queued turn")+then)
	}
	if l := o.outcomeLine(); l != "" {
		p.lines = append(p.lines, l)
	}
	p.content = o.proseContent()
	return p
}

// outcomeLine returns in one line what the turn changed and used.
func (o *turnObject) outcomeLine() string {
	var facts []string
	if o.Error != nil {
		failure := fmt.Sprintf("%s: %s", o.Error.Code, oneLine(o.Error.Message, maxWarning))
		if o.Error.Hint != "" {
			failure = strings.TrimRight(failure, ".") + ". " + strings.TrimRight(o.Error.Hint, ".")
		}
		facts = append(facts, failure)
	}
	if o.StructuredError != "" {
		facts = append(facts, "the answer does not meet output_schema: "+oneLine(o.StructuredError, maxWarning))
	}
	facts = append(facts, o.proseFiles()...)
	if o.Usage != nil {
		facts = append(facts, proseUsage(o.Usage))
	}
	for _, w := range o.Warnings {
		facts = append(facts, "warning: "+w)
	}
	return clip(strings.Join(facts, "; "), maxErrorText)
}

// proseFiles lists the files that the agent reported as changed, and apart from
// them those that only git shows, which another program may have changed.
func (o *turnObject) proseFiles() (facts []string) {
	var reported, unreported []string
	for _, f := range o.files {
		if f.Unreported {
			unreported = append(unreported, f.Path)
		} else {
			reported = append(reported, f.Path)
		}
	}
	if len(reported) > 0 {
		facts = append(facts, fmt.Sprintf("%s changed: %s", proseCount(len(reported), "file"), clip(firstOf(reported, shownFiles), maxWarning)))
	}
	if len(unreported) > 0 {
		facts = append(facts, fmt.Sprintf("git shows %s that the agent did not report: %s",
			proseCount(len(unreported), "changed file"), clip(firstOf(unreported, shownUntold), maxWarning)))
	}
	return facts
}

// proseContent returns the questions, or the answer.
func (o *turnObject) proseContent() string {
	parts := proseRequests(o.PendingRequests, o.PendingTotal)
	if len(o.StructuredOutput) > 0 {
		parts = append(parts, string(o.StructuredOutput))
	}
	if o.Text != "" && (len(o.StructuredOutput) == 0 || !sameJSON(o.Text, o.StructuredOutput)) {
		parts = append(parts, o.Text)
	}
	return strings.Join(parts, "\n\n")
}

// sameJSON reports whether text is only the JSON of v, which is usual with an
// output schema.
func sameJSON(text string, v json.RawMessage) bool {
	return json.Valid([]byte(text)) && string(canonical(json.RawMessage(text))) == string(canonical(v))
}

func proseUsage(u *usageObject) string {
	var parts []string
	for _, p := range []struct {
		n    *int64
		what string
	}{{u.InputTokens, "in"}, {u.CachedInputTokens, "cached"}, {u.OutputTokens, "out"}, {u.TotalTokens, "in all"}} {
		if p.n != nil {
			parts = append(parts, fmt.Sprintf("%d %s", *p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "usage reported"
	}
	return "tokens: " + strings.Join(parts, ", ")
}
