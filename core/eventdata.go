package core

import "encoding/json"

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
	Changes
}

type dataEnded struct {
	Reason Reason     `json:"reason,omitempty"`
	Error  *TurnError `json:"error,omitempty"`
}

type dataPrompt struct {
	Prompt   string `json:"prompt"`
	Origin   Origin `json:"origin"`
	Position int    `json:"position,omitempty"`
}

type dataQueue struct {
	Queued int `json:"queued"`
}

type dataTurnStarted struct {
	ProviderRef string `json:"provider_ref,omitempty"`
}

type dataCancel struct {
	Cause Code `json:"cause,omitempty"`
}

type dataSteered struct {
	Prompt string `json:"prompt"`
}

type dataRequest struct {
	Request Request `json:"request"`
}

type dataResolved struct {
	Action Action `json:"action"`
	Scope  Scope  `json:"scope,omitempty"`
	By     string `json:"by"`
	Client string `json:"client,omitempty"`
	Reason string `json:"reason,omitempty"`
}

type dataExpired struct {
	Reason Reason `json:"reason"`
}

type dataStoreFailed struct {
	Message string `json:"message"`
}

type dataStoreRecovered struct {
	LostFrom uint64 `json:"lost_from"`
	LostTo   uint64 `json:"lost_to"`
}

// dataTerminal is the data of the four terminal events of a turn.
type dataTerminal struct {
	Status TurnStatus `json:"status"`
	Reason Reason     `json:"reason,omitempty"`
	Result dataResult `json:"result"`
}

// dataResult is the result of a turn. A text longer than InlineText stands
// only in the message event TextSeq.
type dataResult struct {
	Text              string          `json:"text,omitempty"`
	TextSeq           uint64          `json:"text_seq,omitempty"`
	TextBytes         int             `json:"text_bytes,omitempty"`
	Usage             *Usage          `json:"usage,omitempty"`
	CostUSD           *float64        `json:"cost_usd,omitempty"`
	ProviderSessionID string          `json:"provider_session_id,omitempty"`
	StopReason        string          `json:"stop_reason,omitempty"`
	StructuredOutput  json.RawMessage `json:"structured_output,omitempty"`
	StructuredError   string          `json:"structured_error,omitempty"`
	Error             *TurnError      `json:"error,omitempty"`
	Provider          json.RawMessage `json:"provider,omitempty"`
}

// InlineText is the longest answer, in bytes, that a turn's row and its
// terminal event repeat; a longer one stands once, in its message event.
const InlineText = 8 << 10
