package core

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// lastWords is what the journal has of the end of a turn whose server is gone.
type lastWords struct {
	Said  Message   // the last one; its parts joined when it never became whole
	Parts bool      // it never became whole
	Seq   uint64    // of the event that has it whole
	At    time.Time // of the turn's last event
}

// Bounds of reading them, in bytes: of one page, and of the parts of a message,
// whose end is kept.
const (
	lastWordsPage = 1 << 20
	maxLastWords  = 4 << 20
)

// readLastWords completes the turns that run in a state of a dead server, and
// where their texts stand.
func (h *Harness) readLastWords(ctx context.Context, st State, spans map[string]span) (err error) {
	for _, t := range []*ActiveTurn{st.Theirs, st.Turn} {
		if t == nil {
			continue
		}
		if t.Last, err = h.lastWords(ctx, t.Rec); err != nil {
			return err
		}
		s := spans[t.Rec.ID]
		s.text = t.Last.Seq
		spans[t.Rec.ID] = s
	}
	return nil
}

// lastWords reads the end of a turn from the journal, from its last event back
// to where its last message begins.
func (h *Harness) lastWords(ctx context.Context, t Turn) (lastWords, error) {
	var w lastWords
	q := EventQuery{Owner: t.Owner, Resource: t.SessionID, TurnID: t.ID, Tail: true, Limit: 1}
	events, err := h.store.Events(ctx, q)
	if err != nil || len(events) == 0 {
		return w, err
	}
	w.At = events[0].At
	var parts []string // the last first
	size := 0
	q.Types, q.Limit, q.MaxBytes = []EventType{TypeMessage, TypeMessageDelta}, maxReplayPage, lastWordsPage
	for size < maxLastWords {
		if events, err = h.store.Events(ctx, q); err != nil || len(events) == 0 {
			break
		}
		n, more := w.back(events, &parts)
		size += n
		if q.Until = events[0].Seq - 1; !more || q.Until == 0 {
			break
		}
	}
	if w.Parts {
		slices.Reverse(parts)
		w.Said.Text = strings.Join(parts, "")
	}
	return w, err
}

// back takes from events, the last of them first, what belongs to the last
// message. It gives how many bytes that is and whether more may stand before.
func (w *lastWords) back(events []Event, parts *[]string) (size int, more bool) {
	for _, e := range slices.Backward(events) {
		if e.Type == TypeMessage {
			if !w.Parts {
				w.Seq = e.Seq
				_ = json.Unmarshal(e.Data, &w.Said) // our own; else it is as if nothing was said
			}
			return size, false
		}
		var d MessageDelta
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
		m.append(TypeMessage, t.Last.Said, ofTurn(t.Rec.ID))
	}
	t.Text, t.HasText = t.Last.Said.Text, t.Last.Said.Item != "" || t.Last.Said.Text != ""
}
