// Package wire mirrors the records of `pi --mode rpc` under Pi's own names, as
// far as the adapter reads or writes them. Unknown fields are left out; whoever
// needs them has the raw record.
package wire

import "encoding/json"

// Types of records, beside the names of events.
const (
	TypeResponse         = "response"
	TypeDialog           = "extension_ui_request"
	TypeDialogResponse   = "extension_ui_response"
	TypeExtensionError   = "extension_error"
	TypeAgentStart       = "agent_start"
	TypeAgentEnd         = "agent_end"
	TypeAgentSettled     = "agent_settled"
	TypeTurnStart        = "turn_start"
	TypeTurnEnd          = "turn_end"
	TypeMessageStart     = "message_start"
	TypeMessageUpdate    = "message_update"
	TypeMessageEnd       = "message_end"
	TypeToolStart        = "tool_execution_start"
	TypeToolUpdate       = "tool_execution_update"
	TypeToolEnd          = "tool_execution_end"
	TypeQueueUpdate      = "queue_update"
	TypeThinkingChanged  = "thinking_level_changed"
	TypeCompactionStart  = "compaction_start"
	TypeCompactionEnd    = "compaction_end"
	TypeAutoRetryStart   = "auto_retry_start"
	TypeAutoRetryEnd     = "auto_retry_end"
	TypeSummaryScheduled = "summarization_retry_scheduled"
)

// Commands that the adapter sends.
const (
	Prompt           = "prompt"
	Steer            = "steer"
	Abort            = "abort"
	ClearQueue       = "clear_queue"
	GetState         = "get_state"
	SetModel         = "set_model"
	SetThinkingLevel = "set_thinking_level"
)

// What became of a prompt.
const (
	Started = "started"
	Queued  = "queued"
	Handled = "handled"
)

// Command is one command; which fields it takes depends on its type.
type Command struct {
	ID       string  `json:"id"`
	Type     string  `json:"type"`
	Message  *string `json:"message,omitempty"` // present, and empty, for a prompt of images alone
	Images   []Image `json:"images,omitempty"`
	Provider string  `json:"provider,omitempty"`
	ModelID  string  `json:"modelId,omitempty"`
	Level    string  `json:"level,omitempty"`
}

// Image is a picture in a prompt, base64.
type Image struct {
	Type     string `json:"type"` // image
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
}

// Head identifies the kind of a record.
type Head struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Response answers one command. One without an ID answers a line that Pi could
// not read.
type Response struct {
	ID      string          `json:"id"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   string          `json:"error"`
}

// Disposition is the data of a prompt's or a steer's response; older releases
// have none.
type Disposition struct {
	Disposition string `json:"disposition"`
}

// State is the data of get_state's response.
type State struct {
	Model               *Model `json:"model"`
	ThinkingLevel       string `json:"thinkingLevel"`
	IsStreaming         bool   `json:"isStreaming"`
	IsCompacting        bool   `json:"isCompacting"`
	SessionID           string `json:"sessionId"`
	SessionFile         string `json:"sessionFile"`
	MessageCount        int    `json:"messageCount"`
	PendingMessageCount int    `json:"pendingMessageCount"`
}

// Model is a model as Pi knows it.
type Model struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// Name is how a person names the model: provider/id.
func (m *Model) Name() string {
	if m == nil || m.ID == "" {
		return ""
	}
	return m.Provider + "/" + m.ID
}

// Cleared is the data of clear_queue's response.
type Cleared struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

// MessageEvent is message_start, message_update or message_end.
type MessageEvent struct {
	Message *Message      `json:"message"`
	Update  *BlockUpdated `json:"assistantMessageEvent"`
}

// Roles of messages.
const (
	RoleUser       = "user"
	RoleAssistant  = "assistant"
	RoleSystem     = "system"
	RoleToolResult = "toolResult"
)

// Why an assistant's message ended.
const (
	StopStop    = "stop"
	StopLength  = "length"
	StopToolUse = "toolUse"
	StopError   = "error"
	StopAborted = "aborted"
)

// Message is a message of a conversation. The content of a user's may be a
// string; Blocks reads that of an assistant's.
type Message struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	Model        string          `json:"model"`
	Provider     string          `json:"provider"`
	Usage        *Usage          `json:"usage"`
	StopReason   string          `json:"stopReason"`
	ErrorMessage string          `json:"errorMessage"`
	Timestamp    int64           `json:"timestamp"` // Unix milliseconds
}

// Types of content blocks.
const (
	BlockText     = "text"
	BlockThinking = "thinking"
	BlockToolCall = "toolCall"
)

// Block is a part of a message or of a tool's result.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
}

// Blocks reads a list of blocks; anything else has none.
func Blocks(raw json.RawMessage) []Block {
	var list []Block
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// Types of updates of an assistant's message. Those of other types carry
// nothing that does not come again.
const (
	TextDelta     = "text_delta"
	ThinkingDelta = "thinking_delta"
)

// BlockUpdated is a piece of a block of the message that is being written.
type BlockUpdated struct {
	Type         string `json:"type"`
	ContentIndex int    `json:"contentIndex"`
	Delta        string `json:"delta"`
}

// Usage is what one answer of the model used.
type Usage struct {
	Input       int64 `json:"input"`
	Output      int64 `json:"output"`
	CacheRead   int64 `json:"cacheRead"`
	CacheWrite  int64 `json:"cacheWrite"`
	Reasoning   int64 `json:"reasoning"`
	TotalTokens int64 `json:"totalTokens"`
	Cost        *Cost `json:"cost"`
}

// Cost is in US dollars.
type Cost struct {
	Total float64 `json:"total"`
}

// ToolEvent is tool_execution_start, _update or _end.
type ToolEvent struct {
	ToolCallID    string          `json:"toolCallId"`
	ToolName      string          `json:"toolName"`
	Args          json.RawMessage `json:"args"`
	PartialResult *ToolResult     `json:"partialResult"`
	Result        *ToolResult     `json:"result"`
	IsError       bool            `json:"isError"`
}

// ToolArgs are the arguments of Pi's own tools that people want to see.
type ToolArgs struct {
	Command string `json:"command"`
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
	URL     string `json:"url"`
	Query   string `json:"query"`
}

// ToolResult is what a tool gave.
type ToolResult struct {
	Content           json.RawMessage `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	Details           json.RawMessage `json:"details"`
}

// ToolDetails is what Pi's own tools report beside their text.
type ToolDetails struct {
	ExitCode *int   `json:"exit_code"`
	Patch    string `json:"patch"` // unified
}

// AgentEnd is agent_end, without the messages, which were sent before.
type AgentEnd struct {
	WillRetry bool `json:"willRetry"`
}

// AgentSettled is agent_settled.
type AgentSettled struct {
	Aborted bool `json:"aborted"`
}

// QueueUpdate is queue_update: what waits in Pi's own queues.
type QueueUpdate struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

// ThinkingChanged is thinking_level_changed.
type ThinkingChanged struct {
	Level string `json:"level"`
}

// Retry is auto_retry_start, auto_retry_end or summarization_retry_scheduled.
type Retry struct {
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts"`
	DelayMS      int64  `json:"delayMs"`
	ErrorMessage string `json:"errorMessage"`
}

// ExtensionError is extension_error.
type ExtensionError struct {
	ExtensionPath string `json:"extensionPath"`
	Event         string `json:"event"`
	Error         string `json:"error"`
}

// Methods of an extension's user interface that wait for an answer.
const (
	Select  = "select"
	Confirm = "confirm"
	Input   = "input"
	Editor  = "editor"
)

// Methods that want none.
const (
	Notify    = "notify"
	SetStatus = "setStatus"
)

// Dialog is an extension_ui_request.
type Dialog struct {
	ID          string   `json:"id"`
	Method      string   `json:"method"`
	Title       string   `json:"title"`
	Message     string   `json:"message"`
	Options     []string `json:"options"`
	Placeholder string   `json:"placeholder"`
	Prefill     string   `json:"prefill"`
	NotifyType  string   `json:"notifyType"`
	StatusKey   string   `json:"statusKey"`
	Timeout     int64    `json:"timeout"` // milliseconds; 0: none
}

// DialogResponse answers a dialog by exactly one of its last three fields.
type DialogResponse struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	Value     *string `json:"value,omitempty"`
	Confirmed *bool   `json:"confirmed,omitempty"`
	Cancelled bool    `json:"cancelled,omitempty"`
}
