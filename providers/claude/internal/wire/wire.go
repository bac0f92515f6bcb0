// Package wire mirrors the lines that Claude Code speaks with
// --input-format and --output-format stream-json, under the vendor's names and
// with no more fields than this adapter reads or writes.
//
// Every line is an object with a type; control messages carry a request_id of
// their sender's. Fields that only newer versions have are optional.
package wire

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Types of lines that the CLI sends.
const (
	System            = "system"
	StreamEvent       = "stream_event"
	Assistant         = "assistant"
	User              = "user"
	ResultType        = "result"
	CommandLifecycle  = "command_lifecycle"
	ConversationReset = "conversation_reset"
	ControlRequest    = "control_request"
	ControlResponse   = "control_response"
	ControlCancel     = "control_cancel_request"
	KeepAlive         = "keep_alive"
)

// Subtypes of system messages.
const (
	Init             = "init"
	Status           = "status"
	APIRetry         = "api_retry"
	PermissionDenied = "permission_denied"
	TaskNotification = "task_notification"
	TaskProgress     = "task_progress"
	ThinkingTokens   = "thinking_tokens"
	CompactBoundary  = "compact_boundary"
	Informational    = "informational"
)

// Subtypes of control requests: first the CLI's, then ours.
const (
	CanUseTool  = "can_use_tool"
	Elicitation = "elicitation"

	Initialize        = "initialize"
	Interrupt         = "interrupt"
	SetPermissionMode = "set_permission_mode"
	SetModel          = "set_model"
	CancelMessage     = "cancel_async_message"
	EndSession        = "end_session"
)

// States of a message of ours.
const (
	Queued    = "queued"
	Started   = "started"
	Completed = "completed"
	Cancelled = "cancelled"
)

// Head identifies the kind of a line.
type Head struct {
	Type            string `json:"type"`
	Subtype         string `json:"subtype"`
	UUID            string `json:"uuid"`
	SessionID       string `json:"session_id"`
	RequestID       string `json:"request_id"`
	ParentToolUseID string `json:"parent_tool_use_id"` // of a sub-agent's line
}

// Lifecycle is the state of a message of ours.
type Lifecycle struct {
	CommandUUID string `json:"command_uuid"`
	State       string `json:"state"`
}

// InitMessage opens every turn.
type InitMessage struct {
	Model        string   `json:"model"`
	Version      string   `json:"claude_code_version"`
	Capabilities []string `json:"capabilities"`
	MCPServers   []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
}

// StatusMessage reports that a model call begins, or that the mode changed.
type StatusMessage struct {
	Status         string `json:"status"`
	PermissionMode string `json:"permissionMode"`
}

// Requesting is the status of a model call that begins.
const Requesting = "requesting"

// Retry reports that a model call failed and is made again.
type Retry struct {
	Attempt      int     `json:"attempt"`
	MaxRetries   int     `json:"max_retries"`
	RetryDelayMS float64 `json:"retry_delay_ms"`
	ErrorStatus  *int    `json:"error_status"` // null: no answer at all
	Error        string  `json:"error"`
}

// Denied reports that a tool use was denied without asking.
type Denied struct {
	ToolUseID string `json:"tool_use_id"`
	Message   string `json:"message"`
}

// Task is a report about a background command or a sub-agent.
type Task struct {
	ToolUseID   string `json:"tool_use_id"`
	Status      string `json:"status"`
	Summary     string `json:"summary"`
	Description string `json:"description"`
}

// Event is an event of the model's own stream.
type Event struct {
	Event struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			ID string `json:"id"`
		} `json:"message"`
		ContentBlock Block `json:"content_block"`
		Delta        struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		} `json:"delta"`
	} `json:"event"`
}

// Types of stream events, of blocks and of deltas.
const (
	MessageStart = "message_start"
	BlockStart   = "content_block_start"
	BlockDelta   = "content_block_delta"

	Text       = "text"
	Thinking   = "thinking"
	ToolUse    = "tool_use"
	ToolResult = "tool_result"
	Image      = "image"

	TextDelta     = "text_delta"
	ThinkingDelta = "thinking_delta"
)

// Block is a content block of a message.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   ndjson.Part     `json:"content,omitempty"` // of a line that came
	IsError   bool            `json:"is_error,omitempty"`
	Source    *ImageSource    `json:"source,omitempty"`
}

// ImageSource is the data of an image block.
type ImageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// AssistantMessage is one finished block of the model's.
type AssistantMessage struct {
	Message struct {
		ID      string  `json:"id"`
		Model   string  `json:"model"`
		Content []Block `json:"content"`
	} `json:"message"`
	Error   string `json:"error"`
	Aborted bool   `json:"aborted"`
}

// UserLine is a line of type user that the CLI sends: results of tools, and
// notes to the model.
type UserLine struct {
	Message struct {
		Content ndjson.Part `json:"content"` // a string, or blocks
	} `json:"message"`
	ToolUseResult  ndjson.Part `json:"tool_use_result"`
	ToolResultMeta []struct {
		ID               string `json:"id"`
		NonExecutionKind string `json:"non_execution_kind"`
	} `json:"tool_result_meta"`
	IsReplay bool `json:"isReplay"`
}

// Why a tool did not run.
const (
	UserRejected   = "user-rejected"
	PermissionRule = "permission-rule"
)

// EditResult is the structured result of a tool that wrote a file.
type EditResult struct {
	Type            string `json:"type"` // "create" for a new file
	FilePath        string `json:"filePath"`
	Content         string `json:"content"`
	StructuredPatch []Hunk `json:"structuredPatch"`
	OriginalFile    *string
}

// Hunk is a part of a unified diff.
type Hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}
