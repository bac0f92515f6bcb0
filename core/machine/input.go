package machine

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Token names a caller who waits for one reply. Zero means that nobody waits.
type Token uint64

// Input is what the machine steps: one of the types below. What is random or known
// only outside (ids, keys, the operator's policy) comes in with it.
type Input interface {
	// token returns the token of a caller's command, 0 for any other input.
	token() Token
}

// Start opens a new session.
type Start struct {
	Token Token
	Key   *core.KeyRecord
	// Warnings are shown in the reply and journaled.
	Warnings []string
}

// Resume opens an ended or unavailable session again.
type Resume struct {
	Token    Token
	Config   core.SessionConfig
	Key      *core.KeyRecord
	Warnings []string
}

// Prompt asks for a turn. With Queue it may wait behind others.
type Prompt struct {
	Token  Token
	TurnID string
	Hash   string
	// Preview is what snapshots show of the prompt; "" means its beginning.
	Preview string
	Input   core.TurnInput
	Queue   bool
	Key     *core.KeyRecord
}

// Steer adds to the running turn.
type Steer struct {
	Token  Token
	TurnID string // "" for whichever runs
	Input  core.TurnInput
	Key    *core.KeyRecord
}

// Respond answers a request.
type Respond struct {
	Token     Token
	RequestID string
	Response  core.Response
	By        string // ByCaller or ByUser
	OnlyUser  bool   // the operator lets nobody but a person answer
	Client    string
	Key       *core.KeyRecord
}

// Ask reports that a person is being shown a request, or what became of that. A
// person is asked once: the first Ask with AskedNow wins.
type Ask struct {
	Token     Token
	RequestID string
	Said      string
	For       time.Duration // with AskedNow: how long its caller waits
}

// Interrupt stops a turn or removes a queued one.
type Interrupt struct {
	Token      Token
	TurnID     string // "" for the active one
	ClearQueue bool
	Key        *core.KeyRecord
}

// Configure changes settings from the next turn on.
type Configure struct {
	Token   Token
	Changes core.Changes
	Key     *core.KeyRecord
}

// Close ends the session; Force ends it now.
type Close struct {
	Token Token
	Force bool
	Key   *core.KeyRecord
}

// Shutdown ends the session because the server ends.
type Shutdown struct{}

// Recover ends what a dead server left behind.
type Recover struct{ Reason core.Reason }

// Opened is the outcome of Provider.Open.
type Opened struct {
	Epoch uint64
	Ready core.Ready
	Err   *core.Error
	// Refused is set when the opening succeeded and cannot be stored. It is the reply
	// to the starter; the conversation is hung up.
	Refused *core.Error
}

// Notice is a provider's notice. TurnID and RequestID are fresh ids, for the case
// that the notice makes a turn or a request.
type Notice struct {
	Epoch     uint64
	Notice    core.Notice
	TurnID    string
	RequestID string
}

// LinkLost reports that the conversation broke and that its process tree is gone.
type LinkLost struct {
	Epoch uint64
	Err   *core.TurnError
}

// HungUp reports that Conn.Close has returned: the process tree is gone.
type HungUp struct{ Epoch uint64 }

// TimerDue reports that an armed timer is due.
type TimerDue struct{ Timer TimerID }

// StoreFailed reports that a commit failed. Stop is the operator's policy.
type StoreFailed struct {
	Message string
	Stop    bool
}

// StoreRecovered reports that the store works again, and which events were live
// only.
type StoreRecovered struct{ LostFrom, LostTo uint64 }

func (in Start) token() Token       { return in.Token }
func (in Resume) token() Token      { return in.Token }
func (in Prompt) token() Token      { return in.Token }
func (in Steer) token() Token       { return in.Token }
func (in Respond) token() Token     { return in.Token }
func (in Ask) token() Token         { return in.Token }
func (in Interrupt) token() Token   { return in.Token }
func (in Configure) token() Token   { return in.Token }
func (in Close) token() Token       { return in.Token }
func (Shutdown) token() Token       { return 0 }
func (Recover) token() Token        { return 0 }
func (Opened) token() Token         { return 0 }
func (Notice) token() Token         { return 0 }
func (LinkLost) token() Token       { return 0 }
func (HungUp) token() Token         { return 0 }
func (TimerDue) token() Token       { return 0 }
func (StoreFailed) token() Token    { return 0 }
func (StoreRecovered) token() Token { return 0 }

// TimerKind is what a timer limits.
type TimerKind int

// What timers limit.
const (
	TimerStartup TimerKind = iota
	TimerTurnStart
	TimerCommand
	TimerInterrupt
	TimerTurnRuntime
	TimerTurnIdle
	TimerSessionIdle
	TimerRequest
	TimerHangup
	TimerAsk // how long the caller waits who has a person asked
)

// TimerID names one timer: its kind and the turn, request or op that it is of.
type TimerID struct {
	Kind TimerKind
	ID   string
	Op   core.OpID
}
