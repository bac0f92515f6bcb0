package tools

import (
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of a reply, in bytes.
const (
	// defaultBudget is what each half of a reply takes at most.
	defaultBudget = 8 << 10
	// maxBudget is what a caller may ask for.
	maxBudget = 1 << 20
	// linkRoom is kept free in the text half for links to what was cut.
	linkRoom = 256
	// timeoutRow is what a reply takes for each id whose wait ran out.
	timeoutRow = 400
	// maxNext is how many calls a reply suggests.
	maxNext = 3
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

// suggestion is a call that a client can make as it is.
type suggestion struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Why       string         `json:"why"`

	rest *turnObject // the turn whose cut answer this call reads on
}

// args are the arguments of a suggestion.
type args = map[string]any

// nexts is embedded in every object that can be a whole reply, right after its
// ids and status.
type nexts struct {
	Next []suggestion `json:"next,omitempty"`
}

func (n *nexts) nextCalls() *[]suggestion { return &n.Next }

// suggest adds a call; the first ones are shown.
func (n *nexts) suggest(tool, why string, a args) {
	n.Next = append(n.Next, suggestion{Tool: tool, Arguments: a, Why: why})
}

// suggestRest adds the call that reads on where the answer of a turn is cut. It
// is shown only in a half of the reply that does cut it.
func (n *nexts) suggestRest(t *turnObject) {
	n.Next = append(n.Next, suggestion{Tool: "inspect", Why: "the answer from where it is cut", rest: t})
}

// settled gives the suggestions as they are once the reply has been cut.
func settled(next []suggestion) []suggestion {
	var out []suggestion
	for _, s := range next {
		if s.rest != nil {
			if !s.rest.Truncated {
				continue
			}
			s.Arguments = args{"id": s.rest.TurnID, "offset": s.rest.cutAt}
		}
		if len(out) < maxNext {
			out = append(out, s)
		}
	}
	return out
}

// nextLine says suggestions in prose.
func nextLine(next []suggestion) string {
	if len(next) == 0 {
		return ""
	}
	calls := make([]string, len(next))
	for i, n := range next {
		calls[i] = fmt.Sprintf("%s %s (%s)", n.Tool, encode(n.Arguments), n.Why)
	}
	return "Next: " + strings.Join(calls, "; or ") + "."
}

// keepKnown drops suggestions of tools that this server does not offer, and
// all behind the third that is sure to be shown.
func (c *call) keepKnown(next []suggestion) []suggestion {
	out := next[:0]
	sure := 0
	for _, n := range next {
		if !c.offers(n.Tool) || sure == maxNext {
			continue
		}
		if n.rest == nil {
			sure++
		}
		out = append(out, n)
	}
	return out
}

// result shapes a body into a reply whose halves both keep the call's budget.
func (c *call) result(b body) *mcp.CallToolResult {
	next := b.nextCalls()
	all := c.keepKnown(*next)
	slots := b.slots()
	structured := fit(slots, c.budget, func() []byte {
		*next = settled(all)
		return encode(b)
	})
	links := b.links()
	text := fit(slots, c.budget-linkRoom, func() string { return core.Plain(b.prose().render(settled(all))) })
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

// rawJSON is JSON that encodes as it is.
type rawJSON []byte

// MarshalJSON gives the bytes.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }
