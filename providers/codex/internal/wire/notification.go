package wire

import "encoding/json"

// Scope is what most notifications and requests begin with. A turn's own
// notifications carry Turn instead of TurnID.
type Scope struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	Turn     *struct {
		ID string `json:"id"`
	} `json:"turn"`
}

// TurnNotification carries a whole turn.
type TurnNotification struct {
	Turn Turn `json:"turn"`
}

// ItemNotification carries a whole item.
type ItemNotification struct {
	Item Item `json:"item"`
}

// DeltaNotification carries a piece of an item.
type DeltaNotification struct {
	ItemID       string `json:"itemId"`
	Delta        string `json:"delta"`
	SummaryIndex int    `json:"summaryIndex"`
	Message      string `json:"message"` // of a progress report
}

// ErrorNotification reports an error inside a turn.
type ErrorNotification struct {
	Error     TurnError `json:"error"`
	WillRetry bool      `json:"willRetry"`
}

// WarningNotification is any of the warnings: a message, or a summary with
// details.
type WarningNotification struct {
	Message string `json:"message"`
	Summary string `json:"summary"`
	Details string `json:"details"`
}

// TokenUsageNotification reports tokens.
type TokenUsageNotification struct {
	TokenUsage struct {
		Total TokenUsage `json:"total"` // of the thread
		Last  TokenUsage `json:"last"`  // of the last model call
	} `json:"tokenUsage"`
}

// TokenUsage counts tokens.
type TokenUsage struct {
	TotalTokens           int64 `json:"totalTokens"`
	InputTokens           int64 `json:"inputTokens"`
	CachedInputTokens     int64 `json:"cachedInputTokens"`
	OutputTokens          int64 `json:"outputTokens"`
	ReasoningOutputTokens int64 `json:"reasoningOutputTokens"`
}

// RateLimitsNotification reports the account's limits.
type RateLimitsNotification struct {
	RateLimits json.RawMessage `json:"rateLimits"`
}

// PlanNotification carries the whole plan.
type PlanNotification struct {
	Plan []struct {
		Step   string `json:"step"`
		Status string `json:"status"` // pending, inProgress or completed
	} `json:"plan"`
}

// ModelReroutedNotification reports that another model answers.
type ModelReroutedNotification struct {
	ToModel string `json:"toModel"`
}

// ResolvedNotification reports that a request of the server's is done with.
type ResolvedNotification struct {
	RequestID json.RawMessage `json:"requestId"`
}
