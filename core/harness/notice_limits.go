package harness

import (
	"encoding/json"
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

// limitNotice cuts what an agent's notice repeats to the limits above, and its
// frame to MaxRaw; dropRaw drops the frame. It comes after redaction: a secret
// that is cut would not be recognised any more. Names by which the adapter finds
// something again are never cut.
func limitNotice(n core.Notice, dropRaw bool) core.Notice {
	fit := func(raw json.RawMessage) json.RawMessage {
		if dropRaw {
			return nil
		}
		return rawJSON(raw)
	}
	same := n
	switch n := n.(type) {
	case core.OpDone:
		n.Raw, n.Err = fit(n.Raw), boundError(n.Err)
		return n
	case core.TurnBegan:
		n.Raw, n.Prompt = fit(n.Raw), core.Short(n.Prompt, promptBytes)
		return n
	case core.Content:
		delta := n.Payload.EventType().IsDelta() // has no words to cut
		if delta && len(n.Raw) == 0 {
			return same // nearly all notices are such: a copy would be allocated for each
		}
		if n.Raw = fit(n.Raw); !delta {
			n.Payload = boundPayload(n.Payload)
		}
		return n
	case core.RequestRaised:
		n.Raw, n.Spec = fit(n.Raw), boundSpec(n.Spec)
		return n
	case core.RequestWithdrawn:
		n.Raw = fit(n.Raw)
		return n
	case core.TurnEnded:
		n.Raw = fit(n.Raw)
		n.Result.StopReason = core.Short(n.Result.StopReason, wordBytes)
		n.Result.Error = boundTurnError(n.Result.Error)
		n.Result.Warnings = boundNotes(n.Result.Warnings)
		return n
	case core.SessionChanged:
		n.Raw = fit(n.Raw)
		n.Model, n.ReasoningEffort = core.Short(n.Model, wordBytes), core.Short(n.ReasoningEffort, wordBytes)
		return n
	}
	return n
}

// boundReady cuts what an opening found out.
func boundReady(r core.Ready) core.Ready {
	r.Model, r.ReasoningEffort, r.Version = core.Short(r.Model, wordBytes), core.Short(r.ReasoningEffort, wordBytes), core.Short(r.Version, wordBytes)
	r.Warnings = boundNotes(r.Warnings)
	return r
}

func boundPayload(p core.Payload) core.Payload {
	switch p := p.(type) {
	case core.ToolStarted:
		p.Name, p.Kind = core.Short(p.Name, wordBytes), core.ToolKind(core.Short(string(p.Kind), wordBytes))
		p.Title, p.CWD = core.Short(p.Title, sentenceBytes), core.Short(p.CWD, sentenceBytes)
		return p
	case core.ToolCompleted:
		p.Error = core.Short(p.Error, promptBytes)
		return p
	case core.PlanUpdated:
		p.Steps = slices.Clone(p.Steps[:min(len(p.Steps), maxSteps)])
		for i, s := range p.Steps {
			p.Steps[i] = core.PlanStep{Text: core.Short(s.Text, sentenceBytes), Status: core.Short(s.Status, wordBytes)}
		}
		return p
	case core.Warning:
		p.Message, p.Code = core.Short(p.Message, sentenceBytes), core.Short(p.Code, wordBytes)
		return p
	case core.ProviderError:
		p.Message, p.Code = core.Short(p.Message, sentenceBytes), core.Short(p.Code, wordBytes)
		return p
	case core.ProviderEvent:
		p.Kind = core.Short(p.Kind, wordBytes)
		return p
	}
	return p
}

// boundSpec cuts the words of a question. A choice whose value is too long to be
// shown is left out, and so are choices beyond the bound; the question says so.
func boundSpec(s core.RequestSpec) core.RequestSpec {
	s.Prompt = core.Short(s.Prompt, promptBytes)
	if len(s.Questions) > 0 {
		s.Questions = slices.Clone(s.Questions)
	}
	for i := range s.Questions {
		s.Questions[i] = boundQuestion(s.Questions[i])
	}
	if s.Details != nil {
		d := *s.Details
		d.Tool, d.Reason = core.Short(d.Tool, wordBytes), core.Short(d.Reason, promptBytes)
		d.CWD, d.Path = core.Short(d.CWD, sentenceBytes), core.Short(d.Path, sentenceBytes)
		s.Details = &d
	}
	return s
}

func boundQuestion(q core.Question) core.Question {
	q.Prompt, q.Header = core.Short(q.Prompt, promptBytes), core.Short(q.Header, wordBytes)
	kept := make([]core.Choice, 0, min(len(q.Choices), maxChoices))
	for _, c := range q.Choices {
		if len(c.Value) > valueBytes || len(kept) == maxChoices {
			continue
		}
		c.Label, c.Description = core.Short(c.Label, wordBytes), core.Short(c.Description, valueBytes)
		kept = append(kept, c)
	}
	if n := len(q.Choices) - len(kept); n > 0 {
		q.Prompt += fmt.Sprintf(" [%d more choices are too long or too many to show]", n)
	}
	q.Choices = kept
	return q
}

func boundError(e *core.Error) *core.Error {
	if e == nil || len(e.Message) <= sentenceBytes && len(e.Hint) <= sentenceBytes {
		return e
	}
	c := *e
	c.Message, c.Hint = core.Short(e.Message, sentenceBytes), core.Short(e.Hint, sentenceBytes)
	return &c
}

func boundTurnError(e *core.TurnError) *core.TurnError {
	if e == nil || len(e.Message) <= sentenceBytes {
		return e
	}
	c := *e
	c.Message = core.Short(e.Message, sentenceBytes)
	return &c
}

func boundNotes(notes []string) []string {
	n := min(len(notes), maxNotes)
	out := make([]string, 0, n)
	for _, w := range notes[:n] {
		out = append(out, core.Short(w, sentenceBytes))
	}
	if more := len(notes) - n; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if len(out) == 0 {
		return notes
	}
	return out
}

// long says whether a notice brings more than is kept of it: in the frame that
// it came with, or in a text that the adapter gathered.
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

// rawJSON gives a frame as JSON that is at most about MaxRaw long: as it is, as
// a string when it is not JSON, or cut and marked.
func rawJSON(raw []byte) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case len(raw) > core.MaxRaw:
		return core.TruncatedFrame(len(raw), core.Truncate(string(raw[:core.MaxRaw+1]), core.MaxRaw))
	case !json.Valid(raw):
		return core.EncodeData(string(raw))
	}
	return raw
}
