package tools

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/mark3labs/mcp-go/mcp"
)

// body is what a tool returns: the structured half, which json encodes in the
// order of its fields, and how to say it in prose.
type body interface {
	// slots lists what may be cut to keep the reply small.
	slots() []slot
	// prose gives the text half. It is called after slots were applied.
	prose() prose
	// links names resources that hold whole what the reply has cut.
	links() []mcp.ResourceLink
	// nextCalls is the object's list of suggestions.
	nextCalls() *[]suggestion
}

// prose is the text half: a few lines of state, then what the reply is for.
type prose struct {
	lines   []string
	content string
}

// result shapes a body into a reply whose halves both keep the call's budget.
func (c *call) result(b body) *mcp.CallToolResult {
	next := b.nextCalls()
	all := c.offeredSuggestions(*next)
	slots := b.slots()
	structured := fit(slots, c.budget, func() []byte {
		*next = visibleSuggestions(all)
		return encode(b)
	})
	links := b.links()
	text := fit(slots, c.budget-linkRoom, func() string { return redact.Plain(b.prose().render(visibleSuggestions(all))) })
	text = clip(text, c.budget) // what no slot could shorten
	if len(links) == 0 {
		links = b.links()
	}
	r := &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(text)},
		StructuredContent: rawJSON(structured),
	}
	for _, l := range links {
		r.Content = append(r.Content, l)
	}
	return r
}

func (p prose) render(next []suggestion) string {
	lines := p.lines
	if l := nextLine(next); l != "" {
		lines = append(lines[:len(lines):len(lines)], l)
	}
	head := strings.Join(lines, "\n")
	if p.content == "" {
		return head
	}
	return head + "\n\n" + p.content
}
