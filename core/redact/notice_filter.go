package redact

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// maxStreams is how many items of one conversation may have deltas under way.
// Beyond it the oldest is given up: what it held back is shown, and only a
// secret that is cut right there could be missed.
const maxStreams = 256

// NoticeFilter removes secrets from the notices of one conversation. The
// deltas of an item are one text: it holds back the end of a delta only as far
// as that may be the beginning of a secret, returns it with the next delta,
// and at the latest right before the event that ends the item or the turn. It
// is used by one goroutine.
type NoticeFilter struct {
	// DropRaw removes the provider's frames.
	DropRaw bool

	r       *Redactor
	streams map[streamKey]*TextFilter
	order   []streamKey // oldest first
	out     []core.Notice
}

type streamKey struct {
	turn, item string
	typ        core.EventType
}

// Filter returns a filter for one conversation.
func (r *Redactor) Filter() *NoticeFilter {
	return &NoticeFilter{r: r, streams: map[streamKey]*TextFilter{}}
}

// Filter returns n without secrets, after the deltas that were held back and
// must come before it. It drops no notice; of a delta that is held back whole
// the text is empty. The slice is valid until the next
// call.
func (f *NoticeFilter) Filter(n core.Notice) []core.Notice {
	clear(f.out)
	f.out = f.out[:0]
	same := n
	switch n := n.(type) {
	case core.Content:
		f.content(n, same)
	case core.TurnEnded:
		f.flush(func(k streamKey) bool { return k.turn == n.Turn })
		n.Result, n.Raw = f.r.Result(n.Result), f.frame(n.Raw)
		f.out = append(f.out, n)
	default:
		f.out = append(f.out, f.notice(n))
	}
	return f.out
}

// Flush returns all that is still held back, for the end of the conversation.
// The slice is valid until the next call.
func (f *NoticeFilter) Flush() []core.Notice {
	clear(f.out)
	f.out = f.out[:0]
	f.flush(func(streamKey) bool { return true })
	return f.out
}

// content filters n. same is n as an interface value: it is returned where
// nothing changed, so that a delta is not allocated again.
func (f *NoticeFilter) content(n core.Content, same core.Notice) {
	if item, text, ok := core.DeltaParts(n.Payload); ok {
		f.delta(n, same, item, text)
		return
	}
	switch p := n.Payload.(type) {
	case core.Message:
		f.endItem(n.Turn, p.Item, core.TypeMessageDelta)
	case core.Reasoning:
		f.endItem(n.Turn, p.Item, core.TypeReasoningDelta)
	case core.ToolCompleted:
		f.endItem(n.Turn, p.Item, core.TypeToolDelta, core.TypeCommandOutputDelta)
	default:
		if p.EventType().IsDelta() {
			f.unknownDelta(n)
			return
		}
	}
	n.Payload, n.Raw = f.r.Payload(n.Payload), f.frame(n.Raw)
	f.out = append(f.out, n)
}

// unknownDelta takes a delta of an unknown type as the known delta of the same
// event type. Looked through by itself, it could hold half of a secret.
func (f *NoticeFilter) unknownDelta(n core.Content) {
	var d struct{ Item, Text string }
	if err := json.Unmarshal(core.EncodeData(n.Payload), &d); err != nil {
		d.Text = "" // without a text there is nothing to show
	}
	n.Payload = deltaOf(n.Payload.EventType(), d.Item, d.Text)
	f.delta(n, n, d.Item, d.Text)
}

// delta filters one delta in the stream of its item. The frame is changed in the
// same way as the text: otherwise it would show what the text does not.
func (f *NoticeFilter) delta(n core.Content, same core.Notice, item, text string) {
	s := f.stream(streamKey{n.Turn, item, n.Payload.EventType()})
	shown := s.writeLong(text)
	if shown == text && len(n.Raw) == 0 {
		f.out = append(f.out, same)
		return
	}
	if shown != text {
		n.Raw = f.deltaFrame(n.Raw, text, shown)
		n.Payload = deltaOf(n.Payload.EventType(), item, shown)
	} else {
		n.Raw = f.frame(n.Raw)
	}
	f.out = append(f.out, n)
}

// stream returns the filter of an item's deltas and creates it at the first one.
// At maxStreams it flushes the oldest stream before.
func (f *NoticeFilter) stream(k streamKey) *TextFilter {
	s := f.streams[k]
	if s == nil {
		if len(f.order) == maxStreams {
			oldest := f.order[0]
			f.flush(func(k streamKey) bool { return k == oldest })
		}
		s = f.r.TextFilter()
		f.streams[k] = s
		f.order = append(f.order, k)
	}
	return s
}

// endItem flushes the streams of an item. It is called before the event that
// ends the item is added, so that held text keeps its place before that event.
func (f *NoticeFilter) endItem(turn, item string, types ...core.EventType) {
	if len(f.order) == 0 {
		return
	}
	f.flush(func(k streamKey) bool {
		return k.turn == turn && k.item == item && slices.Contains(types, k.typ)
	})
}

// flush ends the streams that end reports true for, oldest first.
func (f *NoticeFilter) flush(end func(streamKey) bool) {
	f.order = slices.DeleteFunc(f.order, func(k streamKey) bool {
		if !end(k) {
			return false
		}
		s := f.streams[k]
		delete(f.streams, k)
		if shown := s.Flush(); shown != "" {
			f.out = append(f.out, core.Content{Turn: k.turn, Payload: deltaOf(k.typ, k.item, shown)})
		}
		return true
	})
}

// deltaOf returns the delta payload of type t. An unknown type becomes a
// MessageDelta.
func deltaOf(t core.EventType, item, text string) core.Payload {
	switch t {
	case core.TypeReasoningDelta:
		return core.ReasoningDelta{Item: item, Text: text}
	case core.TypeToolDelta:
		return core.ToolDelta{Item: item, Text: text}
	case core.TypeCommandOutputDelta:
		return core.CommandOutputDelta{Item: item, Text: text}
	}
	return core.MessageDelta{Item: item, Text: text}
}

// frame returns what is kept of a frame.
func (f *NoticeFilter) frame(raw json.RawMessage) json.RawMessage {
	if f.DropRaw {
		return nil
	}
	return f.r.boundFrame(raw)
}

// deltaFrame rewrites the frame of a delta whose text was changed: the frame
// alone does not show a secret that was cut over two of them. The text is
// looked for as it is and in base64; a frame that has it in neither form is
// not kept.
func (f *NoticeFilter) deltaFrame(raw json.RawMessage, text, shown string) json.RawMessage {
	switch {
	case len(raw) == 0 || f.DropRaw:
		return nil
	case len(raw) > core.MaxRaw: // its beginning may be the end of a secret
		return core.TruncatedFrame(len(raw), Redacted)
	}
	found := false
	coded := base64.StdEncoding.EncodeToString([]byte(text))
	raw = f.r.walk(raw, jsonWalk{names: true, subst: func(s string) (string, bool) {
		switch s {
		case text:
			found = true
			return shown, true
		case coded:
			found = true
			return base64.StdEncoding.EncodeToString([]byte(shown)), true
		}
		return "", false
	}})
	if !found {
		return json.RawMessage(quote(Redacted))
	}
	return core.JsonFrame(raw)
}

// notice is for all that is neither content nor the end of a turn.
func (f *NoticeFilter) notice(n core.Notice) core.Notice {
	switch n := n.(type) {
	case core.OpDone:
		n.Err, n.Raw = f.r.Error(n.Err), f.frame(n.Raw)
		return n
	case core.TurnBegan:
		n.Prompt, n.Raw = f.r.boundText(n.Prompt), f.frame(n.Raw)
		return n
	case core.RequestRaised:
		n.Spec, n.Raw = f.r.RequestSpec(n.Spec), f.frame(n.Raw)
		return n
	case core.RequestWithdrawn:
		n.Raw = f.frame(n.Raw)
		return n
	case core.SessionChanged:
		n.Model, n.Raw = f.r.String(n.Model), f.frame(n.Raw)
		return n
	}
	return n
}
