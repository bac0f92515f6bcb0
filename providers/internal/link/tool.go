package link

import (
	"cmp"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// MCPPrefix begins the names of tools of MCP servers: mcp__SERVER__TOOL.
const MCPPrefix = "mcp__"

// ToolKind returns the kind of a tool by its name: that of the table, ToolMCP for
// a tool of an MCP server, else ToolOther.
func ToolKind(name string, table map[string]core.ToolKind) core.ToolKind {
	if strings.HasPrefix(name, MCPPrefix) {
		return core.ToolMCP
	}
	return cmp.Or(table[name], core.ToolOther)
}

// ToolTitle returns one line about the use of a tool: its command, else its name
// and the first argument that is not empty.
func ToolTitle(name, command string, arguments ...string) string {
	title := command
	if arg := cmp.Or(arguments...); title == "" && arg != "" {
		title = name + " " + arg
	}
	title, _, _ = strings.Cut(strings.TrimSpace(title), "\n")
	return cmp.Or(title, name)
}
