package core

import "encoding/json"

// Payload is the content of an event that an adapter reports inside a turn: one
// of the types of this file. The unexported method closes the set. A struct of
// another package that embeds a Payload still satisfies the interface; its
// content is then stored as a JSONPayload.
type Payload interface {
	EventType() EventType
	payload()
}

// MessageDelta is a piece of an assistant message. Deltas of one Item join to
// the text of the Message with that Item, byte for byte.
type MessageDelta struct {
	Item string `json:"item"`
	Text string `json:"text"`
}

// Message is a whole assistant message and is authoritative. Partial marks
// one that was cut by an interrupt, a steer or an error.
type Message struct {
	Item    string `json:"item"`
	Text    string `json:"text"`
	Partial bool   `json:"partial,omitempty"`
}

// ReasoningDelta is a piece of visible reasoning, as MessageDelta.
type ReasoningDelta struct {
	Item string `json:"item"`
	Text string `json:"text"`
}

// Reasoning is a whole reasoning text, as Message.
type Reasoning struct {
	Item    string `json:"item"`
	Text    string `json:"text"`
	Partial bool   `json:"partial,omitempty"`
}

// ToolKind is the kind of a tool.
type ToolKind string

// The kinds of tools.
const (
	ToolCommand ToolKind = "command"
	ToolFile    ToolKind = "file"
	ToolMCP     ToolKind = "mcp"
	ToolSearch  ToolKind = "search"
	ToolWeb     ToolKind = "web"
	ToolAgent   ToolKind = "agent"
	ToolOther   ToolKind = "other"
)

// ToolStarted reports that the agent began to use a tool. Title is one line for
// people, such as the command itself.
type ToolStarted struct {
	Item    string          `json:"item"`
	Name    string          `json:"name"`
	Kind    ToolKind        `json:"kind"`
	Title   string          `json:"title"`
	Input   json.RawMessage `json:"input,omitempty"`
	Command string          `json:"command,omitempty"`
	CWD     string          `json:"cwd,omitempty"`
}

// ToolDelta is a piece of a tool's progress or arguments.
type ToolDelta struct {
	Item string `json:"item"`
	Text string `json:"text"`
}

// ToolStatus is how the use of a tool ended.
type ToolStatus string

// How a tool use ends.
const (
	ToolOK        ToolStatus = "ok"
	ToolFailed    ToolStatus = "failed"
	ToolDeclined  ToolStatus = "declined"
	ToolCancelled ToolStatus = "cancelled"
)

// ToolCompleted ends a ToolStarted with the same Item.
type ToolCompleted struct {
	Item     string     `json:"item"`
	Status   ToolStatus `json:"status"`
	Output   string     `json:"output,omitempty"`
	ExitCode *int       `json:"exit_code,omitempty"`
	Error    string     `json:"error,omitempty"`
}

// CommandOutputDelta is a piece of a running command's output.
type CommandOutputDelta struct {
	Item string `json:"item"`
	Text string `json:"text"`
}

// ChangeKind is what happened to a file.
type ChangeKind string

// What happens to files.
const (
	FileAdded    ChangeKind = "added"
	FileModified ChangeKind = "modified"
	FileDeleted  ChangeKind = "deleted"
)

// FileEdit is one changed file. Diff is a unified diff, "" where the provider
// reports none.
// Unreported marks a file that the agent did not report but that was seen to
// change while it worked: by a command that it ran, or by somebody else.
type FileEdit struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	Diff string     `json:"diff,omitempty"`

	Unreported bool `json:"unreported,omitempty"`
}

// FileChange reports files that the agent has changed.
type FileChange struct {
	Item    string     `json:"item,omitempty"`
	Changes []FileEdit `json:"changes"`
}

// PlanStep is one line of an agent's plan: pending, in_progress or completed.
type PlanStep struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

// PlanUpdated is the agent's whole present plan.
type PlanUpdated struct {
	Steps []PlanStep `json:"steps"`
}

// UsageScope is what a usage report counts.
type UsageScope string

// What a usage report counts.
const (
	UsageTurn    UsageScope = "turn"
	UsageSession UsageScope = "session"
)

// UsageUpdated reports what has been used so far, counted over Scope.
type UsageUpdated struct {
	Usage   Usage      `json:"usage"`
	CostUSD *float64   `json:"cost_usd,omitempty"`
	Scope   UsageScope `json:"scope"`
}

// RateLimit is the provider's own report of its limits.
type RateLimit struct {
	Limits json.RawMessage `json:"limits"`
}

// Warning is something a person should know that did not stop the work.
type Warning struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// ProviderError is an error that the provider reported inside a turn.
// WillRetry means that it goes on by itself.
type ProviderError struct {
	Message   string `json:"message"`
	Code      string `json:"code,omitempty"`
	WillRetry bool   `json:"will_retry"`
}

// ProviderEvent is a frame with no faithful mapping, named by Kind and kept
// raw; nothing that a provider reports is dropped.
type ProviderEvent struct {
	Kind   string          `json:"kind"`
	TurnID string          `json:"late_turn_id,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// The events that carry the payloads.

func (MessageDelta) EventType() EventType       { return TypeMessageDelta }
func (Message) EventType() EventType            { return TypeMessage }
func (ReasoningDelta) EventType() EventType     { return TypeReasoningDelta }
func (Reasoning) EventType() EventType          { return TypeReasoning }
func (ToolStarted) EventType() EventType        { return TypeToolStarted }
func (ToolDelta) EventType() EventType          { return TypeToolDelta }
func (ToolCompleted) EventType() EventType      { return TypeToolCompleted }
func (CommandOutputDelta) EventType() EventType { return TypeCommandOutputDelta }
func (FileChange) EventType() EventType         { return TypeFileChange }
func (PlanUpdated) EventType() EventType        { return TypePlanUpdated }
func (UsageUpdated) EventType() EventType       { return TypeUsageUpdated }
func (RateLimit) EventType() EventType          { return TypeRateLimit }
func (Warning) EventType() EventType            { return TypeWarning }
func (ProviderError) EventType() EventType      { return TypeProviderError }
func (ProviderEvent) EventType() EventType      { return TypeProviderEvent }

// DeltaParts returns the item and the text of a delta, and whether v is one.
func DeltaParts(v any) (item, text string, ok bool) {
	switch p := v.(type) {
	case MessageDelta:
		return p.Item, p.Text, true
	case ReasoningDelta:
		return p.Item, p.Text, true
	case ToolDelta:
		return p.Item, p.Text, true
	case CommandOutputDelta:
		return p.Item, p.Text, true
	}
	return "", "", false
}

// JSONPayload is a payload of a type that is none of the others, in its JSON
// form. The filters for secrets and lengths make it, so that content of an
// unknown type is looked through like any other.
type JSONPayload struct {
	Type EventType
	Data json.RawMessage
}

// EventType names the event that carries the payload.
func (p JSONPayload) EventType() EventType { return p.Type }

// MarshalJSON returns the payload's own JSON.
func (p JSONPayload) MarshalJSON() ([]byte, error) { return p.Data.MarshalJSON() }

func (MessageDelta) payload()       {}
func (Message) payload()            {}
func (ReasoningDelta) payload()     {}
func (Reasoning) payload()          {}
func (ToolStarted) payload()        {}
func (ToolDelta) payload()          {}
func (ToolCompleted) payload()      {}
func (CommandOutputDelta) payload() {}
func (FileChange) payload()         {}
func (PlanUpdated) payload()        {}
func (UsageUpdated) payload()       {}
func (RateLimit) payload()          {}
func (Warning) payload()            {}
func (ProviderError) payload()      {}
func (ProviderEvent) payload()      {}
func (JSONPayload) payload()        {}
