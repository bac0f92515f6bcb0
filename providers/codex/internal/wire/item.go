package wire

import "encoding/json"

// Kinds of items.
const (
	ItemUserMessage  = "userMessage"
	ItemAgentMessage = "agentMessage"
	ItemReasoning    = "reasoning"
	ItemCommand      = "commandExecution"
	ItemFileChange   = "fileChange"
	ItemMcpToolCall  = "mcpToolCall"
	ItemDynamicTool  = "dynamicToolCall"
	ItemCollabAgent  = "collabAgentToolCall"
	ItemWebSearch    = "webSearch"
	ItemImageView    = "imageView"
	ItemImageGen     = "imageGeneration"
)

// Item is any item: the fields of all kinds that the adapter reads.
type Item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"` // inProgress, completed, failed or declined

	Text string `json:"text"` // agentMessage

	Summary []string        `json:"summary"` // reasoning
	Content json.RawMessage `json:"content"` // reasoning: strings; userMessage: inputs

	Command          string          `json:"command"` // commandExecution
	CWD              string          `json:"cwd"`
	ProcessID        string          `json:"processId"`
	CommandActions   []CommandAction `json:"commandActions"`
	AggregatedOutput string          `json:"aggregatedOutput"`
	ExitCode         *int            `json:"exitCode"`

	Changes []FileUpdateChange `json:"changes"` // fileChange

	Server       string          `json:"server"` // mcpToolCall, dynamicToolCall, collabAgentToolCall
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	Result       *ToolResult     `json:"result"`
	Error        *ToolError      `json:"error"`
	ContentItems []ContentItem   `json:"contentItems"`
	Success      *bool           `json:"success"`
	Prompt       string          `json:"prompt"`

	Query string `json:"query"` // webSearch
	Path  string `json:"path"`  // imageView
}

// CommandAction is Codex's reading of a part of a command.
type CommandAction struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

// FileUpdateChange is one file of a patch. Diff is the whole text of an added
// or deleted file, and hunks without a header for an updated one.
type FileUpdateChange struct {
	Path string `json:"path"`
	Kind struct {
		Type     string `json:"type"` // add, delete or update
		MovePath string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"`
}

// ToolResult is what an MCP tool gave back.
type ToolResult struct {
	Content           []ContentItem   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
}

// ContentItem is a part of a tool's result.
type ContentItem struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// ToolError is why a tool failed.
type ToolError struct {
	Message string `json:"message"`
}
