package machine

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// LastWords is what the journal has of the end of a turn whose server is gone.
type LastWords struct {
	Said  core.Message // the last one; its parts joined when it never became whole
	Parts bool         // it never became whole
	Seq   uint64       // of the event that has it whole
	At    time.Time    // of the turn's last event
}

// Back takes from events, the last of them first, what belongs to the last
// message. It gives how many bytes that is and whether more may stand before.
func (w *LastWords) Back(events []core.Event, parts *[]string) (size int, more bool) {
	for _, e := range slices.Backward(events) {
		if e.Type == core.TypeMessage {
			if !w.Parts {
				w.Seq = e.Seq
				_ = json.Unmarshal(e.Data, &w.Said) // our own; else it is as if nothing was said
			}
			return size, false
		}
		var d core.MessageDelta
		if json.Unmarshal(e.Data, &d) != nil || w.Parts && d.Item != w.Said.Item {
			continue
		}
		w.Parts, w.Said.Item, w.Said.Partial = true, d.Item, true
		*parts = append(*parts, d.Text)
		size += len(d.Text)
	}
	return size, true
}

// recall gives a turn its last words. A part of a message becomes one, as at
// every other cut.
func (m *machine) recall(t *ActiveTurn) {
	if t == nil || t.Last.At.IsZero() {
		return
	}
	t = m.edit(t)
	if t.Last.Parts {
		m.append(core.TypeMessage, t.Last.Said, ofTurn(t.Rec.ID))
	}
	t.Text, t.HasText = t.Last.Said.Text, t.Last.Said.Item != "" || t.Last.Said.Text != ""
}
