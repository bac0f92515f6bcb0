package core

import (
	"encoding/json"
	"time"
)

// TurnStatus is the status of a turn.
type TurnStatus string

// The status words of a turn. The last four are terminal; of them only
// TurnDoneInterrupted is set without the provider's verdict.
const (
	TurnIsQueued        TurnStatus = "queued"
	TurnIsStarting      TurnStatus = "starting"
	TurnIsRunning       TurnStatus = "running"
	TurnIsAwaitingInput TurnStatus = "awaiting_input"
	TurnIsCancelling    TurnStatus = "cancelling"
	TurnDoneCompleted   TurnStatus = "completed"
	TurnDoneFailed      TurnStatus = "failed"
	TurnDoneCancelled   TurnStatus = "cancelled"
	TurnDoneInterrupted TurnStatus = "interrupted"
)

// Ended reports whether s is terminal.
func (s TurnStatus) Ended() bool {
	switch s {
	case TurnDoneCompleted, TurnDoneFailed, TurnDoneCancelled, TurnDoneInterrupted:
		return true
	}
	return false
}

// Origin is who began a turn.
type Origin string

// Who begins turns.
const (
	OriginCaller   Origin = "caller"
	OriginProvider Origin = "provider"
)

// Usage is what a provider reported; a field that it did not report is nil.
type Usage struct {
	InputTokens       *int64 `json:"input_tokens,omitempty"`
	CachedInputTokens *int64 `json:"cached_input_tokens,omitempty"`
	OutputTokens      *int64 `json:"output_tokens,omitempty"`
	ReasoningTokens   *int64 `json:"reasoning_tokens,omitempty"`
	TotalTokens       *int64 `json:"total_tokens,omitempty"`
}

// TurnError is why a turn failed. Provider is the provider's own report.
type TurnError struct {
	Code     Code            `json:"code"`
	Message  string          `json:"message"`
	Provider json.RawMessage `json:"provider,omitempty"`
}

// ContentBlock is a part of a prompt beside its text.
type ContentBlock struct {
	Type     string `json:"type"` // text or image
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"` // base64, for an image
	MIMEType string `json:"mime_type,omitempty"`
}

// TurnInput is what a caller sends for one turn. Prompt reaches the agent as
// text, whatever it begins with.
type TurnInput struct {
	Prompt          string                     `json:"prompt"`
	Content         []ContentBlock             `json:"content,omitempty"`
	Attachments     []string                   `json:"attachments,omitempty"` // absolute paths
	ReasoningEffort string                     `json:"reasoning_effort,omitempty"`
	OutputSchema    json.RawMessage            `json:"output_schema,omitempty"`
	Metadata        map[string]string          `json:"metadata,omitempty"`
	ProviderOptions map[string]json.RawMessage `json:"provider_options,omitempty"`
}

// Size is the bytes that count against the limits of prompts and the queue.
func (in TurnInput) Size() int {
	n := len(in.Prompt)
	for _, b := range in.Content {
		n += len(b.Text) + len(b.Data)
	}
	return n
}

// Turn is the snapshot of a turn. The text of its answer is Text when it is
// short; a longer one is only in the journal, in the message event TextSeq.
type Turn struct {
	ID                string            `json:"turn_id"`
	SessionID         string            `json:"session_id"`
	Owner             string            `json:"owner"`
	Status            TurnStatus        `json:"status"`
	Origin            Origin            `json:"origin"`
	Epoch             uint64            `json:"epoch"`
	PromptPreview     string            `json:"prompt_preview,omitempty"`
	PromptHash        string            `json:"prompt_hash,omitempty"` // to tell a repeated turn_id from a reused one
	ProviderRef       string            `json:"provider_ref,omitempty"`
	Activity          string            `json:"activity,omitempty"`
	AcceptedAt        time.Time         `json:"accepted_at"`
	StartedAt         time.Time         `json:"started_at,omitzero"`
	FinishedAt        time.Time         `json:"finished_at,omitzero"`
	LastEventAt       time.Time         `json:"last_event_at,omitzero"`
	StopReason        string            `json:"stop_reason,omitempty"`
	Reason            Reason            `json:"reason,omitempty"`
	Error             *TurnError        `json:"error,omitempty"`
	Warnings          []string          `json:"warnings,omitempty"`
	Usage             *Usage            `json:"usage,omitempty"`
	CostUSD           *float64          `json:"cost_usd,omitempty"`
	FilesChanged      []FileEdit        `json:"files_changed,omitempty"` // without diffs
	StructuredOutput  json.RawMessage   `json:"structured_output,omitempty"`
	StructuredError   string            `json:"structured_error,omitempty"`
	ProviderSessionID string            `json:"provider_session_id,omitempty"`
	Text              string            `json:"text,omitempty"`
	TextSeq           uint64            `json:"text_seq,omitempty"`
	TextBytes         int               `json:"text_bytes,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	FirstSeq          uint64            `json:"first_seq,omitempty"`
	LastSeq           uint64            `json:"cursor,omitempty"`
	QueuePosition     int               `json:"-"` // 1 is next; filled when read
}
