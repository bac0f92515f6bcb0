package core

import (
	"encoding/json"
	"time"
)

// RequestKind is what an agent asks for.
type RequestKind string

// The kinds of requests.
const (
	KindQuestion           RequestKind = "question"
	KindCommandApproval    RequestKind = "command_approval"
	KindFileChangeApproval RequestKind = "file_change_approval"
	KindPermission         RequestKind = "permission"
	KindConfirmation       RequestKind = "confirmation"
	KindMCPElicitation     RequestKind = "mcp_elicitation"
)

// RequestStatus is the status of a request.
type RequestStatus string

// The status words of a request: pending, claimed while an answer is sent to the
// provider, then resolved or expired.
const (
	RequestPending      RequestStatus = "pending"
	RequestClaimed      RequestStatus = "claimed"
	RequestDoneResolved RequestStatus = "resolved"
	RequestDoneExpired  RequestStatus = "expired"
)

// Ended reports whether no answer is accepted any more.
func (s RequestStatus) Ended() bool { return s == RequestDoneResolved || s == RequestDoneExpired }

// Action is one way to answer a request.
type Action string

// The actions. Deny refuses this step and the turn goes on; cancel refuses and
// stops the turn.
const (
	ActionAnswer  Action = "answer"
	ActionApprove Action = "approve"
	ActionDeny    Action = "deny"
	ActionCancel  Action = "cancel"
)

// Scope is how long an approval holds.
type Scope string

// The scopes of an approval.
const (
	ScopeOnce    Scope = "once"
	ScopeSession Scope = "session"
)

// Choice is one offered answer.
type Choice struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
}

// Question is one of the questions of a request.
type Question struct {
	ID          string   `json:"id"`
	Prompt      string   `json:"prompt"`
	Header      string   `json:"header,omitempty"`
	Choices     []Choice `json:"choices"`
	Multiple    bool     `json:"multiple,omitempty"`
	AllowsOther bool     `json:"allows_other,omitempty"`
	Secret      bool     `json:"secret,omitempty"`
}

// RequestDetails is what a person needs to decide.
type RequestDetails struct {
	Command string          `json:"command,omitempty"`
	CWD     string          `json:"cwd,omitempty"`
	Path    string          `json:"path,omitempty"`
	Diff    string          `json:"diff,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}

// RequestSpec is what an adapter declares when its agent asks. Core checks
// every answer against it and nothing else.
type RequestSpec struct {
	Kind      RequestKind     `json:"kind"`
	Prompt    string          `json:"prompt"`
	Actions   []Action        `json:"actions"`
	Scopes    []Scope         `json:"scopes,omitempty"`
	Questions []Question      `json:"questions,omitempty"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	Details   *RequestDetails `json:"details,omitempty"`
}

// Resolution is how a request ended.
type Resolution struct {
	Action Action    `json:"action,omitempty"`
	Scope  Scope     `json:"scope,omitempty"`
	By     string    `json:"by"` // caller, user, timeout, provider or close
	Client string    `json:"client,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// Who resolves requests: the values of Resolution.By.
const (
	ByCaller   = "caller"
	ByUser     = "user"
	ByTimeout  = "timeout"
	ByProvider = "provider"
	ByClose    = "close"
)

// What a person who was asked has said: the values of Request.AskedUser.
// AskedNow is the time in between, of which callers are told nothing.
const (
	AskedNow       = "asking"
	AskedDeclined  = "declined"
	AskedCancelled = "cancelled"
	AskedNoAnswer  = "no_answer"
)

// Request is the snapshot of a request.
type Request struct {
	ID        string        `json:"request_id"`
	SessionID string        `json:"session_id"`
	TurnID    string        `json:"turn_id"`
	Owner     string        `json:"owner,omitempty"`
	Ref       string        `json:"ref,omitempty"` // the adapter's name for it
	Status    RequestStatus `json:"status"`
	RequestSpec
	CreatedAt  time.Time   `json:"created_at"`
	ExpiresAt  time.Time   `json:"expires_at,omitzero"`
	AskedUser  string      `json:"asked_user,omitempty"` // AskedNow and what follows it
	Resolution *Resolution `json:"resolution,omitempty"`
}

// Response is a caller's answer. Answers maps a question's id to the chosen
// values or the free text; Answer is short for the only question's.
type Response struct {
	Action  Action              `json:"action"`
	Answer  string              `json:"answer,omitempty"`
	Answers map[string][]string `json:"answers,omitempty"`
	Content json.RawMessage     `json:"content,omitempty"`
	Scope   Scope               `json:"scope,omitempty"`
	Reason  string              `json:"reason,omitempty"`
}
