package machine

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

// The data of the events that core itself writes.

type dataStarted struct {
	Provider  string `json:"provider"`
	Transport string `json:"transport,omitempty"`
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	Model     string `json:"model,omitempty"`
}

type dataReady struct {
	ProviderSessionID string `json:"provider_session_id,omitempty"`
	Model             string `json:"model,omitempty"`
	Version           string `json:"version,omitempty"`
	PID               int    `json:"pid,omitempty"`
	Resumed           bool   `json:"resumed,omitempty"`
	Epoch             uint64 `json:"epoch"`
}

type dataUpdated struct {
	ProviderSessionID string `json:"provider_session_id,omitempty"`
	core.Changes
}

type dataEnded struct {
	Reason core.Reason     `json:"reason,omitempty"`
	Error  *core.TurnError `json:"error,omitempty"`
}

type dataPrompt struct {
	Prompt   string      `json:"prompt"`
	Origin   core.Origin `json:"origin"`
	Position int         `json:"position,omitempty"`
}

type dataQueue struct {
	Queued int `json:"queued"`
}

type dataTurnStarted struct {
	ProviderRef string `json:"provider_ref,omitempty"`
}

type dataCancel struct {
	Cause core.Code `json:"cause,omitempty"`
}

type dataSteered struct {
	Prompt string `json:"prompt"`
}

// RequestData is the data of request_created.
type RequestData struct {
	Request core.Request `json:"request"`
}

type dataResolved struct {
	Action core.Action `json:"action"`
	Scope  core.Scope  `json:"scope,omitempty"`
	By     string      `json:"by"`
	Client string      `json:"client,omitempty"`
	Reason string      `json:"reason,omitempty"`
}

// ExpiredData is the data of request_expired.
type ExpiredData struct {
	Reason core.Reason `json:"reason"`
}

// TerminalData is the data of the four terminal events of a turn.
type TerminalData struct {
	Status core.TurnStatus `json:"status"`
	Reason core.Reason     `json:"reason,omitempty"`
	Result dataResult      `json:"result"`
}

// dataResult is the result of a turn. A text longer than InlineText is only in
// the message event TextSeq.
type dataResult struct {
	Text              string          `json:"text,omitempty"`
	TextSeq           uint64          `json:"text_seq,omitempty"`
	TextBytes         int             `json:"text_bytes,omitempty"`
	Usage             *core.Usage     `json:"usage,omitempty"`
	CostUSD           *float64        `json:"cost_usd,omitempty"`
	ProviderSessionID string          `json:"provider_session_id,omitempty"`
	StopReason        string          `json:"stop_reason,omitempty"`
	StructuredOutput  json.RawMessage `json:"structured_output,omitempty"`
	StructuredError   string          `json:"structured_error,omitempty"`
	Error             *core.TurnError `json:"error,omitempty"`
	Provider          json.RawMessage `json:"provider,omitempty"`
}

// InlineText is the longest answer, in bytes, that a turn's row and its
// terminal event repeat; a longer one is only in its message event.
const InlineText = 8 << 10
