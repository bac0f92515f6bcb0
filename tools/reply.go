package tools

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/mark3labs/mcp-go/mcp"
)

// body is what a tool returns: the structured half, encoded in the order of its
// fields, with its prose.
type body interface {
	// slots returns what may be truncated to keep the budget.
	slots() []slot
	// prose returns the text half. It is called after slots were applied.
	prose() prose
	// links returns resources that hold whole what the reply has truncated.
	links() []mcp.ResourceLink
	// nextCalls returns the object's list of suggestions.
	nextCalls() *[]suggestion
}

// untruncated is embedded in bodies that are small by themselves.
type untruncated struct{}

func (untruncated) slots() []slot             { return nil }
func (untruncated) links() []mcp.ResourceLink { return nil }

// prose is the text half: a few lines of state, then the content.
type prose struct {
	lines   []string
	content string
}

// result makes the reply of a body. Both halves keep the budget of the call.
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
