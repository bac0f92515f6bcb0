package demo

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

func (t *turn) say(text string) error {
	if err := t.sayNoted(); err != nil {
		return err
	}
	return t.sendText(false, slices.Values(pieces(text)))
}

func (t *turn) think(text string) error { return t.sendText(true, slices.Values(pieces(text))) }

// stream reports a message of n pieces.
func (t *turn) stream(n int) error {
	if err := t.sayNoted(); err != nil {
		return err
	}
	return t.sendText(false, func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("piece %d of %d\n", i+1, n)) {
				return
			}
		}
	})
}

// sayNoted reports what was steered in since the last message.
func (t *turn) sayNoted() error {
	for len(t.steers) > 0 {
		text := t.steers[0]
		t.steers = t.steers[1:]
		if err := t.sendText(false, slices.Values(pieces("Noted while working: "+text))); err != nil {
			return err
		}
	}
	return nil
}

// recall reports the earlier prompts.
func (t *turn) recall() error {
	if len(t.earlier) == 0 {
		return t.say("This is the first prompt of the conversation.")
	}
	return t.say("Earlier in this conversation:\n" + strings.Join(t.earlier, "\n"))
}

// sendText reports the parts as one item, a message or reasoning. When the turn
// stops before the end, what was reported so far is its partial whole.
func (t *turn) sendText(reasoning bool, parts iter.Seq[string]) error {
	item := t.newItem()
	var text strings.Builder
	for part := range parts {
		if err := t.pause(t.pace); err != nil {
			if text.Len() > 0 {
				t.content(link.Whole(reasoning, item, text.String(), true))
			}
			return err
		}
		if err := t.content(link.Delta(reasoning, item, part)); err != nil {
			return err
		}
		text.WriteString(part)
	}
	return t.content(link.Whole(reasoning, item, text.String(), false))
}
