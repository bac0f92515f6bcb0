package codex

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// openItem is an item between its start and its end.
type openItem struct {
	wire.Item
	text   link.Text // its deltas, for messages and reasoning
	deltas bool      // there were some
	part   int       // of the reasoning that is being streamed
	asked  bool      // an approval was asked for and not given
}

// items are the open items of a turn, oldest first.
type items struct{ list []*openItem }

func (l *items) find(id string) *openItem {
	for _, it := range l.list {
		if it.ID == id {
			return it
		}
	}
	return nil
}

func (l *items) remove(id string) {
	l.list = slices.DeleteFunc(l.list, func(it *openItem) bool { return it.ID == id })
}

// commands counts the open commands.
func (l *items) commands() int {
	n := 0
	for _, it := range l.list {
		if it.Type == wire.ItemCommand {
			n++
		}
	}
	return n
}

func (l *items) bytes() int {
	n := 0
	for _, it := range l.list {
		n += it.text.Len()
	}
	return n
}

// isText reports whether the item is text of the model's own.
func (it *openItem) isText() bool {
	return it.Type == wire.ItemAgentMessage || it.Type == wire.ItemReasoning
}

func (t *translator) itemNotification(ref string, m jsonrpc.Message) {
	var n wire.ItemNotification
	if !t.read(m, &n) {
		return
	}
	u := t.turnFor(ref)
	switch {
	case u == nil:
		t.late(ref, m)
		return
	case n.Item.ID == "":
		t.broken(m)
		return
	}
	n.Item.ID = t.itemName(u, n.Item.ID)
	if m.Method == wire.ItemStarted {
		t.itemStarted(u, n.Item, m)
		return
	}
	t.itemCompleted(u, n.Item, m)
}

func (t *translator) itemStarted(u *turn, item wire.Item, m jsonrpc.Message) {
	it := &openItem{Item: item}
	switch {
	case item.Type == wire.ItemUserMessage:
		return // its end reports the same
	case u.closed[item.ID] || u.items.find(item.ID) != nil:
		t.event(m.Method+": "+item.Type, m.Raw) // one item begins once
		return
	case it.isText():
		t.closeTexts(u) // the model writes one text at a time
	case toolKind(item) == "":
		t.event(m.Method+": "+item.Type, m.Raw)
		return
	default:
		t.content(u.ref, toolStarted(item), m.Raw)
	}
	u.items.list = append(u.items.list, it)
}

// itemCompleted reports an item as a whole.
func (t *translator) itemCompleted(u *turn, item wire.Item, m jsonrpc.Message) {
	it := u.items.find(item.ID)
	switch kind := toolKind(item); {
	case u.closed[item.ID] || it != nil && it.Type != item.Type:
		t.event(m.Method+": "+item.Type, m.Raw) // its end was reported, or is to come
		return
	case item.Type == wire.ItemAgentMessage:
		item.ID = t.completeText(u, it, item, item.Text, m.Raw)
		t.content(u.ref, core.Message{Item: item.ID, Text: item.Text}, m.Raw)
		u.message, u.hasMessage = item.Text, true
	case item.Type == wire.ItemReasoning:
		if text := reasoningText(item); text != "" || it != nil && it.deltas {
			item.ID = t.completeText(u, it, item, text, m.Raw)
			t.content(u.ref, core.Reasoning{Item: item.ID, Text: text}, m.Raw)
		}
	case kind == "":
		t.event(m.Method+": "+item.Type, m.Raw)
	default:
		if it == nil {
			t.content(u.ref, toolStarted(item), nil)
		}
		if list := edits(item.Changes); len(list) > 0 && item.Status == "completed" {
			t.content(u.ref, core.FileChange{Item: item.ID, Changes: list}, nil)
		}
		done := toolCompleted(item)
		if done.Status == core.ToolFailed && u.ended != nil {
			done.Status = core.ToolCancelled // it was stopped with its turn
		}
		t.content(u.ref, done, m.Raw)
	}
	u.close(item.ID)
	delete(u.killing, item.ID)
	t.drained(u)
}

// completeText sees to it that the deltas of an item join to its whole text, and
// returns the name under which to report that. What the deltas lack at their end
// is reported first. Where they differ otherwise, what was streamed is closed
// as partial, and the whole text is an item of its own.
func (t *translator) completeText(u *turn, it *openItem, item wire.Item, whole string, raw json.RawMessage) string {
	if it == nil {
		it = &openItem{Item: item}
	}
	rest, ok := strings.CutPrefix(whole, it.text.String())
	switch {
	case it.text.Lost:
	case !ok:
		t.closeItem(u, it)
		return item.ID + "@whole"
	case rest != "":
		t.content(u.ref, it.delta(rest), raw)
	}
	return item.ID
}

// delta returns a piece of the item in the vocabulary.
func (it *openItem) delta(text string) core.Payload {
	switch it.Type {
	case wire.ItemAgentMessage, wire.ItemReasoning:
		return link.Delta(it.Type == wire.ItemReasoning, it.ID, text)
	case wire.ItemCommand:
		return core.CommandOutputDelta{Item: it.ID, Text: text}
	}
	return core.ToolDelta{Item: it.ID, Text: text}
}

func (t *translator) deltaNotification(ref string, m jsonrpc.Message) {
	var n wire.DeltaNotification
	if !t.read(m, &n) {
		return
	}
	u := t.turnFor(ref)
	if u == nil {
		t.late(ref, m)
		return
	}
	it := u.items.find(t.itemName(u, n.ItemID))
	if it == nil {
		t.event(m.Method, m.Raw)
		return
	}
	text := n.Delta + n.Message
	switch {
	case m.Method == wire.ReasoningSummaryPart:
		it.part = n.SummaryIndex
		return
	case m.Method == wire.ReasoningSummaryDelta && it.part > 0 && it.text.Len() > 0:
		text = partBreak + text
		it.part = 0
	}
	if text == "" {
		return
	}
	if it.isText() {
		it.text.Add(text, u.items.bytes()-it.text.Len(), maxOpenText)
	}
	it.deltas = true
	t.content(ref, it.delta(text), m.Raw)
}

// partBreak stands between two parts of a reasoning summary.
const partBreak = "\n\n"

// reasoningText joins what Codex shows of its reasoning.
func reasoningText(item wire.Item) string {
	if len(item.Summary) > 0 {
		return strings.Join(item.Summary, partBreak)
	}
	var content []string
	if json.Unmarshal(item.Content, &content) != nil {
		return ""
	}
	return strings.Join(content, "")
}

// close notes that the end of an item is reported.
func (u *turn) close(item string) {
	u.items.remove(item)
	if u.closed == nil {
		u.closed = map[string]bool{}
	}
	if len(u.closed) < maxClosed {
		u.closed[item] = true
	}
}

// itemName is the name under which an item is reported: Codex's own id, which
// is the model's. A model that uses an id again in another turn gets the turn's
// added to it, for items of one conversation have names of their own.
func (t *translator) itemName(u *turn, id string) string {
	for _, other := range t.turns {
		if other != u && (other.closed[id] || other.items.find(id) != nil) {
			return id + "@" + u.ref
		}
	}
	for _, other := range t.past {
		if other.closed[id] {
			return id + "@" + u.ref
		}
	}
	return id
}

// closeTexts closes the text that the model was writing: it will not complete.
func (t *translator) closeTexts(u *turn) {
	for _, it := range slices.Clone(u.items.list) {
		if it.isText() {
			t.closeItem(u, it)
		}
	}
}

// closeItems closes everything that is open.
func (t *translator) closeItems(u *turn) {
	for _, it := range slices.Clone(u.items.list) {
		t.closeItem(u, it)
	}
}

func (t *translator) closeItem(u *turn, it *openItem) {
	u.close(it.ID)
	switch {
	case it.isText() && !it.deltas: // nothing of it was reported
	case it.isText():
		t.content(u.ref, link.Whole(it.Type == wire.ItemReasoning, it.ID, it.text.String(), true), nil)
	case it.Type == wire.ItemCommand && u.ended != nil && u.ended.turn.Status == "completed":
		t.content(u.ref, core.ToolCompleted{Item: it.ID, Status: core.ToolCancelled, Error: "left running in the background when the turn ended"}, nil)
	default:
		t.content(u.ref, core.ToolCompleted{Item: it.ID, Status: core.ToolCancelled}, nil)
	}
}
