package tools

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
)

// completeKey names the complete event that deltas of one kind add up to.
type completeKey struct {
	item string
	typ  core.EventType // of the whole
}

// completeType returns the type of the event that holds complete what deltas of
// type t are parts of, "" if there is none.
func completeType(t core.EventType) core.EventType {
	switch t {
	case core.TypeMessageDelta:
		return core.TypeMessage
	case core.TypeReasoningDelta:
		return core.TypeReasoning
	case core.TypeToolDelta, core.TypeCommandOutputDelta:
		return core.TypeToolCompleted
	}
	return ""
}

// deltaData is what the data of deltas, of complete events and of process
// output have in common.
type deltaData struct {
	Item   string  `json:"item,omitempty"`
	Text   string  `json:"text"`
	Output *string `json:"output,omitempty"`
	Base64 string  `json:"base64,omitempty"`
}

func readDelta(e core.Event) deltaData {
	var d deltaData
	_ = json.Unmarshal(e.Data, &d) // data of another shape has no item
	return d
}

// deltaMerger merges the deltas of one item, and adjacent output of one stream,
// into one event each. A delta whose complete event is in the same window of
// the journal is left out.
type deltaMerger struct {
	complete map[completeKey]bool
	open     map[mergeKey]*mergedEvent
	last     *mergedEvent // the newest event of the page, if that is output
}

// mergeKey names the event to which further deltas are appended.
type mergeKey struct {
	turn, item string
	typ        core.EventType
}

// mergedEvent is an event to which others are appended. Its data is encoded
// once, by write.
type mergedEvent struct {
	event *eventObject
	item  string
	data  []byte
}

func newDeltaMerger() *deltaMerger {
	return &deltaMerger{complete: map[completeKey]bool{}, open: map[mergeKey]*mergedEvent{}}
}

// scan records the complete events of a window of the journal.
func (j *deltaMerger) scan(window []core.Event) {
	for _, e := range window {
		switch e.Type {
		case core.TypeMessage, core.TypeReasoning, core.TypeToolCompleted:
			d := readDelta(e)
			// A tool that ended without output has it in its deltas.
			if e.Type == core.TypeToolCompleted && (d.Output == nil || *d.Output == "") {
				continue
			}
			j.complete[completeKey{d.Item, e.Type}] = true
		}
	}
}

// skip reports whether an event is left out because its complete event follows.
func (j *deltaMerger) skip(e core.Event) bool {
	w := completeType(e.Type)
	return w != "" && j.complete[completeKey{readDelta(e).Item, w}]
}

// mergeable reports whether events of a type are merged.
func mergeable(t core.EventType) bool {
	return t.IsDelta() || t == core.TypeStdout || t == core.TypeStderr
}

// find returns the event of the page that e continues, nil if there is none.
func (j *deltaMerger) find(e core.Event) *mergedEvent {
	if e.Type.IsDelta() {
		return j.open[mergeKey{e.TurnID, readDelta(e).Item, e.Type}]
	}
	if mergeable(e.Type) && j.last != nil && j.last.event.Type == e.Type {
		return j.last
	}
	return nil
}

// added records a new event of the page, which later events may continue.
func (j *deltaMerger) added(o *eventObject, e core.Event) {
	j.last = nil
	if !mergeable(e.Type) {
		return
	}
	p := &mergedEvent{event: o, item: readDelta(e).Item, data: deltaBytes(e)}
	if e.Type.IsDelta() {
		j.open[mergeKey{e.TurnID, p.item, e.Type}] = p
	} else {
		j.last = p
	}
}

// append adds the data of e.
func (p *mergedEvent) append(e core.Event) {
	if p.event.SeqFirst == 0 {
		p.event.SeqFirst = p.event.Seq
	}
	p.event.Seq = e.Seq
	p.data = append(p.data, deltaBytes(e)...)
	p.event.merged = p
}

// write encodes the merged data into the event.
func (p *mergedEvent) write() {
	if p.event.Type.IsDelta() {
		p.event.Data = encode(deltaData{Item: p.item, Text: string(p.data)})
		return
	}
	p.event.Data = encode(outputData(p.data))
}

func deltaBytes(e core.Event) []byte {
	d := readDelta(e)
	if d.Base64 == "" {
		return []byte(d.Text)
	}
	b, _ := base64.StdEncoding.DecodeString(d.Base64) // core encoded it, so it is valid
	return b
}

func outputData(b []byte) core.OutputData {
	if utf8.Valid(b) {
		return core.OutputData{Text: string(b)}
	}
	return core.OutputData{Base64: base64.StdEncoding.EncodeToString(b)}
}
