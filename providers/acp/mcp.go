package acp

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/acp/internal/wire"
)

// mcpEntry is the entry that MCP clients share.
type mcpEntry struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// mcpServers turns the entries that MCP clients share into ACP's. A transport
// that the agent does not have is refused.
func mcpServers(entries map[string]json.RawMessage, can wire.MCPCapabilities) ([]wire.MCPServer, *core.Error) {
	list := []wire.MCPServer{} // required, even if empty
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var e mcpEntry
		if json.Unmarshal(entries[name], &e) != nil {
			return nil, core.Errorf(core.CodeInvalidArgument, "mcp server %q cannot be read", name).
				WithHint("Use {command, args, env} or {url, headers}.")
		}
		s := wire.MCPServer{Name: name}
		switch {
		case e.Command != "" && (e.Type == "" || e.Type == "stdio"):
			args, env := append([]string{}, e.Args...), pairs(e.Env)
			s.Command, s.Args, s.Env = e.Command, &args, &env
		case e.URL != "":
			headers := pairs(e.Headers)
			s.URL, s.Headers, s.Type = e.URL, &headers, "http"
			if e.Type == "sse" {
				s.Type = "sse"
			}
			if s.Type == "sse" && !can.SSE || s.Type == "http" && !can.HTTP {
				return nil, core.Errorf(core.CodeCapability, "this agent cannot reach the MCP server %q over %s", name, s.Type)
			}
		default:
			return nil, core.Errorf(core.CodeInvalidArgument, "mcp server %q has neither command nor url", name)
		}
		list = append(list, s)
	}
	return list, nil
}

func pairs(m map[string]string) []wire.Pair {
	list := []wire.Pair{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, wire.Pair{Name: name, Value: m[name]})
	}
	return list
}
