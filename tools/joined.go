package tools

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
)

// itemKey names what deltas of one kind add up to.
type itemKey struct {
	item string
	typ  core.EventType // of the whole
}

// wholeType is the event that carries whole what deltas of t are pieces of.
func wholeType(t core.EventType) core.EventType {
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

// pieceData is what the data of deltas, of the events that carry them whole and
// of process output have in common.
type pieceData struct {
	Item   string  `json:"item,omitempty"`
	Text   string  `json:"text"`
	Output *string `json:"output,omitempty"`
	Base64 string  `json:"base64,omitempty"`
}

func readPiece(e core.Event) pieceData {
	var d pieceData
	_ = json.Unmarshal(e.Data, &d) // data of another shape has no item
	return d
}

// joiner merges deltas of one item, and neighbouring output of one stream, into
// one event each. A delta whose whole stands in the same window of the journal
// is left out.
type joiner struct {
	wholes map[itemKey]bool
	open   map[pieceKey]*piece
	last   *piece // the newest event of the page, if that is output
}

// pieceKey names the event that takes further deltas.
type pieceKey struct {
	turn, item string
	typ        core.EventType
}

// piece is an event that grows. Its data is written once, by finish.
type piece struct {
	event *eventObject
	item  string
	data  []byte
}

func newJoiner() *joiner {
	return &joiner{wholes: map[itemKey]bool{}, open: map[pieceKey]*piece{}}
}

// look notes the wholes in a window of the journal.
func (j *joiner) look(window []core.Event) {
	for _, e := range window {
		switch e.Type {
		case core.TypeMessage, core.TypeReasoning, core.TypeToolCompleted:
			d := readPiece(e)
			// A tool that ended without output leaves it to its deltas.
			if e.Type == core.TypeToolCompleted && (d.Output == nil || *d.Output == "") {
				continue
			}
			j.wholes[itemKey{d.Item, e.Type}] = true
		}
	}
}

// skip says whether an event is left out because its whole follows.
func (j *joiner) skip(e core.Event) bool {
	w := wholeType(e.Type)
	return w != "" && j.wholes[itemKey{readPiece(e).Item, w}]
}

// joinable says whether events of a type merge.
func joinable(t core.EventType) bool {
	return t.IsDelta() || t == core.TypeStdout || t == core.TypeStderr
}

// find gives the piece of the page that e continues, nil for none.
func (j *joiner) find(e core.Event) *piece {
	if e.Type.IsDelta() {
		return j.open[pieceKey{e.TurnID, readPiece(e).Item, e.Type}]
	}
	if joinable(e.Type) && j.last != nil && j.last.event.Type == e.Type {
		return j.last
	}
	return nil
}

// added notes a new event of the page, as a piece if others can continue it.
func (j *joiner) added(o *eventObject, e core.Event) {
	j.last = nil
	if !joinable(e.Type) {
		return
	}
	p := &piece{event: o, item: readPiece(e).Item, data: pieceBytes(e)}
	if e.Type.IsDelta() {
		j.open[pieceKey{e.TurnID, p.item, e.Type}] = p
	} else {
		j.last = p
	}
}

// grow adds an event to a piece.
func (p *piece) grow(e core.Event) {
	if p.event.SeqFirst == 0 {
		p.event.SeqFirst = p.event.Seq
	}
	p.event.Seq = e.Seq
	p.data = append(p.data, pieceBytes(e)...)
	p.event.joined = p
}

// write makes the event's data of what came together.
func (p *piece) write() {
	if p.event.Type.IsDelta() {
		p.event.Data = encode(pieceData{Item: p.item, Text: string(p.data)})
		return
	}
	p.event.Data = encode(outputData(p.data))
}

func pieceBytes(e core.Event) []byte {
	d := readPiece(e)
	if d.Base64 == "" {
		return []byte(d.Text)
	}
	b, _ := base64.StdEncoding.DecodeString(d.Base64) // core wrote it
	return b
}

func outputData(b []byte) core.OutputData {
	if utf8.Valid(b) {
		return core.OutputData{Text: string(b)}
	}
	return core.OutputData{Base64: base64.StdEncoding.EncodeToString(b)}
}
