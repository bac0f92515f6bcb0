package harness

import (
	"context"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/machine"
)

// Bounds of reading them, in bytes: of one page, and of the parts of a message,
// whose end is kept.
const (
	lastWordsPage = 1 << 20
	maxLastWords  = 4 << 20
)

// readLastWords completes the turns that run in a state of a dead server, and
// where their texts stand.
func (h *Harness) readLastWords(ctx context.Context, st machine.State, spans map[string]span) (err error) {
	for _, t := range []*machine.ActiveTurn{st.Theirs, st.Turn} {
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

// LastWords reads the end of a turn from the journal, from its last event back
// to where its last message begins.
func (h *Harness) lastWords(ctx context.Context, t core.Turn) (machine.LastWords, error) {
	var w machine.LastWords
	q := core.EventQuery{Owner: t.Owner, Resource: t.SessionID, TurnID: t.ID, Tail: true, Limit: 1}
	events, err := h.store.Events(ctx, q)
	if err != nil || len(events) == 0 {
		return w, err
	}
	w.At = events[0].At
	var parts []string // the last first
	size := 0
	q.Types, q.Limit, q.MaxBytes = []core.EventType{core.TypeMessage, core.TypeMessageDelta}, core.MaxPage, lastWordsPage
	for size < maxLastWords {
		if events, err = h.store.Events(ctx, q); err != nil || len(events) == 0 {
			break
		}
		n, more := w.Back(events, &parts)
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
