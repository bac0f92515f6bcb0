package harness

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// Bounds of reading a recovered text, in bytes: of one page, and of the parts
// of a message, whose end is kept.
const (
	recoveredPage = 1 << 20
	maxRecovered  = 4 << 20
)

// readRecovered completes the active turns of a state whose server has died
// with what the journal has of their ends, and spans with where their texts are.
func (h *Harness) readRecovered(ctx context.Context, st machine.State, spans map[string]span) (err error) {
	for t := range st.Turns() {
		if t.Recovered, err = h.recoveredText(ctx, t.Rec); err != nil {
			return err
		}
		s := spans[t.Rec.ID]
		s.text = t.Recovered.Seq
		spans[t.Rec.ID] = s
	}
	return nil
}

// RecoveredText reads the end of a turn from the journal, from its last event back
// to where its last message begins, and at most maxRecovered bytes of it.
func (h *Harness) recoveredText(ctx context.Context, t core.Turn) (machine.RecoveredText, error) {
	var r recoveredReader
	q := core.EventQuery{Owner: t.Owner, Resource: t.SessionID, TurnID: t.ID, Tail: true, Limit: 1}
	events, err := h.store.Events(ctx, q)
	if err != nil || len(events) == 0 {
		return r.text, err
	}
	r.text.At = events[0].At
	q.Types, q.Limit, q.MaxBytes = []core.EventType{core.TypeMessage, core.TypeMessageDelta}, core.MaxPage, recoveredPage
	for r.size < maxRecovered {
		if events, err = h.store.Events(ctx, q); err != nil || len(events) == 0 {
			break
		}
		more := r.back(events)
		if q.Until = events[0].Seq - 1; !more || q.Until == 0 {
			break
		}
	}
	if r.text.Parts {
		slices.Reverse(r.parts)
		r.text.Message.Text = strings.Join(r.parts, "")
	}
	return r.text, err
}

// recoveredReader collects the last message of a turn from pages of its
// journal that are read backwards.
type recoveredReader struct {
	text  machine.RecoveredText
	parts []string // of a message that never became whole, the last first
	size  int      // of parts, in bytes
}

// back takes from events, the last of them first, what belongs to the last
// message. It reports whether more of it may be before them.
func (r *recoveredReader) back(events []core.Event) (more bool) {
	w := &r.text
	for _, e := range slices.Backward(events) {
		if e.Type == core.TypeMessage {
			if !w.Parts {
				w.Seq = e.Seq
				_ = json.Unmarshal(e.Data, &w.Message) // written by this program; one that fails counts as no message
			}
			return false
		}
		var d core.MessageDelta
		if json.Unmarshal(e.Data, &d) != nil || w.Parts && d.Item != w.Message.Item {
			continue
		}
		w.Parts, w.Message.Item, w.Message.Partial = true, d.Item, true
		r.parts = append(r.parts, d.Text)
		r.size += len(d.Text)
	}
	return true
}
