package harness

import (
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// The longest words of an agent that every reply about its work repeats, in
// bytes, and how many of them there may be. What the work itself is (messages,
// output, commands, diffs, inputs) has other bounds; a frame of it is kept raw.
const (
	wordBytes     = 256     // names, labels, codes, stop reasons
	sentenceBytes = 4 << 10 // messages of errors and warnings, titles, paths
	promptBytes   = 64 << 10
	valueBytes    = 1 << 10 // of a choice, which is sent back as it is
	maxNotes      = 64      // warnings of a turn

	maxChoices = 64  // of a question
	maxSteps   = 256 // of a plan
)

// limitNotice cuts what an agent's notice repeats to the limits above. It comes
// after redaction: a secret that is cut would not be recognized any more. Names
// by which the adapter finds something again are never cut.
func limitNotice(n core.Notice) core.Notice {
	same := n
	switch n := n.(type) {
	case core.OpDone:
		n.Err = boundError(n.Err)
		return n
	case core.TurnBegan:
		n.Prompt = short(n.Prompt, promptBytes)
		return n
	case core.Content:
		if _, _, ok := core.DeltaParts(n.Payload); ok {
			return same // nothing to cut
		}
		n.Payload = boundPayload(n.Payload)
		return n
	case core.RequestRaised:
		n.Spec = boundSpec(n.Spec)
		return n
	case core.TurnEnded:
		n.Result.StopReason = short(n.Result.StopReason, wordBytes)
		n.Result.Error = boundTurnError(n.Result.Error)
		n.Result.Warnings = boundNotes(n.Result.Warnings)
		return n
	case core.SessionChanged:
		n.Model, n.ReasoningEffort = short(n.Model, wordBytes), short(n.ReasoningEffort, wordBytes)
		return n
	}
	return n
}

// boundReady cuts what an opening found out.
func boundReady(r core.Ready) core.Ready {
	r.Model, r.ReasoningEffort, r.Version = short(r.Model, wordBytes), short(r.ReasoningEffort, wordBytes), short(r.Version, wordBytes)
	r.Warnings = boundNotes(r.Warnings)
	return r
}

// boundPayload shortens the fields of p that describe the work. The work itself,
// such as a message, is not shortened here. A type that is not listed becomes a
// JSONPayload, bounded as a frame is.
func boundPayload(p core.Payload) core.Payload {
	switch p := p.(type) {
	case core.ToolStarted:
		p.Name, p.Kind = short(p.Name, wordBytes), core.ToolKind(short(string(p.Kind), wordBytes))
		p.Title, p.CWD = short(p.Title, sentenceBytes), short(p.CWD, sentenceBytes)
		return p
	case core.ToolCompleted:
		p.Error = short(p.Error, promptBytes)
		return p
	case core.PlanUpdated:
		p.Steps = slices.Clone(p.Steps[:min(len(p.Steps), maxSteps)])
		for i, s := range p.Steps {
			p.Steps[i] = core.PlanStep{Text: short(s.Text, sentenceBytes), Status: short(s.Status, wordBytes)}
		}
		return p
	case core.Warning:
		p.Message, p.Code = short(p.Message, sentenceBytes), short(p.Code, wordBytes)
		return p
	case core.ProviderError:
		p.Message, p.Code = short(p.Message, sentenceBytes), short(p.Code, wordBytes)
		return p
	case core.ProviderEvent:
		p.Kind = short(p.Kind, wordBytes)
		return p
	case core.Message, core.Reasoning, core.FileChange, core.UsageUpdated, core.RateLimit:
		return p // the work itself
	}
	return core.JSONPayload{Type: p.EventType(), Data: core.JsonFrame(core.EncodeData(p))}
}

// boundSpec cuts the words of a question. A choice whose value is too long to be
// shown is left out, and so are choices beyond the bound; the question says so.
func boundSpec(s core.RequestSpec) core.RequestSpec {
	s.Prompt = short(s.Prompt, promptBytes)
	if len(s.Questions) > 0 {
		s.Questions = slices.Clone(s.Questions)
	}
	for i := range s.Questions {
		s.Questions[i] = boundQuestion(s.Questions[i])
	}
	if s.Details != nil {
		d := *s.Details
		d.Tool, d.Reason = short(d.Tool, wordBytes), short(d.Reason, promptBytes)
		d.CWD, d.Path = short(d.CWD, sentenceBytes), short(d.Path, sentenceBytes)
		s.Details = &d
	}
	return s
}

// boundQuestion shortens the texts of q and drops choices beyond maxChoices. A
// choice with a value beyond valueBytes is dropped too, not cut: the value is what
// the agent gets as the answer. The prompt states how many are missing.
func boundQuestion(q core.Question) core.Question {
	q.Prompt, q.Header = short(q.Prompt, promptBytes), short(q.Header, wordBytes)
	kept := make([]core.Choice, 0, min(len(q.Choices), maxChoices))
	for _, c := range q.Choices {
		if len(c.Value) > valueBytes || len(kept) == maxChoices {
			continue
		}
		c.Label, c.Description = short(c.Label, wordBytes), short(c.Description, valueBytes)
		kept = append(kept, c)
	}
	if n := len(q.Choices) - len(kept); n > 0 {
		q.Prompt += fmt.Sprintf(" [%d more choices are too long or too many to show]", n)
	}
	q.Choices = kept
	return q
}

// boundError returns e with short sentences: e itself if they are short.
func boundError(e *core.Error) *core.Error {
	if e == nil || len(e.Message) <= sentenceBytes && len(e.Hint) <= sentenceBytes {
		return e
	}
	c := *e
	c.Message, c.Hint = short(e.Message, sentenceBytes), short(e.Hint, sentenceBytes)
	return &c
}

// boundTurnError returns e with a short message: e itself if it is short.
func boundTurnError(e *core.TurnError) *core.TurnError {
	if e == nil || len(e.Message) <= sentenceBytes {
		return e
	}
	c := *e
	c.Message = short(e.Message, sentenceBytes)
	return &c
}

// boundNotes returns at most maxNotes notes and, if there were more, their number.
func boundNotes(notes []string) []string {
	n := min(len(notes), maxNotes)
	out := make([]string, 0, n)
	for _, w := range notes[:n] {
		out = append(out, short(w, sentenceBytes))
	}
	if more := len(notes) - n; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if len(out) == 0 {
		return notes
	}
	return out
}

// long reports whether a notice brings more than is kept of it: in its frame, or in
// a text that the adapter gathered.
func long(n core.Notice) bool {
	var raw, text int
	switch n := n.(type) {
	case core.Content:
		raw = len(n.Raw)
		switch p := n.Payload.(type) {
		case core.Message:
			text = len(p.Text)
		case core.Reasoning:
			text = len(p.Text)
		case core.ToolCompleted:
			text = len(p.Output)
		}
	case core.RequestRaised:
		raw = len(n.Raw)
	case core.TurnEnded:
		raw, text = len(n.Raw), len(n.Result.Text)
	}
	return max(raw, text) > core.MaxText
}

// short returns s shortened to at most max bytes, on a character border, with
// three dots in place of what was cut.
func short(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const dots = "..."
	return core.Truncate(s, max-len(dots)) + dots
}
