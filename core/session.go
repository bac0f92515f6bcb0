package core

import (
	"encoding/json"
	"time"
)

// SessionStatus is the status of a session. It is derived from the facts in the
// session's state, never assigned.
type SessionStatus string

// The status words of a session.
const (
	StatusOpening       SessionStatus = "opening"
	StatusIdle          SessionStatus = "idle"
	StatusStarting      SessionStatus = "starting"
	StatusRunning       SessionStatus = "running"
	StatusAwaitingInput SessionStatus = "awaiting_input"
	StatusCancelling    SessionStatus = "cancelling"
	StatusClosing       SessionStatus = "closing"
	StatusUnavailable   SessionStatus = "unavailable"
	StatusClosed        SessionStatus = "closed"
	StatusFailed        SessionStatus = "failed"
	StatusKilled        SessionStatus = "killed"
)

// Live reports whether a session of this status has, or is opening, a provider.
func (s SessionStatus) Live() bool { return !s.Ended() && s != StatusUnavailable }

// Ended reports whether only a resume can make the session usable again.
func (s SessionStatus) Ended() bool {
	return s == StatusClosed || s == StatusFailed || s == StatusKilled
}

// Reason is why something ended without the provider's verdict. The list is
// closed.
type Reason string

// Reasons of ended sessions, turns and requests.
const (
	ReasonForcedStop        Reason = "forced_stop"
	ReasonSessionClosed     Reason = "session_closed"
	ReasonSessionShutdown   Reason = "session_shutdown"
	ReasonServerRestarted   Reason = "server_restarted"
	ReasonDurabilityLost    Reason = "durability_lost"
	ReasonNoVerdict         Reason = "no_provider_verdict"
	ReasonQueueCleared      Reason = "queue_cleared"
	ReasonTransportLost     Reason = "transport_lost"
	ReasonIdleTimeout       Reason = "idle_timeout"
	ReasonNoAnswer          Reason = "no_answer"
	ReasonInterrupted       Reason = "interrupted"
	ReasonProviderResolved  Reason = "provider_resolved"
	ReasonResponseUncertain Reason = "response_uncertain"
	ReasonTurnEnded         Reason = "turn_ended"
)

// Durability is whether what callers see is on disk.
type Durability string

// How durable a resource is.
const (
	Durable            Durability = "durable"
	DurabilityDisabled Durability = "disabled"
	DurabilityDegraded Durability = "degraded"
)

// ApprovalMode is when an agent must ask.
type ApprovalMode string

// The approval modes. ApprovalDefault is the provider's own asking mode.
const (
	ApprovalDefault  ApprovalMode = "default"
	ApprovalPrompt   ApprovalMode = "prompt"
	ApprovalAutoEdit ApprovalMode = "auto_edit"
	ApprovalAuto     ApprovalMode = "auto_approve"
)

// SandboxMode is what an agent may read and change.
type SandboxMode string

// The sandbox modes.
const (
	SandboxDefault        SandboxMode = "default"
	SandboxReadOnly       SandboxMode = "read_only"
	SandboxWorkspaceWrite SandboxMode = "workspace_write"
	SandboxUnrestricted   SandboxMode = "unrestricted"
)

// AnswerBy is who is asked first when an agent needs a decision.
type AnswerBy string

// Who answers requests.
const (
	AnswerByCaller AnswerBy = "caller"
	AnswerByUser   AnswerBy = "user"
)

// EnvMode is how Env is combined with the server's own environment.
type EnvMode string

// How an environment is made.
const (
	EnvOverlay EnvMode = "overlay"
	EnvReplace EnvMode = "replace"
)

// Timeouts bound the waits of one session. Zero is the default, which SetDefaults
// sets: none for TurnRuntime and TurnIdle, DefaultTimeouts for the others. A negative
// one is none.
type Timeouts struct {
	Startup         time.Duration `json:"startup"`
	TurnStart       time.Duration `json:"turn_start"`
	ProviderCommand time.Duration `json:"provider_command"`
	Interrupt       time.Duration `json:"interrupt"`
	ProviderStop    time.Duration `json:"provider_stop"`
	TurnRuntime     time.Duration `json:"turn_runtime,omitempty"`
	TurnIdle        time.Duration `json:"turn_idle,omitempty"`
	SessionIdle     time.Duration `json:"session_idle,omitempty"`
	Request         time.Duration `json:"request,omitempty"`
}

// SessionConfig is everything that opening a provider conversation may need.
// The parts tagged "-" are never stored: they may hold secrets, and must be
// given again to a resume that had them.
type SessionConfig struct {
	SessionID       string            `json:"session_id"`
	Owner           string            `json:"owner"`
	Provider        string            `json:"provider"`
	Transport       string            `json:"transport,omitempty"`
	CWD             string            `json:"cwd"`
	Title           string            `json:"title,omitempty"`
	Model           string            `json:"model,omitempty"`
	SystemPrompt    string            `json:"system_prompt,omitempty"`
	ApprovalMode    ApprovalMode      `json:"approval_mode"`
	SandboxMode     SandboxMode       `json:"sandbox_mode"`
	ReasoningEffort string            `json:"reasoning_effort,omitempty"`
	AllowedTools    []string          `json:"allowed_tools,omitempty"`
	DisallowedTools []string          `json:"disallowed_tools,omitempty"`
	AddDirs         []string          `json:"add_dirs,omitempty"`
	UnsetEnv        []string          `json:"unset_env,omitempty"`
	EnvMode         EnvMode           `json:"env_mode"`
	OutputSchema    json.RawMessage   `json:"output_schema,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	AnswerBy        AnswerBy          `json:"answer_by"`
	Timeouts        Timeouts          `json:"timeouts"`
	// CloseAtRest closes the session when it is idle after a turn.
	CloseAtRest bool `json:"close_at_rest,omitempty"`

	Env             map[string]string          `json:"-"`
	MCPServers      map[string]json.RawMessage `json:"-"`
	Skills          []string                   `json:"-"`
	ProviderOptions map[string]json.RawMessage `json:"-"`

	// Names of what was given but is not stored, so that a resume can name
	// what is missing.
	EnvNames      []string `json:"env_names,omitempty"`
	MCPNames      []string `json:"mcp_names,omitempty"`
	SkillNames    []string `json:"skill_names,omitempty"`
	OptionNames   []string `json:"option_names,omitempty"`
	Fingerprint   string   `json:"fingerprint,omitempty"` // keyed hash of all of it
	ForkedFrom    string   `json:"forked_from,omitempty"`
	ProviderSesID string   `json:"-"` // the provider conversation to continue, "" for a new one
	Fork          bool     `json:"-"` // branch off ProviderSesID instead of continuing it
	Epoch         uint64   `json:"-"` // which opening this is, from 1
}

// Session is the snapshot of a session: what inspect shows and the store keeps.
type Session struct {
	ID                string            `json:"session_id"`
	Owner             string            `json:"owner"`
	Title             string            `json:"title,omitempty"`
	Provider          string            `json:"provider"`
	Transport         string            `json:"transport"`
	Status            SessionStatus     `json:"status"`
	Reason            Reason            `json:"reason,omitempty"`
	CWD               string            `json:"cwd"`
	Model             string            `json:"model,omitempty"`
	ReasoningEffort   string            `json:"reasoning_effort,omitempty"`
	ProviderSessionID string            `json:"provider_session_id,omitempty"`
	ApprovalMode      ApprovalMode      `json:"approval_mode"`
	SandboxMode       SandboxMode       `json:"sandbox_mode"`
	AnswerBy          AnswerBy          `json:"answer_by"`
	Durability        Durability        `json:"durability"`
	CurrentTurn       string            `json:"current_turn_id,omitempty"`
	LastTurn          string            `json:"last_turn_id,omitempty"`
	Queue             []string          `json:"queue,omitempty"` // turn ids, next first
	Warnings          []string          `json:"warnings,omitempty"`
	Usage             *Usage            `json:"usage,omitempty"`
	CostUSD           *float64          `json:"cost_usd,omitempty"`
	Epoch             uint64            `json:"epoch"`
	TurnsBegun        uint64            `json:"turns_begun"` // accepted by the provider; 0 means nothing to resume
	Fingerprint       string            `json:"config_fingerprint,omitempty"`
	Error             *TurnError        `json:"error,omitempty"` // why it failed or became unavailable
	CreatedAt         time.Time         `json:"created_at"`
	UpdatedAt         time.Time         `json:"updated_at"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	LastSeq           uint64            `json:"cursor"`
}
