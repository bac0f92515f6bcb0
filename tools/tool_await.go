package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

type awaitArgs struct {
	IDs   []string `arg:"ids,required" min:"1" max:"64" doc:"turns, sessions, processes, requests"`
	Until string   `arg:"until" enum:"all|any"`
	waiting
	WakeOnRequest  *bool    `arg:"wake_on_request" doc:"default true"`
	IgnoreRequests []string `arg:"ignore_requests" doc:"request ids already known"`
	Pattern        string   `arg:"pattern" doc:"RE2: wait for a line of a process's output, read from its beginning"`
	After          *int64   `arg:"after" min:"0" doc:"with one process: output after this cursor"`
}

var awaitTool = tool[awaitArgs, *awaitObject]{
	name:  "await",
	title: "Wait for work",
	description: "Wait for turns, sessions, processes or requests, for all of them or the first (until: any). Returns " +
		"early when an agent asks something: answer with respond, then await again. Time running out is no error: the " +
		"reply says how far each is; call it again. Never stops the work.",
	hints:  reads,
	meta:   alwaysShown,
	output: awaitOutput,
	run: func(ctx context.Context, c *call, in awaitArgs) (*awaitObject, error) {
		req := core.AwaitRequest{
			IDs: distinct(in.IDs), Any: in.Until == "any", Wait: in.duration(c.opts.Wait),
			WakeOnRequest:  in.WakeOnRequest == nil || *in.WakeOnRequest,
			IgnoreRequests: in.IgnoreRequests, Progress: c.reportProgress, Pattern: in.Pattern,
			After: uint64(intOr(in.After, 0)),
		}
		res, err := c.await(ctx, req)
		if err != nil {
			return nil, err
		}
		c.now = time.Now()
		return c.awaited(in, res), nil
	},
}

// distinct removes repeated ids.
func distinct(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// awaitObject is the state of awaited resources: finished ones whole, the
// others in compact form.
type awaitObject struct {
	Outcome core.Outcome `json:"outcome"`
	nexts
	Results   []any    `json:"results"` // an object of its kind, or *compactObject
	WaitingOn []string `json:"waiting_on,omitempty"`

	done     int
	requests []*requestObject
	elapsed  time.Duration
	shrink   []slot
}

func (c *call) awaited(in awaitArgs, res core.AwaitResult) *awaitObject {
	o := &awaitObject{Outcome: res.Outcome, WaitingOn: res.WaitingOn, Results: []any{}, elapsed: in.duration(c.opts.Wait)}
	many := len(res.Results) >= manyResults
	for _, r := range res.Results {
		switch {
		case (r.Done() || r.Matched != nil) && !many:
			o.addDone(c, r)
		case many:
			if r.Done() || r.Matched != nil {
				o.done++
			}
			o.addMinimal(c, r, in)
		default:
			o.addCompact(c, r, in, len(res.Results))
		}
	}
	c.afterAwait(o, in)
	return o
}

func (o *awaitObject) addDone(c *call, r core.Resource) {
	o.done++
	b := c.resourceObject(r)
	if next := *b.nextCalls(); len(o.Next) == 0 && o.done == 1 {
		o.Next = next
	}
	*b.nextCalls() = nil // the whole reply has the suggestions
	o.Results = append(o.Results, b)
	o.shrink = append(o.shrink, b.slots()...)
}

// addMinimal adds one of many resources. The first ones with requests name one,
// since that ended the wait.
func (o *awaitObject) addMinimal(c *call, r core.Resource, in awaitArgs) {
	row := c.compact(r).minimal()
	o.Results = append(o.Results, row)
	if o.Outcome != core.OutcomeRequest || r.Done() || len(o.requests) >= maxMinimalRequests {
		return
	}
	for _, q := range r.Pending() {
		if !slices.Contains(in.IgnoreRequests, q.ID) {
			row.addPending([]core.Request{q})
			o.requests = append(o.requests, c.request(q))
			return
		}
	}
}

// addCompact adds a resource that goes on. Its requests are shown whole if a
// request ended the wait.
func (o *awaitObject) addCompact(c *call, r core.Resource, in awaitArgs, n int) {
	entry := &compactWithRequests{compactObject: c.compact(r)}
	o.Results = append(o.Results, entry.compactObject)
	if o.Outcome != core.OutcomeRequest {
		entry.shorten(n)
		return
	}
	for _, q := range r.Pending() {
		if slices.Contains(in.IgnoreRequests, q.ID) {
			continue
		}
		if n > fewResults && len(o.requests) >= maxRequestsShownOfMany || !c.takeRequestRoom() {
			entry.PendingTotal++
			continue
		}
		full := c.request(q)
		entry.Pending = append(entry.Pending, full)
		o.requests = append(o.requests, full)
		o.shrink = append(o.shrink, full.slots()...)
	}
	if len(entry.Pending) == 0 { // other requests are shown whole: these are named
		entry.PendingRequests = entry.PendingRequests[:min(len(entry.PendingRequests), maxNamedInCompact)]
		entry.shorten(n)
		return
	}
	if entry.PendingTotal > 0 {
		entry.PendingTotal += len(entry.Pending)
	}
	entry.PendingRequests, entry.Activity = nil, "" // the requests follow
	o.Results[len(o.Results)-1] = entry
}

// compactWithRequests is a compact object whose requests are shown whole.
type compactWithRequests struct {
	*compactObject
	Pending      []*requestObject `json:"pending_requests"`
	PendingTotal int              `json:"pending_requests_total,omitempty"` // when not all are listed
}

func (c *call) afterAwait(o *awaitObject, in awaitArgs) {
	switch {
	case o.Outcome == core.OutcomeRequest && len(o.requests) > 0:
		o.Next = nil
		if len(o.Results) >= manyResults {
			o.suggest("inspect", "what it asks", args{"id": o.requests[0].RequestID})
		}
		c.suggestAnswers(&o.nexts, o.requests[0])
	case len(o.WaitingOn) > 0:
		a := args{"ids": o.WaitingOn}
		why := "goes on waiting"
		if o.done > 0 {
			why = "waits for the rest"
		}
		if in.Until == "any" && len(o.WaitingOn) > 1 {
			a["until"], why = "any", "waits for the next"
		}
		if !in.keepLooking(a, o.WaitingOn) {
			return // the pattern is too long to repeat: the caller makes the same call again
		}
		o.Next = append([]suggestion{{Tool: "await", Arguments: a, Why: why}}, o.Next...)
		if o.Outcome == core.OutcomeTimeout {
			o.Next = o.Next[:1]
		}
	}
}

// keepLooking adds pattern and after to the call that waits for the rest, if a
// process is among it. It reports whether the call is then complete.
func (in awaitArgs) keepLooking(a args, rest []string) bool {
	if in.Pattern == "" || !slices.ContainsFunc(rest, func(id string) bool { return strings.HasPrefix(id, core.PrefixProcess) }) {
		return true
	}
	a["pattern"] = in.Pattern
	if in.After != nil {
		a["after"] = *in.After
	}
	return len(in.Pattern) <= maxNextPattern
}

func (o *awaitObject) slots() []slot { return o.shrink }

func (o *awaitObject) links() []mcp.ResourceLink {
	var out []mcp.ResourceLink
	for _, r := range o.Results {
		if b, ok := r.(body); ok {
			out = append(out, b.links()...)
		}
	}
	return out
}

func (o *awaitObject) prose() prose {
	if len(o.Results) == 1 {
		return o.single()
	}
	total := len(o.Results)
	var line string
	switch o.Outcome {
	case core.OutcomeRequest:
		line = fmt.Sprintf("request_pending: %s for an answer; %d of %d done.", waits(len(o.requests)), o.done, total)
	case core.OutcomeTimeout:
		line = fmt.Sprintf("timeout after %s, no failure: %d of %d done, the work goes on.",
			proseDuration(o.elapsed.Milliseconds()), o.done, total)
	default:
		line = fmt.Sprintf("%s: %d of %d.", o.Outcome, o.done, total)
	}
	var content []string
	for _, r := range o.Results {
		content = append(content, proseResult(r))
	}
	apart := "\n\n"
	if total >= manyResults {
		apart = "\n"
	}
	return prose{lines: []string{line}, content: strings.Join(content, apart)}
}

// single returns a single result as its own reply would show it.
func (o *awaitObject) single() prose {
	switch r := o.Results[0].(type) {
	case body:
		p := r.prose()
		p.lines[0] = string(o.Outcome) + ": " + p.lines[0]
		return p
	case *compactWithRequests:
		return prose{lines: []string{"request_pending: " + r.String() + "."}, content: r.proseContent()}
	case *compactObject:
		line := string(o.Outcome) + ": "
		if o.Outcome == core.OutcomeTimeout {
			line = "timeout, no failure: "
		}
		return prose{lines: []string{line + r.String() + "."}}
	}
	return prose{lines: []string{string(o.Outcome)}}
}

func waits(n int) string {
	if n == 1 {
		return "1 request waits"
	}
	return fmt.Sprintf("%d requests wait", n)
}

func (r *compactWithRequests) proseContent() string {
	return strings.Join(proseRequests(r.Pending, r.PendingTotal), "\n\n")
}

func proseResult(r any) string {
	switch r := r.(type) {
	case body:
		p := r.prose()
		return strings.TrimSpace(strings.Join(p.lines, "\n") + "\n" + p.content)
	case *compactWithRequests:
		return r.String() + ".\n" + r.proseContent()
	case fmt.Stringer:
		return r.String() + "."
	}
	return ""
}
