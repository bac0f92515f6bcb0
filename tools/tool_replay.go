package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

type replayArgs struct {
	ID       string   `arg:"id,required" doc:"session, process, or turn: its events only"`
	After    *int64   `arg:"after" min:"0" doc:"a reply's cursor"`
	Limit    *int64   `arg:"limit" min:"1" max:"1000" doc:"default 100"`
	Types    []string `arg:"types" doc:"event types"`
	View     string   `arg:"view" enum:"joined|summary|events|raw"`
	MaxBytes *int64   `arg:"max_bytes" min:"1" max:"1048576" doc:"default 8192"`
	Tail     *int64   `arg:"tail" min:"1" max:"1000" doc:"the last n instead"`
}

// The views of a journal.
const (
	viewJoined  = "joined"
	viewSummary = "summary"
	viewEvents  = "events"
	viewRaw     = "raw"
)

func (a replayArgs) view() string { return firstNonEmpty(a.View, viewJoined) }

func (a replayArgs) after() uint64 { return uint64(intOr(a.After, 0)) }

func (a replayArgs) limit() int { return int(intOr(a.Limit, defaultReplayLimit)) }

var replayTool = tool[replayArgs, *replayObject]{
	name:  "replay",
	title: "Replay the journal",
	description: "Read back what happened in a session, turn or process, in order, from a cursor: messages, tools, " +
		"commands, output, approvals. view summary is one line per step, joined (default) whole messages, events and " +
		"raw for debugging. Pages of 8 KB: pass the reply's cursor as after. tail n for the last ones. " +
		"Works after the end and after a restart.",
	hints:  reads,
	meta:   mayBeLong,
	output: replayOutput,
	run: func(ctx context.Context, c *call, in replayArgs) (*replayObject, error) {
		if err := knownTypes(in.Types); err != nil {
			return nil, err
		}
		c.maxBytes(in.MaxBytes)
		o, err := c.eventPage(ctx, in)
		if err != nil {
			return nil, err
		}
		c.afterReplay(o, in)
		return o, nil
	},
}

// knownTypes returns an error for types that no event has.
func knownTypes(words []string) error {
	known := convertStrings[string](core.EventTypes())
	r := reader{}
	for _, w := range words {
		if !slices.Contains(known, w) {
			r.wrongWord("types", w, known)
		}
	}
	if len(r.problems) == 0 {
		return nil
	}
	return core.Errorf(core.CodeInvalidArgument, "%s", strings.Join(r.problems, "; ")).
		WithHint("Event types are: %s.", strings.Join(known, ", "))
}

// replayObject is a page of a journal.
type replayObject struct {
	untruncated
	Cursor        uint64 `json:"cursor"`
	More          bool   `json:"more"`
	AvailableFrom uint64 `json:"available_from,omitempty"`
	nexts
	Events []*eventObject `json:"events"`

	View     string `json:"-"`
	resource string // whose journal it is
	turn     string
	beyond   uint64 // the caller's cursor, when the journal ends before it
}

func (c *call) afterReplay(o *replayObject, in replayArgs) {
	switch {
	case o.More && in.Tail == nil:
		a := args{"id": in.ID, "after": o.Cursor}
		if in.View != "" {
			a["view"] = in.View
		}
		if len(in.Types) > 0 {
			a["types"] = in.Types
		}
		if in.Limit != nil {
			a["limit"] = *in.Limit
		}
		if in.MaxBytes != nil {
			a["max_bytes"] = *in.MaxBytes
		}
		o.suggest("replay", "the next page", a)
	case in.view() == viewSummary && len(o.Events) > 0:
		o.suggest("replay", "the same in full", args{"id": in.ID, "after": in.after()})
	}
	for _, e := range o.Events {
		if e.Truncated {
			o.suggest("replay", fmt.Sprintf("event %d whole", e.Seq), args{
				"id": in.ID, "after": e.Seq - 1, "limit": 1, "max_bytes": maxBudget})
		}
	}
}

// withoutRepeatedText removes from the end of a turn, in the joined view, the
// answer that the event before it in the text half has shown.
func withoutRepeatedText(e *eventObject, said, view string) *eventObject {
	if view != viewJoined || said == "" || !e.Type.EndsTurn() {
		return e
	}
	var data, result map[string]json.RawMessage
	if json.Unmarshal(e.Data, &data) != nil || json.Unmarshal(data["result"], &result) != nil ||
		textOf(data["result"]) != said {
		return e
	}
	delete(result, "text")
	data["result"] = encode(result)
	short := *e
	short.Data = encode(data)
	return &short
}

func textOf(data json.RawMessage) string {
	var d struct{ Text string }
	_ = json.Unmarshal(data, &d) // "" without a text
	return d.Text
}

func (o *replayObject) prose() prose {
	of := o.resource
	if o.turn != "" {
		of = o.turn + " in " + o.resource
	}
	line := fmt.Sprintf("%s of %s, cursor %d.", proseCount(len(o.Events), "event"), of, o.Cursor)
	if o.More {
		line = strings.TrimSuffix(line, ".") + ", more follow."
	}
	if o.beyond > 0 {
		line += fmt.Sprintf(" Nothing is behind %d: the journal ends at %d.", o.beyond, o.Cursor)
	}
	if o.AvailableFrom > 0 {
		line += fmt.Sprintf(" Events before %d are gone.", o.AvailableFrom)
	}
	lines := make([]string, len(o.Events))
	said := ""
	for i, e := range o.Events {
		lines[i] = proseEvent(withoutRepeatedText(e, said, o.View), o.View)
		if e.Type == core.TypeMessage {
			said = textOf(e.Data)
		}
	}
	return prose{lines: []string{line}, content: strings.Join(lines, "\n")}
}
