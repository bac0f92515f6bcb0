package wire

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// UpdateParams is a session/update.
type UpdateParams struct {
	SessionID string      `json:"sessionId"`
	Update    ndjson.Part `json:"update"`
}

// Kinds of updates.
const (
	UserChunk         = "user_message_chunk"
	MessageChunk      = "agent_message_chunk"
	ThoughtChunk      = "agent_thought_chunk"
	ToolCallNew       = "tool_call"
	ToolCallChanged   = "tool_call_update"
	Plan              = "plan"
	CommandsAvailable = "available_commands_update"
	ModeChanged       = "current_mode_update"
	ConfigChanged     = "config_option_update"
	InfoChanged       = "session_info_update"
	UsageChanged      = "usage_update"
)

// UpdateKind is the head of an update.
type UpdateKind struct {
	Kind string `json:"sessionUpdate"`
}

// Chunk is a piece of a message.
type Chunk struct {
	MessageID string `json:"messageId"`
	Content   Block  `json:"content"`
}

// ToolCall is what is known of the use of a tool; absent members stay as they
// were.
type ToolCall struct {
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	Kind       string          `json:"kind"`
	Status     string          `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Content    json.RawMessage `json:"content"`
	Locations  []Location      `json:"locations"`
	Meta       json.RawMessage `json:"_meta"`
}

// Location is a file that a tool works on.
type Location struct {
	Path string `json:"path"`
}

// ToolMeta is where agents put the names of their tools.
type ToolMeta struct {
	ToolName   string `json:"toolName"`
	ClaudeCode struct {
		ToolName string `json:"toolName"`
	} `json:"claudeCode"`
}

// Statuses of tool calls.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
	Failed     = "failed"
)

// Kinds of tools.
const (
	KindRead    = "read"
	KindEdit    = "edit"
	KindDelete  = "delete"
	KindMove    = "move"
	KindSearch  = "search"
	KindExecute = "execute"
	KindFetch   = "fetch"
)

// ToolContent is one part of what a tool shows: a block, a change of a file, or
// a terminal.
type ToolContent struct {
	Type       string  `json:"type"`
	Content    Block   `json:"content"`
	Path       string  `json:"path"`
	OldText    *string `json:"oldText"`
	NewText    string  `json:"newText"`
	TerminalID string  `json:"terminalId"`
}

// Kinds of tool content.
const (
	ContentBlock = "content"
	ContentDiff  = "diff"
)

// PlanParams is a plan.
type PlanParams struct {
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
}

// UsageParams is a usage_update: how full the context is, and what the session
// has cost.
type UsageParams struct {
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// ModeParams is a current_mode_update.
type ModeParams struct {
	CurrentModeID string `json:"currentModeId"`
}

// ConfigParams is a config_option_update.
type ConfigParams struct {
	ConfigOptions json.RawMessage `json:"configOptions"`
}
