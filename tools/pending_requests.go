package tools

import (
	"fmt"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// pendingOnly returns the requests that wait for an answer.
func pendingOnly(requests []core.Request) []core.Request {
	return slices.DeleteFunc(slices.Clone(requests), func(q core.Request) bool { return q.Status != core.RequestPending })
}

// takeRequestRoom reports whether the reply has room for one more whole
// request, and takes it.
func (c *call) takeRequestRoom() bool {
	if c.requestsShown >= maxRequestsShown {
		return false
	}
	c.requestsShown++
	return true
}

// pendingRequests shows the oldest of a resource's requests whole and names the
// next ones. total is the number of all, if not all are named.
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

// proseRequests returns the requests that are shown whole, and how many more
// there are.
func proseRequests[T any](shown []T, total int) (parts []string) {
	for _, q := range shown {
		if q, ok := any(q).(*requestObject); ok {
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
