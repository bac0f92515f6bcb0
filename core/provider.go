package core

import (
	"context"
	"encoding/json"
	"time"
)

// Provider is one kind of agent. It is safe for concurrent use.
type Provider interface {
	// Spec is fixed data; it does no I/O.
	Spec() Spec

	// Status looks for the agent: executable, version, sign-in evidence. It
	// never sends a prompt, and returns within ctx.
	Status(ctx context.Context) Status

	// Open starts or resumes a conversation and returns when it can take a
	// turn. ctx bounds the opening only; when it ends, Open ends whatever it
	// started and returns. A conversation lives until Conn.Close.
	//
	// Errors: CodeProviderNotReady (command missing or unusable),
	// CodeOption, CodeCapability, CodeInvalidArgument, CodeStartFailed.
	Open(ctx context.Context, cfg SessionConfig) (Conn, error)
}

// Conn is one open provider conversation. Core pulls from it; an adapter never
// calls core, so it cannot re-enter it.
type Conn interface {
	// Ready returns what the opening found out. It does not change.
	Ready() Ready

	// Send queues an op for delivery and never waits for the pipe. The outcome
	// of the op arrives as OpDone. An error means that the op was not taken,
	// for certain. Any goroutine may call it.
	Send(op Op) error

	// Recv returns the next notice, in the order of the agent's output. One
	// goroutine calls it. It returns io.EOF after a clean end, any other error
	// when the link is lost, and ctx's error when ctx ends.
	Recv(ctx context.Context) (Notice, error)

	// Close ends the agent's whole process tree: gracefully until ctx ends,
	// then by force. It is idempotent, may race with Recv and Send, and
	// unblocks Recv. When it returns no child is left.
	Close(ctx context.Context) error
}

// Spec describes a provider, as list_providers shows it.
type Spec struct {
	Name       string          `json:"provider"`
	Title      string          `json:"name"`
	Transports []TransportSpec `json:"transports"`
	Options    []OptionSpec    `json:"options,omitempty"` // provider_options it takes
	Install    string          `json:"install,omitempty"` // what a person runs to get it
	Login      string          `json:"login,omitempty"`   // and to sign in, "" where that is not one command
}

// Transport returns the named transport, the default one for "".
func (s Spec) Transport(name string) (TransportSpec, bool) {
	for _, t := range s.Transports {
		if t.Name == name || name == "" && t.Default {
			return t, true
		}
	}
	return TransportSpec{}, false
}

// TransportSpec is one way to speak to a provider.
type TransportSpec struct {
	Name         string       `json:"name"`
	Default      bool         `json:"default"`
	Capabilities Capabilities `json:"capabilities"`
	// Approval and Sandbox list the modes that can be asked for.
	Approval []ApprovalMode `json:"approval_modes"`
	Sandbox  []SandboxMode  `json:"sandbox_modes"`
	// Efforts lists reasoning efforts; empty means the option is refused.
	Efforts []string `json:"reasoning_efforts,omitempty"`
}

// OptionSpec is one provider option.
type OptionSpec struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"` // string, boolean, integer or object
	Enum        []string `json:"enum,omitempty"`
	Description string   `json:"description"`
}

// Support is how well a provider does something.
type Support string

// How well a provider does something. The zero value counts as Unsupported.
const (
	Native       Support = "native"
	Emulated     Support = "emulated"
	Experimental Support = "experimental"
	Unsupported  Support = "unsupported"
)

// OK reports whether the thing can be done at all.
func (s Support) OK() bool { return s != "" && s != Unsupported }

// Capabilities is data: shown to callers, used to refuse an op before it is
// sent, and the gate of the conformance suite.
type Capabilities struct {
	TokenStreaming   Support `json:"token_streaming"`
	Questions        Support `json:"questions"`
	Approvals        Support `json:"approvals"`
	Interrupt        Support `json:"interrupt"`
	Steer            Support `json:"steer"`
	Resume           Support `json:"resume"`
	Fork             Support `json:"fork"`
	Configure        Support `json:"configure"`
	PerSessionMCP    Support `json:"per_session_mcp"`
	Skills           Support `json:"skills"`
	Attachments      Support `json:"attachments"`
	StructuredOutput Support `json:"structured_output"`
}

// Status is what a probe found.
type Status struct {
	Ready         bool     `json:"ready"`
	Reason        string   `json:"reason,omitempty"` // why not, or a warning
	Version       string   `json:"version,omitempty"`
	Executable    string   `json:"executable,omitempty"`
	Searched      []string `json:"searched,omitempty"`
	Authenticated string   `json:"authenticated"` // yes, no or unknown
	Evidence      string   `json:"evidence,omitempty"`
	Models        []string `json:"models,omitempty"`
}

// Ready is what an opening found out.
type Ready struct {
	ProviderSessionID string
	Model             string
	ReasoningEffort   string
	Version           string
	PID               int
	Warnings          []string
}

// OpID names one op of one Conn.
type OpID uint64

// Op is one thing that core asks of a conversation: the closed set below.
type Op interface{ OpID() OpID }

// StartTurn sends the agent a turn. TurnID is also the name by which the
// adapter refers to the turn in notices. OpDone without error is the earliest
// proof of acceptance that the protocol offers or, where it offers none, means
// that the whole frame is in the pipe.
type StartTurn struct {
	ID     OpID
	TurnID string
	Input  TurnInput
}

// Steer adds to the running turn without stopping it.
type Steer struct {
	ID     OpID
	TurnID string
	Input  TurnInput
}

// Respond answers the request that the adapter named Ref. Its Response has
// been checked: Answers is filled for questions, with values, one entry per
// question.
type Respond struct {
	ID       OpID
	Ref      string
	Response Response
}

// Interrupt asks the agent to stop the turn. Requests lists the open requests
// of the turn, which the adapter withdraws first in the way its protocol
// needs. The verdict arrives as TurnEnded.
type Interrupt struct {
	ID       OpID
	TurnID   string
	Requests []string
}

// Configure changes settings from the next turn on. Empty fields stay.
type Configure struct {
	ID      OpID
	Changes Changes
}

// Changes are the settings that a live session may change. Empty fields stay.
type Changes struct {
	Model           string       `json:"model,omitempty"`
	ReasoningEffort string       `json:"reasoning_effort,omitempty"`
	ApprovalMode    ApprovalMode `json:"approval_mode,omitempty"`
	SandboxMode     SandboxMode  `json:"sandbox_mode,omitempty"`
}

// OpID names the op.
func (o StartTurn) OpID() OpID { return o.ID }

// OpID names the op.
func (o Steer) OpID() OpID { return o.ID }

// OpID names the op.
func (o Respond) OpID() OpID { return o.ID }

// OpID names the op.
func (o Interrupt) OpID() OpID { return o.ID }

// OpID names the op.
func (o Configure) OpID() OpID { return o.ID }

// Notice is one thing that an adapter reports: the closed set below. A Turn
// field names a turn: by the TurnID of its StartTurn or, for a turn that the
// provider began, by the name in TurnBegan. An empty Turn means that
// the notice belongs to the session.
type Notice interface{ notice() }

// OpDone is the outcome of an op. An Err is a definite rejection: the agent
// did not and will not do it. Ref is the provider's own id, for a StartTurn.
type OpDone struct {
	Op  OpID
	Ref string
	Err *Error
	Raw json.RawMessage
}

// TurnBegan reports that the provider runs a turn. For a turn of ours it counts
// as acceptance; a Turn that is not ours is one that the provider began by
// itself.
type TurnBegan struct {
	Turn   string
	Ref    string
	Prompt string // what started it, if the provider reports that
	Raw    json.RawMessage
}

// Content reports what the agent did or said.
type Content struct {
	Turn    string
	Payload Payload
	Raw     json.RawMessage
}

// RequestRaised reports that the agent waits for a decision. Ref is the adapter's
// name for it, unique among the open ones of the Conn.
type RequestRaised struct {
	Turn string
	Ref  string
	Spec RequestSpec
	Raw  json.RawMessage
}

// RequestWithdrawn reports that the agent no longer waits.
type RequestWithdrawn struct {
	Ref string
	Raw json.RawMessage
}

// Verdict is the outcome of a turn as the provider reports it.
type Verdict string

// The provider's verdicts. Its "interrupted" and "aborted" are
// VerdictCancelled.
const (
	VerdictCompleted Verdict = "completed"
	VerdictFailed    Verdict = "failed"
	VerdictCancelled Verdict = "cancelled"
)

// TurnEnded is the provider's own terminal record. Before it the adapter has
// closed every item it left open. Nothing else completes a turn.
type TurnEnded struct {
	Turn    string
	Verdict Verdict
	Result  Result
	Raw     json.RawMessage
}

// Result is what a terminal record carries. Text is only needed where no
// Message was reported; absent data stays absent.
type Result struct {
	Text             string
	Usage            *Usage
	CostUSD          *float64
	StopReason       string
	StructuredOutput json.RawMessage
	Error            *TurnError
	Provider         json.RawMessage // extras with no place of their own
	FilesChanged     []FileEdit
	Warnings         []string
	Observed         Observed // filled by core, not by adapters
}

// Observed is what was seen to change in the workspace during a turn.
type Observed struct {
	Looked bool
	Files  []FileEdit
}

// SessionChanged reports that a fact of the session became known or changed.
// Empty fields stay.
type SessionChanged struct {
	ProviderSessionID string
	Model             string
	ReasoningEffort   string
	Raw               json.RawMessage
}

func (OpDone) notice()           {}
func (TurnBegan) notice()        {}
func (Content) notice()          {}
func (RequestRaised) notice()    {}
func (RequestWithdrawn) notice() {}
func (TurnEnded) notice()        {}
func (SessionChanged) notice()   {}

// StopGrace is how long a Conn may take for a graceful end by default.
const StopGrace = 10 * time.Second
