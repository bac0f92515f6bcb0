package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// item is something between its start and its end: a block that the model
// streams, or the use of a tool.
type item struct {
	id     string // its name in notices
	ref    string // the CLI's id, of a tool use
	kind   string // wire.Text, wire.Thinking or wire.ToolUse
	text   link.Text
	deltas bool // there were some

	tool   string // its name
	status core.ToolStatus
}

// items are the open items of a turn, oldest first.
type items struct {
	message string // id of the message that is being streamed
	list    []*item
}

// find returns the open use of a tool.
func (l *items) find(ref string) *item {
	for _, it := range l.list {
		if it.kind == wire.ToolUse && it.ref == ref {
			return it
		}
	}
	return nil
}

// newItem makes an item whose name nothing else in the session has or had.
func (t *translator) newItem(name, kind string) *item {
	it := &item{id: name, kind: kind}
	for n := 2; it.id == "" || t.used[it.id]; n++ {
		it.id = fmt.Sprintf("%s~%d", name, n)
	}
	if len(t.used) >= maxItems {
		clear(t.used)
	}
	t.used[it.id] = true
	return it
}

// openBlock returns the block that is being streamed, nil for none.
func (l *items) openBlock(kind string) *item {
	for _, it := range l.list {
		if it.kind == kind {
			return it
		}
	}
	return nil
}

func (l *items) remove(it *item) {
	l.list = slices.DeleteFunc(l.list, func(o *item) bool { return o == it })
}

func (l *items) bytes() int {
	n := 0
	for _, it := range l.list {
		n += it.text.Len()
	}
	return n
}

// tools reports whether a tool is in use.
func (l *items) tools() bool { return l.openBlock(wire.ToolUse) != nil }

// streamEvent handles an event of the model's stream. Arguments of tools are left
// to the whole block, and so is what only frames the blocks.
func (t *translator) streamEvent(raw []byte) {
	var m wire.Event
	if !t.decode(wire.StreamEvent, raw, &m) {
		return
	}
	u, e := t.running, &m.Event
	if u == nil {
		t.event("stream_event: "+e.Type, raw)
		return
	}
	switch e.Type {
	case wire.MessageStart:
		t.closeTexts(u) // the open text is sent again, or never
		u.items.message = e.Message.ID
	case wire.BlockStart:
		if e.ContentBlock.Type == wire.Text || e.ContentBlock.Type == wire.Thinking {
			t.closeTexts(u)
			it := t.newItem(fmt.Sprintf("%s-%d", u.items.message, e.Index), e.ContentBlock.Type)
			u.items.list = append(u.items.list, it)
		}
	case wire.BlockDelta:
		switch e.Delta.Type {
		case wire.TextDelta:
			t.delta(u, wire.Text, e.Delta.Text, raw)
		case wire.ThinkingDelta:
			t.delta(u, wire.Thinking, e.Delta.Thinking, raw)
		}
	}
}

// delta reports a piece of the open text.
func (t *translator) delta(u *turn, kind, text string, raw json.RawMessage) {
	it := u.items.openBlock(kind)
	if it == nil || text == "" {
		return
	}
	it.text.Add(text, u.items.bytes()-it.text.Len(), maxOpenText)
	it.deltas = true
	t.content(it.piece(text), raw)
}

func (it *item) piece(text string) core.Payload {
	return link.Delta(it.kind == wire.Thinking, it.id, text)
}

func (it *item) whole(text string, partial bool) core.Payload {
	return link.Whole(it.kind == wire.Thinking, it.id, text, partial)
}

// assistant handles a finished block of the model's.
func (t *translator) assistant(h wire.Head, raw json.RawMessage) {
	var m wire.AssistantMessage
	if !t.decode(wire.Assistant, raw, &m) {
		return
	}
	if t.running == nil {
		t.event(wire.Assistant, raw)
		return
	}
	u := t.running
	if m.Error != "" {
		t.apiError(u, m, raw)
		return
	}
	// Old versions do not mark what an interrupt cut.
	partial := m.Aborted || u.stopping && !t.lifecycle
	for i, b := range m.Message.Content {
		switch b.Type {
		case wire.Text, wire.Thinking:
			t.textBlock(u, b, fmt.Sprintf("%s-%d", h.UUID, i), m.Message.ID, partial, raw)
		case wire.ToolUse:
			t.closeTexts(u)
			t.toolUse(u, b, raw)
		default:
			t.event("assistant: "+b.Type, raw)
		}
	}
}

// apiError handles the CLI's own message about a model call that failed and is
// not tried again.// The result reports the same; it is no answer of the model's.
func (t *translator) apiError(u *turn, m wire.AssistantMessage, raw json.RawMessage) {
	t.closeTexts(u)
	u.failure = m.Error
	var text strings.Builder
	for _, b := range m.Message.Content {
		text.WriteString(b.Text)
	}
	t.content(core.ProviderError{Message: cmp.Or(text.String(), m.Error), Code: m.Error}, raw)
}

// textBlock reports a whole text: that of the block that is being streamed, or one
// that was not streamed at all.
func (t *translator) textBlock(u *turn, b wire.Block, id, message string, partial bool, raw json.RawMessage) {
	text := b.Text + b.Thinking
	it := u.items.openBlock(b.Type)
	if it == nil || message != u.items.message {
		t.closeTexts(u)
		it = t.newItem(id, b.Type)
	}
	u.items.remove(it)
	if text == "" && !it.deltas {
		return
	}
	// Deltas that lack their last piece get it, so that they join to the whole.
	// Where they differ otherwise only the whole text is true.
	rest, ok := strings.CutPrefix(text, it.text.String())
	switch {
	case !ok && !it.text.Lost:
		t.content(it.whole(it.text.String(), true), nil)
		it = t.newItem(id, b.Type)
	case rest != "" && it.deltas && !it.text.Lost:
		t.content(it.piece(rest), nil)
	}
	t.content(it.whole(text, partial), raw)
	if b.Type == wire.Text {
		u.hasMessage = true
	}
}

// closeTexts closes the text that the model was writing: it will not complete.
func (t *translator) closeTexts(u *turn) {
	for _, it := range slices.Clone(u.items.list) {
		if it.kind == wire.ToolUse {
			continue
		}
		u.items.remove(it)
		if it.deltas {
			t.content(it.whole(it.text.String(), true), nil)
			u.hasMessage = u.hasMessage || it.kind == wire.Text
		}
	}
}

// closeItems closes everything that is open.
func (t *translator) closeItems(u *turn, stopped bool) {
	t.closeTexts(u)
	for _, it := range u.items.list {
		done := core.ToolCompleted{Item: it.id, Status: core.ToolCancelled}
		if !stopped {
			done.Error = "the turn ended before the tool did"
		}
		t.content(done, nil)
	}
	u.items.list = nil
}
