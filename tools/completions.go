package tools

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

// completer completes the arguments of prompts and the variables of resource
// templates with ids and names that have the given prefix.
type completer struct{ *surface }

// CompletePromptArgument completes an argument of a prompt.
func (s completer) CompletePromptArgument(ctx context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c := s.newCall(ctx, "completion/complete")
	switch a.Name {
	case "provider":
		return c.completeProviders(a.Value), nil
	case "id":
		return c.completeIDs(a.Value, core.KindSession, core.KindTurn), nil
	case "ids":
		// Only the id after the last comma is completed.
		typed := strings.LastIndexByte(a.Value, ',') + 1
		found := c.completeIDs(strings.TrimSpace(a.Value[typed:]), core.KindTurn, core.KindSession)
		for i, id := range found.Values {
			found.Values[i] = a.Value[:typed] + id
		}
		return found, nil
	}
	return completion(nil, ""), nil
}

// CompleteResourceArgument completes a variable of a resource template.
func (s completer) CompleteResourceArgument(ctx context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	c := s.newCall(ctx, "completion/complete")
	kinds := map[string]core.ResourceKind{
		"session_id": core.KindSession, "turn_id": core.KindTurn, "request_id": core.KindRequest, "process_id": core.KindProcess,
	}
	kind, ok := kinds[a.Name]
	if !ok {
		return completion(nil, ""), nil
	}
	return c.completeIDs(a.Value, kind), nil
}

// completeIDs returns the newest ids of the given kinds.
func (c *call) completeIDs(prefix string, kinds ...core.ResourceKind) *mcp.Completion {
	var ids []string
	for _, kind := range kinds {
		res, err := c.h.List(c.ctx, c.caller.Owner, core.ListRequest{Kind: kind, Limit: maxCompletions})
		if err != nil {
			continue // completion is optional
		}
		for _, r := range res.Items {
			ids = append(ids, r.ID)
		}
	}
	return completion(ids, prefix)
}

func (c *call) completeProviders(prefix string) *mcp.Completion {
	infos, err := c.h.Providers(c.ctx, "", false)
	if err != nil {
		return completion(nil, prefix)
	}
	var names []string
	for _, i := range infos {
		names = append(names, i.Spec.Name)
	}
	return completion(names, prefix)
}

func completion(words []string, prefix string) *mcp.Completion {
	out := &mcp.Completion{Values: []string{}}
	for _, w := range words {
		if !strings.HasPrefix(w, prefix) {
			continue
		}
		if out.Total++; len(out.Values) < maxCompletions {
			out.Values = append(out.Values, w)
		}
	}
	out.HasMore = out.Total > len(out.Values)
	return out
}
