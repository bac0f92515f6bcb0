package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
)

// maxRounds bounds how often one call may ask for input.
const maxRounds = 10

// InputRequired is what a server of the modern era asks before a call can go
// on. Requests has the parameters of elicitations by key.
type InputRequired struct {
	Requests map[string]json.RawMessage
	State    string
}

// ParseInputRequired reports whether the result of a call asks for input.
func ParseInputRequired(raw json.RawMessage) (InputRequired, bool) {
	var wire struct {
		ResultType    string `json:"resultType"`
		InputRequests map[string]struct {
			Params json.RawMessage `json:"params"`
		} `json:"inputRequests"`
		RequestState string `json:"requestState"`
	}
	if json.Unmarshal(raw, &wire) != nil || wire.ResultType != "input_required" {
		return InputRequired{}, false
	}
	in := InputRequired{Requests: map[string]json.RawMessage{}, State: wire.RequestState}
	for key, r := range wire.InputRequests {
		in.Requests[key] = r.Params
	}
	return in, true
}

// Again makes a call again with what was asked for. A key without a response
// is left out.
func (c *Client) Again(ctx context.Context, tool string, args map[string]any, responses map[string]any, state string) (Result, error) {
	p, err := c.Request("tools/call", map[string]any{
		"name": tool, "arguments": args, "inputResponses": responses, "requestState": state,
	})
	if err != nil {
		return Result{}, err
	}
	m, err := p.Wait(ctx)
	if err != nil {
		return Result{}, err
	}
	return ParseResult(m.Result)
}

// CallAsked is Call for a client of either era whose Answer shows forms: in the
// modern era it makes the call again until nothing more is asked.
func (c *Client) CallAsked(ctx context.Context, tool string, args map[string]any) (Result, error) {
	r, err := c.Call(ctx, tool, args)
	for range maxRounds {
		in, asked := ParseInputRequired(r.Raw)
		if err != nil || !asked {
			return r, err
		}
		responses := map[string]any{}
		for key, params := range in.Requests {
			if c.Answer == nil {
				continue
			}
			if answer, err := c.Answer("elicitation/create", params); err == nil {
				responses[key] = answer
			}
		}
		r, err = c.Again(ctx, tool, args, responses, in.State)
	}
	return r, fmt.Errorf("mcptest: %s asked more than %d times", tool, maxRounds)
}
