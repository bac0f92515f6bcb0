package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

type respondCmd struct {
	Request string        `arg:"" name:"request_id" help:"The request, as list and inspect show it."`
	Action  string        `arg:"" enum:"answer,approve,deny,cancel" help:"What to do: answer, approve, deny or cancel."`
	Answer  string        `placeholder:"TEXT" help:"The answer to the only question."`
	Answers string        `placeholder:"JSON" help:"Answers by question id: {\"color\": [\"blue\"]}; a single value may stand without brackets."`
	Content string        `placeholder:"JSON" help:"The object that the request's schema asks for."`
	Scope   string        `enum:",once,session" default:"" placeholder:"once|session" help:"How far an approval reaches."`
	Reason  string        `placeholder:"TEXT" help:"Why, for the agent and the journal."`
	Timeout time.Duration `default:"40s" help:"How long to wait for the agent to take the answer (${default})."`
}

// Run answers a request as the file's owner: the answer is stored in
// the journal, the server that runs the session delivers it, and the outcome is
// printed.
func (r respondCmd) Run(ctx context.Context, c *Common, std stdio) (err error) {
	response, err := r.response()
	if err != nil {
		return err
	}
	h, err := newReadOnlyApp(ctx, c, std.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	wait, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	q, err := h.harness.LeaveAnswer(wait, r.Request, response)
	switch {
	case core.CodeOf(err) == core.CodeNotFound:
		return &core.Error{Code: core.CodeNotFound, Message: fmt.Sprintf("there is no request %q in %s", r.Request, c.DB),
			Hint: "harness-mcp list requests shows those there are. Name the server's own journal with --db. A server with --durability off has none, so that only its clients can answer."}
	case err != nil && core.IsContext(err) && ctx.Err() == nil:
		return &core.Error{Code: core.CodeSessionUnavailable, Message: fmt.Sprintf("the server that runs session %s did not take the answer within %s", q.SessionID, r.Timeout),
			Hint: "It was withdrawn, so nothing happened. Try again, or answer through a client of that server."}
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(std.out, outcome(q))
	return err
}

func (r respondCmd) response() (core.Response, error) {
	out := core.Response{Action: core.Action(r.Action), Answer: r.Answer, Scope: core.Scope(r.Scope), Reason: r.Reason}
	if r.Answers != "" {
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(r.Answers), &given); err != nil {
			return out, usageErrorf(tryHelp, "reading --answers: %w", err)
		}
		out.Answers = map[string][]string{}
		for id, v := range given {
			var many []string
			var one string
			if json.Unmarshal(v, &one) == nil {
				many = []string{one}
			} else if err := json.Unmarshal(v, &many); err != nil {
				return out, usageErrorf(tryHelp, "reading --answers: the value of %q is neither a text nor a list of texts", id)
			}
			out.Answers[id] = many
		}
	}
	if r.Content != "" {
		if !json.Valid([]byte(r.Content)) {
			return out, usageErrorf(tryHelp, "reading --content: this is not JSON")
		}
		out.Content = json.RawMessage(r.Content)
	}
	return out, nil
}

// outcome describes the state of a request.
func outcome(q core.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s", q.ID, q.Status)
	if res := q.Resolution; res != nil {
		if res.Action != "" {
			fmt.Fprintf(&b, ": %s", res.Action)
		}
		if res.Scope != "" {
			fmt.Fprintf(&b, " (%s)", res.Scope)
		}
		fmt.Fprintf(&b, " by %s", res.By)
	}
	return b.String()
}
