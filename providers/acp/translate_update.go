package acp

import (
	"encoding/json"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// openText is a message or reasoning that is being streamed.
type openText struct {
	item    string
	kind    string // of its chunks
	message string // the agent's id for it, if any
	first   string // where the text begins
	rest    strings.Builder
}

// add handles the next piece. The first one is kept as it is: often it is all
// there is, and then it may be long.
func (s *openText) add(text string) {
	if s.first == "" {
		s.first = text
		return
	}
	s.rest.WriteString(text)
}

func (s *openText) len() int { return len(s.first) + s.rest.Len() }

func (s *openText) text() string {
	if s.rest.Len() == 0 {
		return s.first
	}
	return s.first + s.rest.String()
}

// update handles one session/update. While the agent repeats a conversation, all
// but the state of the session is history.
func (t *translator) update(kind string, body, raw json.RawMessage) {
	switch kind {
	case wire.ModeChanged, wire.ConfigChanged, wire.CommandsAvailable, wire.InfoChanged, wire.UsageChanged:
		t.state(kind, body, raw)
		return
	}
	if t.phase == history {
		t.Notice(core.Content{Payload: core.ProviderEvent{Kind: "history: " + kind, Data: body}, Raw: raw})
		return
	}
	u := t.turn
	if u == nil {
		t.event(kind, raw)
		return
	}
	switch kind {
	case wire.MessageChunk, wire.ThoughtChunk:
		t.chunk(u, kind, body, raw)
	case wire.ToolCallNew, wire.ToolCallChanged:
		t.toolUpdate(u, body, raw)
	case wire.Plan:
		t.plan(body, raw)
	default: // the user's own words among them
		t.event(kind, raw)
	}
}

// state handles what an agent reports about the session.
func (t *translator) state(kind string, body, raw json.RawMessage) {
	switch kind {
	case wire.ConfigChanged:
		var p wire.ConfigParams
		if json.Unmarshal(body, &p) != nil {
			t.broken(kind, raw)
			return
		}
		t.offered(p.ConfigOptions, raw)
	case wire.ModeChanged:
		var p wire.ModeParams
		if json.Unmarshal(body, &p) == nil {
			t.offers.mode = p.CurrentModeID
		}
	case wire.UsageChanged:
		if t.usage == string(body) {
			return // reported before
		}
		t.usage = string(body)
		var p wire.UsageParams
		if json.Unmarshal(body, &p) == nil && p.Cost != nil && p.Cost.Currency == "USD" && p.Cost.Amount > 0 {
			t.content(core.UsageUpdated{CostUSD: &p.Cost.Amount, Scope: core.UsageSession}, raw)
			return
		}
	}
	t.event(kind, raw)
}

// chunk handles a piece of a message or of a thought.
func (t *translator) chunk(u *turn, kind string, body, raw json.RawMessage) {
	var c wire.Chunk
	if json.Unmarshal(body, &c) != nil {
		t.broken(kind, raw)
		return
	}
	if c.Content.Type != wire.Plain {
		t.endText(u, false)
		t.event(kind+" of type "+c.Content.Type, raw)
		return
	}
	if kind == wire.MessageChunk && t.aside(u, c.Content.Text, raw) {
		return
	}
	if c.Content.Text == "" {
		return
	}
	u.failure = nil
	s := u.openText
	if s == nil || s.kind != kind || s.message != c.MessageID || s.len()+len(c.Content.Text) > maxText {
		t.endText(u, false)
		name := "msg"
		if kind == wire.ThoughtChunk {
			name = "think"
		}
		s = &openText{item: t.item(name), kind: kind, message: c.MessageID}
		u.openText = s
	}
	s.add(c.Content.Text)
	t.content(link.Delta(kind == wire.ThoughtChunk, s.item, c.Content.Text), raw)
}

// endText reports the whole of the text that was being streamed.
func (t *translator) endText(u *turn, cut bool) {
	s := u.openText
	if s == nil {
		return
	}
	u.openText = nil
	t.content(link.Whole(s.kind == wire.ThoughtChunk, s.item, s.text(), cut), nil)
}

// aside handles a chunk that is not the model's words.
func (t *translator) aside(u *turn, text string, raw json.RawMessage) bool {
	for _, a := range t.set.agent.Quirks.Asides {
		if !strings.HasPrefix(text, a.Prefix) {
			continue
		}
		if a.Means == AsideWarning {
			if u.openText != nil {
				return false // in the middle of a message it is that message's
			}
			t.content(core.Warning{Message: text}, raw)
			return true
		}
		t.endText(u, true)
		code := errorCode(0, text)
		t.content(core.ProviderError{Message: text, Code: string(code), WillRetry: a.Means == AsideRetry}, raw)
		if a.Means == AsideError {
			u.failure = &core.TurnError{Code: code, Message: text}
		}
		return true
	}
	return false
}

// plan handles the agent's whole plan.
func (t *translator) plan(body, raw json.RawMessage) {
	var p wire.PlanParams
	if json.Unmarshal(body, &p) != nil {
		t.broken(wire.Plan, raw)
		return
	}
	steps := make([]core.PlanStep, len(p.Entries))
	for i, e := range p.Entries {
		steps[i] = core.PlanStep{Text: e.Content, Status: e.Status}
	}
	t.content(core.PlanUpdated{Steps: steps}, raw)
}
