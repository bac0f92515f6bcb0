package tools

import (
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Bounds of the requests that a reply shows.
const (
	// maxAsked is how many of a reply come whole: what stands around their texts
	// cannot be cut. The others come when those are answered.
	maxAsked = 4
	// maxAskedOfMany is that for a reply about more than fewResults resources.
	maxAskedOfMany = 2
	fewResults     = 4
	// maxNamed is how many more of a resource are named.
	maxNamed = 16
	// maxNamedInRow is that for a row of a reply whose other rows ask too.
	maxNamedInRow = 2
)

// pendingOnly leaves of requests those that wait for an answer.
func pendingOnly(requests []core.Request) []core.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(q core.Request) bool { return q.Status != core.RequestPending })
}

// showsWhole says whether the reply has room for one more request with all that
// a decision needs, and takes that room.
func (c *call) showsWhole() bool {
	if c.askedOf >= maxAsked {
		return false
	}
	c.askedOf++
	return true
}

// pendingRequests shows the oldest of a resource's requests whole, names those
// behind them, and gives how many there are when not even that is all.
func (c *call) pendingRequests(pending []core.Request) (shown []any, total int, shrink []slot) {
	named := 0
	for _, q := range pending {
		switch {
		case c.showsWhole():
			o := c.request(q)
			shown, shrink = append(shown, o), append(shrink, o.slots()...)
		case named < maxNamed:
			named++
			shown = append(shown, requestRow{RequestID: q.ID, Kind: q.Kind})
		default:
			total = len(pending)
		}
	}
	return shown, total, shrink
}

// askAll says the requests that come whole, and how many more there are.
func askAll(shown []any, total int) (parts []string) {
	for _, q := range shown {
		if q, ok := q.(interface{ ask() string }); ok {
			parts = append(parts, q.ask())
		}
	}
	if more := max(total, len(shown)) - len(parts); more > 0 {
		parts = append(parts, sayMoreRequests(more))
	}
	return parts
}

func sayMoreRequests(n int) string {
	return fmt.Sprintf("%s for an answer too: list {kind: \"requests\"} names them, inspect shows one.", sayMore(n))
}

func sayMore(n int) string {
	if n == 1 {
		return "1 more waits"
	}
	return fmt.Sprintf("%d more wait", n)
}
