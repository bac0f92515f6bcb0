package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// mcpVar makes the test binary an MCP server with two tools: "write", which
// changes something, and "form", which asks its user.
const mcpVar = "CODEX_TEST_MCP"

func serveMCP(in io.Reader, out io.Writer) {
	lines := ndjson.NewReader(in, 0)
	var call json.RawMessage // of the tool that waits for its form
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		var m frameOf
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			reply(out, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}`)
		case "tools/list":
			reply(out, m.ID, `{"tools":[{"name":"write","inputSchema":{"type":"object","properties":{}}},{"name":"form","inputSchema":{"type":"object","properties":{}},"annotations":{"readOnlyHint":true}}]}`)
		case "tools/call":
			var p struct{ Name string }
			_ = json.Unmarshal(m.Params, &p)
			if p.Name == "form" {
				call = m.ID
				fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`)
				continue
			}
			reply(out, m.ID, `{"content":[{"type":"text","text":"written by `+os.Getenv("TINY_NAME")+`"}]}`)
		case "": // the answer to the form
			text, _ := json.Marshal(string(m.Result))
			reply(out, call, `{"content":[{"type":"text","text":`+string(text)+`}]}`)
		}
	}
}

func reply(out io.Writer, id json.RawMessage, result string) {
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}
