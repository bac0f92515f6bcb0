package providertest

import (
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

// The kinds of items.
const (
	kindMessage   = "message"
	kindReasoning = "reasoning"
	kindTool      = "tool"
)

// content checks what a turn reports against what it reported before.
func (w *Watch) content(n core.Content) error {
	if n.Payload == nil {
		return fmt.Errorf("Content without a payload")
	}
	if n.Turn != "" {
		if err := w.inTurn(n.Turn, string(n.Payload.EventType())); err != nil {
			return err
		}
	}
	switch p := n.Payload.(type) {
	case core.MessageDelta:
		return w.delta(n.Turn, kindMessage, p.Item, p.Text)
	case core.Message:
		return w.whole(n.Turn, kindMessage, p.Item, p.Text)
	case core.ReasoningDelta:
		return w.delta(n.Turn, kindReasoning, p.Item, p.Text)
	case core.Reasoning:
		return w.whole(n.Turn, kindReasoning, p.Item, p.Text)
	case core.ToolStarted:
		return w.toolStarted(n.Turn, p)
	case core.ToolDelta:
		return w.openTool(n.Turn, p.Item, "tool_delta")
	case core.CommandOutputDelta:
		return w.openTool(n.Turn, p.Item, "command_output_delta")
	case core.ToolCompleted:
		return w.toolCompleted(n.Turn, p)
	case core.FileChange:
		return checkChange(p)
	}
	return nil
}

// delta adds a piece to an item that is not closed.
func (w *Watch) delta(turn, kind, item, text string) error {
	it, err := w.item(turn, kind, item)
	if err != nil {
		return err
	}
	it.deltas = true
	it.joined.WriteString(text)
	return nil
}

// whole closes an item. It proves that the deltas, if there were any, join to
// exactly its text.
func (w *Watch) whole(turn, kind, item, text string) error {
	it, err := w.item(turn, kind, item)
	if err != nil {
		return err
	}
	it.closed = true
	if got := it.joined.String(); it.deltas && got != text {
		return fmt.Errorf("the deltas of %s %q join to %q, not to its text %q", kind, item, short(got), short(text))
	}
	return nil
}

// item finds an open item, or opens it.
func (w *Watch) item(turn, kind, item string) (*seenItem, error) {
	if item == "" {
		return nil, fmt.Errorf("a %s without an item", kind)
	}
	it := w.items[item]
	if it == nil {
		it = &seenItem{turn: turn, kind: kind}
		w.items[item] = it
	}
	switch {
	case it.turn != turn:
		return nil, fmt.Errorf("the item %q of turn %q shows up in turn %q", item, it.turn, turn)
	case it.kind != kind:
		return nil, fmt.Errorf("the item %q is a %s and a %s", item, it.kind, kind)
	case it.closed:
		return nil, fmt.Errorf("the %s %q goes on after its end", kind, item)
	}
	return it, nil
}

// toolStarted proves that a tool starts once, with a name, a title and a known
// kind.
func (w *Watch) toolStarted(turn string, p core.ToolStarted) error {
	if w.items[p.Item] != nil {
		return fmt.Errorf("tool_started with the item %q, which exists", p.Item)
	}
	if p.Name == "" || p.Title == "" {
		return fmt.Errorf("tool %q has no name or no title", p.Item)
	}
	switch p.Kind {
	case core.ToolCommand, core.ToolFile, core.ToolMCP, core.ToolSearch, core.ToolWeb, core.ToolAgent, core.ToolOther:
	default:
		return fmt.Errorf("tool %q has the kind %q", p.Item, p.Kind)
	}
	_, err := w.item(turn, kindTool, p.Item)
	return err
}

// openTool proves that a tool was started before what is reported of it.
func (w *Watch) openTool(turn, item, what string) error {
	if w.items[item] == nil {
		return fmt.Errorf("%s of tool %q, which was not started", what, item)
	}
	_, err := w.item(turn, kindTool, item)
	return err
}

// toolCompleted closes a tool. It proves that the tool was open and that its
// status is known.
func (w *Watch) toolCompleted(turn string, p core.ToolCompleted) error {
	if err := w.openTool(turn, p.Item, "tool_completed"); err != nil {
		return err
	}
	w.items[p.Item].closed = true
	switch p.Status {
	case core.ToolOK, core.ToolFailed, core.ToolDeclined, core.ToolCancelled:
		return nil
	}
	return fmt.Errorf("tool %q ended with the status %q", p.Item, p.Status)
}

// checkChange proves that a file change names a path and a known kind for each
// file.
func checkChange(p core.FileChange) error {
	if len(p.Changes) == 0 {
		return fmt.Errorf("a file_change without changes")
	}
	for _, c := range p.Changes {
		switch {
		case c.Path == "":
			return fmt.Errorf("a file_change without a path")
		case c.Kind != core.FileAdded && c.Kind != core.FileModified && c.Kind != core.FileDeleted:
			return fmt.Errorf("a file_change of the kind %q", c.Kind)
		}
	}
	return nil
}

// short keeps messages readable.
func short(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return s[:most/2] + " ... " + s[len(s)-most/2:]
}
