package link

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// Text is what was streamed of a message or of reasoning. The zero value is
// empty.
type Text struct {
	text strings.Builder
	Lost bool // it lacks a part, for being too long
}

// Add adds a piece, unless it and other, the bytes of other open texts, would
// exceed limit or a piece was left out before.
func (x *Text) Add(piece string, other, limit int) {
	if x.Lost = x.Lost || x.Len()+other+len(piece) > limit; !x.Lost {
		x.text.WriteString(piece)
	}
}

// Len returns the number of bytes.
func (x *Text) Len() int { return x.text.Len() }

// String returns the text.
func (x *Text) String() string { return x.text.String() }

// Delta returns a piece of a message, or of reasoning.
func Delta(reasoning bool, item, text string) core.Payload {
	if reasoning {
		return core.ReasoningDelta{Item: item, Text: text}
	}
	return core.MessageDelta{Item: item, Text: text}
}

// Whole returns a whole message, or reasoning.
func Whole(reasoning bool, item, text string, partial bool) core.Payload {
	if reasoning {
		return core.Reasoning{Item: item, Text: text, Partial: partial}
	}
	return core.Message{Item: item, Text: text, Partial: partial}
}
