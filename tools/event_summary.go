package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// summary sets the data to the line that sums the event up.
func (o *eventObject) summary(line string) {
	o.Data = encode(map[string]string{"summary": line})
}

// summarizer renders events as steps. It remembers the titles of the tools that
// it has seen start, so that the step of an ended tool can name it.
type summarizer struct {
	titles map[mergeKey]string // of tools that began
	ended  map[mergeKey]bool   // tools whose end the window has
}

func newSummarizer() *summarizer {
	return &summarizer{titles: map[mergeKey]string{}, ended: map[mergeKey]bool{}}
}

// scan records which tools end in a window of the journal: start and end of
// those are one step.
func (s *summarizer) scan(window []core.Event) {
	for _, e := range window {
		if e.Type == core.TypeToolCompleted {
			s.ended[toolMergeKey(e)] = true
		}
	}
}

func toolMergeKey(e core.Event) mergeKey { return mergeKey{turn: e.TurnID, item: readDelta(e).Item} }

// line returns an event as one line of at most maxSummary bytes, or "" if it is
// not a step of its own.
func (s *summarizer) line(e core.Event) string {
	switch e.Type {
	case core.TypeToolStarted:
		var t core.ToolStarted
		_ = json.Unmarshal(e.Data, &t) // unreadable data has no text to show
		key := toolMergeKey(e)
		s.titles[key] = oneLine(firstNonEmpty(t.Title, t.Command, t.Name), maxPreview)
		if s.ended[key] {
			return ""
		}
		return oneLine(fmt.Sprintf("running %s: %s", firstNonEmpty(string(t.Kind), "tool"), s.titles[key]), maxSummary)
	case core.TypeToolCompleted:
		var t core.ToolCompleted
		_ = json.Unmarshal(e.Data, &t)
		head := firstNonEmpty(s.titles[toolMergeKey(e)], "tool")
		if t.ExitCode != nil {
			head += fmt.Sprintf(" -> %s, code %d", t.Status, *t.ExitCode)
		} else {
			head += fmt.Sprintf(" -> %s", t.Status)
		}
		return oneLine(strings.TrimSuffix(head+": "+firstNonEmpty(t.Error, lastLine(t.Output)), ": "), maxSummary)
	}
	return summarize(e)
}

// summarize returns an event as one line of at most maxSummary bytes, or "" if
// it is not a step of its own: deltas, usage and internal state.
func summarize(e core.Event) string {
	var d map[string]json.RawMessage
	_ = json.Unmarshal(e.Data, &d) // unreadable data has no text to show
	word := func(name string) string { return jsonString(d[name]) }
	line := func(head, text string) string {
		return oneLine(strings.TrimSuffix(head+": "+text, ": "), maxSummary)
	}
	switch e.Type {
	case core.TurnAccepted, core.TurnQueued:
		return line(spaced(e.Type), word("prompt"))
	case core.TypeMessage:
		return line("message", word("text"))
	case core.TypeReasoning:
		return line("reasoning", word("text"))
	case core.TypeFileChange:
		return line("files", proseChanges(d["changes"]))
	case core.TypePlanUpdated:
		return line("plan", prosePlan(d["steps"]))
	case core.RequestCreated:
		return line(firstNonEmpty(e.RequestID, "request"), proseRequest(d["request"]))
	case core.RequestResolved:
		return line(firstNonEmpty(e.RequestID, "request"), word("action")+" by "+word("by"))
	case core.RequestExpired:
		return line(firstNonEmpty(e.RequestID, "request"), "expired, "+word("reason"))
	case core.TurnCompleted, core.TurnFailed, core.TurnCancelled, core.TurnInterrupted:
		return line(spaced(e.Type), proseTurnResult(d))
	case core.TypeWarning, core.TypeProviderError:
		return line(spaced(e.Type), word("message"))
	case core.TypeStdout, core.TypeStderr:
		return line(string(e.Type), lastLine(word("text")))
	case core.ReplayGap:
		return line("gap: older events are gone", "")
	case core.TypeMessageDelta, core.TypeReasoningDelta, core.TypeToolDelta, core.TypeCommandOutputDelta,
		core.TypeUsageUpdated, core.TypeRateLimit, core.TypeProviderEvent, core.TurnStarted, core.QueueChanged,
		core.SessionUpdate, core.SessionIdle:
		return ""
	}
	return line(spaced(e.Type), firstNonEmpty(word("reason"), word("message")))
}

func spaced(t core.EventType) string { return strings.ReplaceAll(string(t), "_", " ") }

// lastLine returns the last line that is not blank.
func lastLine(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func proseChanges(raw json.RawMessage) string {
	var changes []core.FileEdit
	_ = json.Unmarshal(raw, &changes)
	words := make([]string, len(changes))
	for i, c := range changes {
		words[i] = fmt.Sprintf("%s %s", c.Kind, c.Path)
	}
	return firstOf(words, shownFiles)
}

func prosePlan(raw json.RawMessage) string {
	var steps []core.PlanStep
	_ = json.Unmarshal(raw, &steps)
	done, now := 0, ""
	for _, s := range steps {
		switch s.Status {
		case "completed":
			done++
		case "in_progress":
			now = s.Text
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%d of %d done; %s", done, len(steps), now), "; ")
}

func proseRequest(raw json.RawMessage) string {
	var q core.Request
	_ = json.Unmarshal(raw, &q)
	about := q.Prompt
	if q.Details != nil {
		about = firstNonEmpty(q.Details.Command, q.Details.Path, about)
	}
	return fmt.Sprintf("asks, %s: %s", strings.ReplaceAll(string(q.Kind), "_", " "), about)
}

func proseTurnResult(d map[string]json.RawMessage) string {
	var r struct {
		Text  string          `json:"text"`
		Error *core.TurnError `json:"error"`
	}
	_ = json.Unmarshal(d["result"], &r)
	if r.Error != nil {
		return fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message)
	}
	return firstNonEmpty(jsonString(d["reason"]), r.Text)
}
