package tools

import (
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// pendingOnly leaves of requests those that wait for an answer.
func pendingOnly(requests []core.Request) []core.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(q core.Request) bool { return q.Status != core.RequestPending })
}

// takeRequestRoom says whether the reply has room for one more request with all that
// a decision needs, and takes that room.
func (c *call) takeRequestRoom() bool {
	if c.requestsShown >= maxRequestsShown {
		return false
	}
	c.requestsShown++
	return true
}

// pendingRequests shows the oldest of a resource's requests whole, names those
// behind them, and gives how many there are when not even that is all.
func (c *call) pendingRequests(pending []core.Request) (shown []any, total int, shrink []slot) {
	named := 0
	for _, q := range pending {
		switch {
		case c.takeRequestRoom():
			o := c.request(q)
			shown, shrink = append(shown, o), append(shrink, o.slots()...)
		case named < maxNamed:
			named++
			shown = append(shown, requestRef{RequestID: q.ID, Kind: q.Kind})
		default:
			total = len(pending)
		}
	}
	return shown, total, shrink
}

// proseRequests says the requests that come whole, and how many more there are.
func proseRequests(shown []any, total int) (parts []string) {
	for _, q := range shown {
		if q, ok := q.(*requestObject); ok {
			parts = append(parts, q.proseContent())
		}
	}
	if more := max(total, len(shown)) - len(parts); more > 0 {
		parts = append(parts, proseMoreRequests(more))
	}
	return parts
}

func proseMoreRequests(n int) string {
	return fmt.Sprintf("%s for an answer too: list {kind: \"requests\"} names them, inspect shows one.", proseMore(n))
}

func proseMore(n int) string {
	if n == 1 {
		return "1 more waits"
	}
	return fmt.Sprintf("%d more wait", n)
}
