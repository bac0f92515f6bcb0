package acp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// tool is one use of a tool, put together from the messages that name it.
type tool struct {
	item     string
	call     wire.ToolCall
	content  []wire.ToolContent
	started  bool
	asked    bool // a permission was asked for and not given
	declined bool
	shown    string // of the output, what was reported piece by piece
}

// tools are those of a turn, by the agent's id, oldest first.
type tools struct {
	order []*tool
	byID  map[string]*tool
}

func (l *tools) find(id string) *tool { return l.byID[id] }

func (l *tools) open() []*tool { return append([]*tool(nil), l.order...) }

func (l *tools) remove(x *tool) {
	delete(l.byID, x.call.ToolCallID)
	for i, o := range l.order {
		if o == x {
			l.order = append(l.order[:i], l.order[i+1:]...)
			return
		}
	}
}

// pastTools remembers ids of ended tools, oldest forgotten first.
type pastTools struct {
	turns map[string]string // the turn of an id
	uses  map[string]int
	order []string
}

func (p *pastTools) add(id, turn string) {
	if p.turns == nil {
		p.turns, p.uses = map[string]string{}, map[string]int{}
	}
	if _, known := p.turns[id]; !known {
		p.order = append(p.order, id)
	}
	p.turns[id] = turn
	p.uses[id]++
	if len(p.order) > maxPast {
		delete(p.turns, p.order[0])
		delete(p.uses, p.order[0])
		p.order = p.order[1:]
	}
}

// toolItem names a tool. The agent's id is enough unless it comes again.
func (t *translator) toolItem(id string) string {
	item := t.set.prefix + id
	if n := t.past.uses[id]; n > 0 {
		item += "#" + strconv.Itoa(n+1)
	}
	return item
}

// toolUpdate handles tool_call and tool_call_update alike: agents begin with
// either.
func (t *translator) toolUpdate(u *turn, body, raw json.RawMessage) {
	var c wire.ToolCall
	if json.Unmarshal(body, &c) != nil || c.ToolCallID == "" {
		t.broken("tool call", raw)
		return
	}
	x := u.tools.find(c.ToolCallID)
	if x == nil {
		if c.Title == "" && c.Status == "" || t.past.turns[c.ToolCallID] == u.name && c.Kind == "" && c.Title == "" {
			t.late(c.ToolCallID, raw) // more about one that has ended
			return
		}
		if before := t.past.turns[c.ToolCallID]; before != "" && before != u.name && c.Title == "" {
			t.late(c.ToolCallID, raw)
			return
		}
	}
	x = t.upsert(u, c)
	if x == nil {
		t.event("tool call beyond the limit", raw)
		return
	}
	ended := c.Status == wire.Completed || c.Status == wire.Failed
	if !x.started && !ended && x.call.Status != wire.InProgress && emptyInput(x.call.RawInput) {
		return // it is being prepared; what it is comes later
	}
	started := t.beginTool(u, x, raw)
	if ended {
		if started {
			raw = nil // reported with the beginning
		}
		t.endTool(u, x, t.status(u, x), raw)
		return
	}
	t.toolOutput(x, raw)
}

// late keeps what comes for a tool that is over.
func (t *translator) late(id string, raw json.RawMessage) {
	t.content(core.ProviderEvent{Kind: "late tool_call_update", TurnID: t.past.turns[id], Data: raw}, raw)
}

// upsert brings what is known of a tool up to date.
func (t *translator) upsert(u *turn, c wire.ToolCall) *tool {
	x := u.tools.find(c.ToolCallID)
	if x == nil {
		if len(u.tools.order) >= maxTools {
			return nil
		}
		x = &tool{item: t.toolItem(c.ToolCallID)}
		x.call.ToolCallID = c.ToolCallID
		if u.tools.byID == nil {
			u.tools.byID = map[string]*tool{}
		}
		u.tools.byID[c.ToolCallID] = x
		u.tools.order = append(u.tools.order, x)
	}
	over(&x.call.Title, c.Title)
	over(&x.call.Kind, c.Kind)
	over(&x.call.Status, c.Status)
	over(&x.call.Name, c.Name)
	var meta wire.ToolMeta
	if json.Unmarshal(c.Meta, &meta) == nil {
		over(&x.call.Name, meta.ToolName)
		over(&x.call.Name, meta.ClaudeCode.ToolName)
	}
	if !emptyInput(c.RawInput) {
		x.call.RawInput = c.RawInput
	}
	if len(c.RawOutput) > 0 {
		x.call.RawOutput = c.RawOutput
	}
	if len(c.Locations) > 0 {
		x.call.Locations = c.Locations
	}
	if list := toolContents(c.Content); list != nil {
		x.content = list
	}
	return x
}

func over(have *string, given string) {
	if given != "" {
		*have = given
	}
}

// toolContents reads the parts of a content that can be read.
func toolContents(raw json.RawMessage) []wire.ToolContent {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	list := make([]wire.ToolContent, 0, len(parts))
	for _, p := range parts {
		var c wire.ToolContent
		if json.Unmarshal(p, &c) == nil {
			list = append(list, c)
		}
	}
	return list
}

func emptyInput(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "{}":
		return true
	}
	return false
}

// beginTool reports that a tool is used, once.
func (t *translator) beginTool(u *turn, x *tool, raw json.RawMessage) bool {
	if x.started {
		return false
	}
	x.started = true
	x.shown = contentText(x.content) // a description; output comes after it
	u.failure = nil
	t.endText(u, false)
	t.content(toolStarted(x), raw)
	return true
}

// toolOutput reports what a running tool has shown since the last time. Agents
// repeat the whole; one that does not continue what was shown waits for the end.
func (t *translator) toolOutput(x *tool, raw json.RawMessage) {
	if x.call.Status != wire.InProgress {
		t.event("tool_call_update", raw)
		return
	}
	text := contentText(x.content)
	if len(text) <= len(x.shown) || !strings.HasPrefix(text, x.shown) || x.call.Kind != wire.KindExecute {
		return
	}
	more := text[len(x.shown):]
	x.shown = text
	t.content(core.CommandOutputDelta{Item: x.item, Text: more}, raw)
}

// status returns how a tool ended, by the agent's report.
func (t *translator) status(u *turn, x *tool) core.ToolStatus {
	switch {
	case x.call.Status == wire.Completed:
		return core.ToolOK
	case x.declined:
		return core.ToolDeclined
	case u.cancels > 0:
		return core.ToolCancelled
	}
	return core.ToolFailed
}

// leftover returns how a tool ended whose end the agent did not report.
func (t *translator) leftover(u *turn, x *tool) core.ToolStatus {
	if x.declined || x.asked && u.cancels == 0 {
		return core.ToolDeclined
	}
	return core.ToolCancelled
}

// endTool reports the end of a tool, and the files that it changed.
func (t *translator) endTool(u *turn, x *tool, status core.ToolStatus, raw json.RawMessage) {
	u.tools.remove(x)
	t.past.add(x.call.ToolCallID, u.name)
	if !x.started {
		t.beginTool(u, x, nil)
	}
	done := toolCompleted(x, status)
	t.content(done, raw)
	if status == core.ToolFailed {
		u.failed = append(u.failed, toolStarted(x).Title)
	}
	if status != core.ToolOK {
		return
	}
	var edits []core.FileEdit
	for _, c := range x.content {
		if c.Type == wire.ContentDiff && c.Path != "" && !u.written[c.Path] {
			edits = append(edits, edit(c.Path, c.OldText, c.NewText))
		}
	}
	if len(edits) > 0 {
		u.edits = append(u.edits, edits...)
		t.content(core.FileChange{Item: x.item, Changes: edits}, nil)
	}
}
