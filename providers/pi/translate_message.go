package pi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/pi/internal/wire"
)

// message is an answer of the model that is being written.
type message struct {
	id     string
	blocks map[int]*block
	order  []int
}

// block is one text of it that was streamed.
type block struct {
	thinking bool
	text     link.Text
}

// message handles message_start, message_update or message_end. Only the
// assistant's are reported: the others repeat our own words, the system prompt
// or the results of tools. What an extension writes is kept as it is.
func (t *translator) message(kind string, raw json.RawMessage) {
	var e wire.MessageEvent
	if !t.decode(kind, raw, &e) {
		return
	}
	if t.turn == nil {
		t.event(kind, raw)
		return
	}
	switch {
	case kind == wire.TypeMessageUpdate && e.Update != nil:
		t.update(t.turn, *e.Update, raw)
	case e.Message == nil:
		t.event(kind, raw)
	case e.Message.Role == wire.RoleAssistant && kind == wire.TypeMessageStart:
		t.closeMessage(t.turn, nil, true, nil)
		t.openMessage(t.turn, e.Message.Timestamp)
	case e.Message.Role == wire.RoleAssistant:
		t.messageEnd(t.turn, e.Message, raw)
	case e.Message.Role == wire.RoleUser, e.Message.Role == wire.RoleSystem, e.Message.Role == wire.RoleToolResult:
	case kind == wire.TypeMessageEnd:
		t.event("message: "+e.Message.Role, raw)
	}
}

// openMessage begins a message. Its id is unique, also among the openings of the
// conversation.
func (t *translator) openMessage(u *turn, timestamp int64) *message {
	t.messages++
	u.text = &message{id: fmt.Sprintf("m%s-%d", strconv.FormatInt(timestamp, 36), t.messages), blocks: map[int]*block{}}
	return u.text
}

func (m *message) item(index int) string { return fmt.Sprintf("%s.%d", m.id, index) }

func (t *translator) update(u *turn, p wire.BlockUpdated, raw json.RawMessage) {
	if p.Type != wire.TextDelta && p.Type != wire.ThinkingDelta || p.Delta == "" {
		return // all of it comes again with message_end
	}
	if u.text == nil {
		t.openMessage(u, 0)
	}
	b := u.text.blocks[p.ContentIndex]
	if b == nil {
		b = &block{thinking: p.Type == wire.ThinkingDelta}
		u.text.blocks[p.ContentIndex] = b
		u.text.order = append(u.text.order, p.ContentIndex)
	}
	if len(raw) > maxRawDelta {
		raw = nil
	}
	t.blockDelta(u.text.item(p.ContentIndex), b, p.Delta, raw)
}

func (t *translator) blockDelta(item string, b *block, text string, raw json.RawMessage) {
	b.text.Add(text, 0, maxOpenText)
	t.content(link.Delta(b.thinking, item, text), raw)
}

// messageEnd handles a whole answer of the model, which is authoritative.
func (t *translator) messageEnd(u *turn, m *wire.Message, raw json.RawMessage) {
	u.last = outcome{seen: true, stop: m.StopReason, failed: m.ErrorMessage}
	if u.text == nil {
		t.openMessage(u, m.Timestamp)
	}
	cut := m.StopReason == wire.StopAborted || m.StopReason == wire.StopError
	t.closeMessage(u, wire.Blocks(m.Content), cut, raw)
	if m.Usage != nil && u.spent.add(*m.Usage) {
		t.content(core.UsageUpdated{Usage: *u.spent.usage(), CostUSD: u.spent.cost(), Scope: core.UsageTurn}, nil)
	}
}

// closeMessage reports every text of the message: those of the whole message,
// and what was streamed of others.
func (t *translator) closeMessage(u *turn, whole []wire.Block, partial bool, raw json.RawMessage) {
	m := u.text
	if m == nil {
		return
	}
	u.text = nil
	for i, w := range whole {
		text := w.Text
		if w.Type == wire.BlockThinking {
			text = w.Thinking
		} else if w.Type != wire.BlockText {
			continue
		}
		b := m.blocks[i]
		delete(m.blocks, i)
		if b == nil {
			b = &block{thinking: w.Type == wire.BlockThinking}
			if text == "" {
				continue
			}
			t.whole(m.item(i), b.thinking, text, partial, raw)
			continue
		}
		t.closeBlock(m.item(i), b, text, partial, raw)
	}
	for _, i := range m.order {
		if b := m.blocks[i]; b != nil {
			t.whole(m.item(i), b.thinking, b.text.String(), true, raw)
		}
	}
}

// closeBlock reports a text that was streamed. Should the whole differ from
// what was streamed, it becomes an item of its own.
func (t *translator) closeBlock(item string, b *block, text string, partial bool, raw json.RawMessage) {
	said := b.text.String()
	if b.text.Lost {
		t.whole(item, b.thinking, text, partial, raw)
		return
	}
	if rest, ok := strings.CutPrefix(text, said); ok {
		if rest != "" {
			t.blockDelta(item, b, rest, nil)
		}
		t.whole(item, b.thinking, text, partial, raw)
		return
	}
	t.whole(item, b.thinking, said, true, raw)
	if text != "" {
		t.whole(item+"'", b.thinking, text, partial, raw)
	}
}

func (t *translator) whole(item string, thinking bool, text string, partial bool, raw json.RawMessage) {
	t.content(link.Whole(thinking, item, text, partial), raw)
}

// closeItems closes what is open when a turn ends.
func (t *translator) closeItems(u *turn) {
	t.closeMessage(u, nil, true, nil)
	for _, x := range u.tools {
		status := core.ToolFailed
		if u.stopping {
			status = core.ToolCancelled
		}
		t.content(core.ToolCompleted{Item: x.item, Status: status, Output: x.shown, Error: "The turn ended before the tool did."}, nil)
	}
	u.tools = nil
}

// spending is what the answers of one turn used together.
type spending struct {
	sum     wire.Usage
	dollars float64
	some    bool
}

// add adds an answer, and reports whether it used anything.
func (s *spending) add(u wire.Usage) bool {
	if u.Input+u.Output+u.CacheRead+u.CacheWrite+u.TotalTokens == 0 {
		return false // an answer that was cut, of which the model's provider reported nothing
	}
	s.some = true
	s.sum.Input += u.Input
	s.sum.Output += u.Output
	s.sum.CacheRead += u.CacheRead
	s.sum.CacheWrite += u.CacheWrite
	s.sum.Reasoning += u.Reasoning
	s.sum.TotalTokens += u.TotalTokens
	if u.Cost != nil {
		s.dollars += u.Cost.Total
	}
	return true
}

// usage is the sum, nil where nothing was reported. Pi counts cached input
// apart from other input.
func (s *spending) usage() *core.Usage {
	if !s.some {
		return nil
	}
	input := s.sum.Input + s.sum.CacheRead + s.sum.CacheWrite
	u := &core.Usage{InputTokens: &input, CachedInputTokens: count(s.sum.CacheRead), OutputTokens: count(s.sum.Output), TotalTokens: count(s.sum.TotalTokens)}
	if s.sum.Reasoning > 0 {
		u.ReasoningTokens = count(s.sum.Reasoning)
	}
	return u
}

// cost returns nil where Pi knows no price, which it reports as 0.
func (s *spending) cost() *float64 {
	if s.dollars <= 0 {
		return nil
	}
	d := s.dollars
	return &d
}

func count(n int64) *int64 { return &n }
