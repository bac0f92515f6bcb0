package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// maxSummary is what one step of a summary takes at most, in bytes.
const maxSummary = 120

// summary makes an event the line that sums it up.
func (o *eventObject) summary(line string) {
	o.Data = encode(map[string]string{"summary": line})
}

// summarizer says events as steps. It knows the tools that it has seen begin,
// so that the end of one can say what ended.
type summarizer struct {
	titles map[pieceKey]string // of tools that began
	ended  map[pieceKey]bool   // tools whose end the window has
}

func newSummarizer() *summarizer {
	return &summarizer{titles: map[pieceKey]string{}, ended: map[pieceKey]bool{}}
}

// look notes which tools end in a window of the journal: those are one step.
func (s *summarizer) look(window []core.Event) {
	for _, e := range window {
		if e.Type == core.TypeToolCompleted {
			s.ended[toolKey(e)] = true
		}
	}
}

func toolKey(e core.Event) pieceKey { return pieceKey{turn: e.TurnID, item: readPiece(e).Item} }

// line says an event in one line of at most maxSummary bytes, or "" when it is
// no step of its own.
func (s *summarizer) line(e core.Event) string {
	switch e.Type {
	case core.TypeToolStarted:
		var t core.ToolStarted
		_ = json.Unmarshal(e.Data, &t) // what cannot be read has no words to show
		key := toolKey(e)
		s.titles[key] = oneLine(first(t.Title, t.Command, t.Name), maxPreview)
		if s.ended[key] {
			return ""
		}
		return oneLine(fmt.Sprintf("running %s: %s", first(string(t.Kind), "tool"), s.titles[key]), maxSummary)
	case core.TypeToolCompleted:
		var t core.ToolCompleted
		_ = json.Unmarshal(e.Data, &t)
		head := first(s.titles[toolKey(e)], "tool")
		if t.ExitCode != nil {
			head += fmt.Sprintf(" -> %s, code %d", t.Status, *t.ExitCode)
		} else {
			head += fmt.Sprintf(" -> %s", t.Status)
		}
		return oneLine(strings.TrimSuffix(head+": "+first(t.Error, lastLine(t.Output)), ": "), maxSummary)
	}
	return summarize(e)
}

// summarize says an event in one line of at most maxSummary bytes, or "" when
// it is no step of its own: deltas, usage and what only the machine needs.
func summarize(e core.Event) string {
	var d map[string]json.RawMessage
	_ = json.Unmarshal(e.Data, &d) // what cannot be read has no words to show
	word := func(name string) string {
		var s string
		_ = json.Unmarshal(d[name], &s)
		return s
	}
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
		return line("files", sayChanges(d["changes"]))
	case core.TypePlanUpdated:
		return line("plan", sayPlan(d["steps"]))
	case core.RequestCreated:
		return line(first(e.RequestID, "request"), sayRequest(d["request"]))
	case core.RequestResolved:
		return line(first(e.RequestID, "request"), word("action")+" by "+word("by"))
	case core.RequestExpired:
		return line(first(e.RequestID, "request"), "expired, "+word("reason"))
	case core.TurnCompleted, core.TurnFailed, core.TurnCancelled, core.TurnInterrupted:
		return line(spaced(e.Type), sayResultOf(d))
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
	return line(spaced(e.Type), first(word("reason"), word("message")))
}

func spaced(t core.EventType) string { return strings.ReplaceAll(string(t), "_", " ") }

// lastLine is the last line with anything on it: of output, what mostly says
// how it went.
func lastLine(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func sayChanges(raw json.RawMessage) string {
	var changes []core.FileEdit
	_ = json.Unmarshal(raw, &changes)
	words := make([]string, len(changes))
	for i, c := range changes {
		words[i] = fmt.Sprintf("%s %s", c.Kind, c.Path)
	}
	return some(words, shownFiles)
}

func sayPlan(raw json.RawMessage) string {
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

func sayRequest(raw json.RawMessage) string {
	var q core.Request
	_ = json.Unmarshal(raw, &q)
	about := q.Prompt
	if q.Details != nil {
		about = first(q.Details.Command, q.Details.Path, about)
	}
	return fmt.Sprintf("asks, %s: %s", strings.ReplaceAll(string(q.Kind), "_", " "), about)
}

func sayResultOf(d map[string]json.RawMessage) string {
	var r struct {
		Text  string          `json:"text"`
		Error *core.TurnError `json:"error"`
	}
	_ = json.Unmarshal(d["result"], &r)
	var reason string
	_ = json.Unmarshal(d["reason"], &reason)
	if r.Error != nil {
		return fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message)
	}
	return first(reason, r.Text)
}

// sayEvent is an event in the text half of a replay.
func sayEvent(o *eventObject, view string) string {
	head := fmt.Sprintf("%d ", o.Seq)
	if o.SeqFirst > 0 {
		head = fmt.Sprintf("%d-%d ", o.SeqFirst, o.Seq)
	}
	switch view {
	case viewSummary:
		var d struct{ Summary string }
		_ = json.Unmarshal(o.Data, &d)
		return head + d.Summary
	case viewEvents, viewRaw:
		return string(encode(o))
	}
	if o.At != nil {
		head += o.At.Format(time.TimeOnly) + " "
	}
	if o.asked != nil {
		return head + string(o.Type) + ":\n" + o.asked.ask()
	}
	return head + string(o.Type) + sayData(o)
}

// sayData says the data of an event: its text as text, anything else as JSON.
func sayData(o *eventObject) string {
	var d map[string]json.RawMessage
	if json.Unmarshal(o.Data, &d) != nil || len(d) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(d["text"], &text) != nil || d["text"] == nil {
		return " " + string(o.Data)
	}
	delete(d, "text")
	delete(d, "item")
	if len(d) > 0 {
		text = string(encode(d)) + " " + text
	}
	if strings.Contains(text, "\n") {
		return ":\n" + strings.TrimRight(text, "\n")
	}
	return ": " + text
}
