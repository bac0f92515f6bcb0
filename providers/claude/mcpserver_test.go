package claude

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// mcpVar makes the test binary an MCP server with two tools: "greet", which
// returns the name that is in its environment, and "form", which asks its user.
const mcpVar = "CLAUDE_TEST_MCP"

// rpc is a message of an MCP client's.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string `json:"name"`
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

func serveMCP(in io.Reader, out io.Writer) {
	lines := ndjson.NewReader(in, 0)
	var call json.RawMessage // of the tool that waits for its form
	reply := func(id json.RawMessage, result string) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		var m rpc
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "initialize":
			reply(m.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}`, m.Params.ProtocolVersion))
		case m.Method == "tools/list":
			reply(m.ID, `{"tools":[{"name":"greet","inputSchema":{"type":"object","properties":{}}},{"name":"form","inputSchema":{"type":"object","properties":{}}}]}`)
		case m.Method == "tools/call" && m.Params.Name == "form":
			call = m.ID
			fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`)
		case m.Method == "tools/call":
			reply(m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, "greetings from "+os.Getenv("TINY_NAME")))
		case m.Method == "" && string(m.ID) == `"form"`:
			text, err := json.Marshal(string(m.Result))
			if err != nil { // a string always encodes
				return
			}
			reply(call, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text))
		case len(m.ID) > 0 && m.Method != "":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}
