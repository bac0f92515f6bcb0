package redact

import (
	"fmt"
	"maps"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Payload returns p without secrets. Ids (Item, TurnID) are names and stay. A
// payload of an unknown type is looked through as JSON and returned as a
// JSONPayload.
func (r *Redactor) Payload(p core.Payload) core.Payload {
	if item, text, ok := core.DeltaParts(p); ok {
		return deltaOf(p.EventType(), item, r.boundText(text))
	}
	switch p := p.(type) {
	case core.Message:
		p.Text = r.boundText(p.Text)
		return p
	case core.Reasoning:
		p.Text = r.boundText(p.Text)
		return p
	case core.ToolStarted:
		p.Name, p.Title = r.String(p.Name), r.String(p.Title)
		p.Input, p.Command, p.CWD = r.boundJSON(p.Input), r.boundText(p.Command), r.String(p.CWD)
		return p
	case core.ToolCompleted:
		p.Output, p.Error = r.boundText(p.Output), r.boundText(p.Error)
		return p
	case core.FileChange:
		p.Changes = r.fileEdits(p.Changes)
		return p
	case core.PlanUpdated:
		p.Steps = slices.Clone(p.Steps)
		for i, s := range p.Steps {
			p.Steps[i] = core.PlanStep{Text: r.String(s.Text), Status: r.String(s.Status)}
		}
		return p
	case core.RateLimit:
		p.Limits = r.boundFrame(p.Limits)
		return p
	case core.Warning:
		p.Message, p.Code = r.String(p.Message), r.String(p.Code)
		return p
	case core.ProviderError:
		p.Message, p.Code = r.String(p.Message), r.String(p.Code)
		return p
	case core.ProviderEvent:
		p.Kind, p.Data = r.String(p.Kind), r.boundFrame(p.Data)
		return p
	case core.UsageUpdated:
		return p // numbers only
	}
	return core.JSONPayload{Type: p.EventType(), Data: r.boundJSON(core.EncodeData(p))}
}

// Result returns a turn's result without secrets.
func (r *Redactor) Result(res core.Result) core.Result {
	res.Text, res.StopReason = r.boundText(res.Text), r.String(res.StopReason)
	res.StructuredOutput, res.Provider = r.boundJSON(res.StructuredOutput), r.boundFrame(res.Provider)
	res.Error = r.TurnError(res.Error)
	res.FilesChanged = r.fileEdits(res.FilesChanged)
	res.Observed.Files = r.fileEdits(res.Observed.Files)
	res.Warnings = r.Strings(res.Warnings)
	return res
}

// RequestSpec returns a request without secrets. Ids of questions are names and
// stay; so do the field names of a schema.
func (r *Redactor) RequestSpec(s core.RequestSpec) core.RequestSpec {
	s.Prompt, s.Schema = r.String(s.Prompt), r.schema(s.Schema)
	s.Questions = slices.Clone(s.Questions)
	for i := range s.Questions {
		q := &s.Questions[i]
		q.Prompt, q.Header = r.String(q.Prompt), r.String(q.Header)
		q.Choices = slices.Clone(q.Choices)
		for j, c := range q.Choices {
			q.Choices[j] = core.Choice{Label: r.String(c.Label), Value: r.String(c.Value), Description: r.String(c.Description)}
		}
	}
	if s.Details != nil {
		d := *s.Details
		d.Command, d.CWD, d.Path = r.boundText(d.Command), r.String(d.CWD), r.String(d.Path)
		d.Diff, d.Tool, d.Reason = r.boundText(d.Diff), r.String(d.Tool), r.String(d.Reason)
		d.Input = r.boundJSON(d.Input)
		s.Details = &d
	}
	return s
}

// fileEdits returns changes of files without secrets. Diffs beyond MaxText in
// all are left out, the last first; the paths stay.
func (r *Redactor) fileEdits(edits []core.FileEdit) []core.FileEdit {
	edits = slices.Clone(edits)
	left := core.MaxText
	for i, e := range edits {
		e.Path, e.Diff = r.String(e.Path), r.boundText(e.Diff)
		if len(e.Diff) > left && i > 0 {
			e.Diff = fmt.Sprintf("[... %d bytes are not kept ...]", len(e.Diff))
		}
		left -= len(e.Diff)
		edits[i] = e
	}
	return edits
}

// Metadata returns a caller's metadata without secrets: by the names
// and in the values.
func (r *Redactor) Metadata(m map[string]string) map[string]string {
	out := maps.Clone(m)
	for k, v := range m {
		if v != "" && SecretName(k) {
			out[k] = Redacted
			continue
		}
		out[k] = r.String(v)
	}
	return out
}
