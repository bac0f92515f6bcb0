package wire

import "encoding/json"

// Result ends a turn.
type Result struct {
	Subtype          string                `json:"subtype"`
	IsError          bool                  `json:"is_error"`
	TerminalReason   string                `json:"terminal_reason"`
	Result           string                `json:"result"`
	Errors           []string              `json:"errors"`
	StopReason       string                `json:"stop_reason"`
	APIErrorStatus   *int                  `json:"api_error_status"`
	NumTurns         int                   `json:"num_turns"`
	TotalCostUSD     *float64              `json:"total_cost_usd"` // of the process so far
	Usage            *Usage                `json:"usage"`
	ModelUsage       map[string]ModelUsage `json:"modelUsage"` // of the process so far
	StructuredOutput json.RawMessage       `json:"structured_output"`
	Denials          json.RawMessage       `json:"permission_denials"`
	UserMessageUUIDs []string              `json:"user_message_uuids"`
	Origin           *struct {
		Kind string `json:"kind"`
	} `json:"origin"`
}

// AbortedPrefix begins the terminal_reason of a turn that was stopped.
const AbortedPrefix = "aborted_"

// NoConversation begins the error about an unknown conversation.
const NoConversation = "No conversation found"

// Usage is what one turn of the main conversation used.
type Usage struct {
	InputTokens   int64 `json:"input_tokens"`
	OutputTokens  int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

// ModelUsage is what was used of one model, sub-agents included.
type ModelUsage struct {
	InputTokens   int64  `json:"inputTokens"`
	OutputTokens  int64  `json:"outputTokens"`
	CacheRead     int64  `json:"cacheReadInputTokens"`
	CacheCreation int64  `json:"cacheCreationInputTokens"`
	Thinking      *int64 `json:"thinkingTokens"`
}
