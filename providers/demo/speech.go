package demo

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// voice makes the payloads of a message or of reasoning.
type voice struct {
	delta func(item, text string) core.Payload
	whole func(item, text string, partial bool) core.Payload
}

var (
	aloud = voice{
		delta: func(item, text string) core.Payload { return core.MessageDelta{Item: item, Text: text} },
		whole: func(item, text string, partial bool) core.Payload {
			return core.Message{Item: item, Text: text, Partial: partial}
		},
	}
	silently = voice{
		delta: func(item, text string) core.Payload { return core.ReasoningDelta{Item: item, Text: text} },
		whole: func(item, text string, partial bool) core.Payload {
			return core.Reasoning{Item: item, Text: text, Partial: partial}
		},
	}
)

func (t *turn) say(text string) error {
	if err := t.sayNoted(); err != nil {
		return err
	}
	return t.speak(aloud, slices.Values(pieces(text)))
}

func (t *turn) think(text string) error { return t.speak(silently, slices.Values(pieces(text))) }

// stream says a message of n pieces.
func (t *turn) stream(n int) error {
	if err := t.sayNoted(); err != nil {
		return err
	}
	return t.speak(aloud, func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("piece %d of %d\n", i+1, n)) {
				return
			}
		}
	})
}

// sayNoted says what was steered in since the agent last spoke.
func (t *turn) sayNoted() error {
	for len(t.steers) > 0 {
		text := t.steers[0]
		t.steers = t.steers[1:]
		if err := t.speak(aloud, slices.Values(pieces("Noted while working: "+text))); err != nil {
			return err
		}
	}
	return nil
}

// recall says the earlier prompts.
func (t *turn) recall() error {
	if len(t.earlier) == 0 {
		return t.say("This is the first prompt of the conversation.")
	}
	return t.say("Earlier in this conversation:\n" + strings.Join(t.earlier, "\n"))
}

// speak says the parts as one item. When it is cut, what was said so far is
// its partial whole.
func (t *turn) speak(v voice, parts iter.Seq[string]) error {
	item := t.newItem()
	var said strings.Builder
	for part := range parts {
		if err := t.pause(t.pace); err != nil {
			if said.Len() > 0 {
				t.content(v.whole(item, said.String(), true))
			}
			return err
		}
		if err := t.content(v.delta(item, part)); err != nil {
			return err
		}
		said.WriteString(part)
	}
	return t.content(v.whole(item, said.String(), false))
}
