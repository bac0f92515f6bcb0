package core

// Token names a caller who waits for one Reply. Zero means that nobody waits.
type Token uint64

// Input is what the machine eats: the closed set below. What is random or
// known only outside (ids, keys) comes in with it.
type Input interface{ input() }

// inStart opens a new session.
type inStart struct {
	Token Token
	Key   *KeyRecord
	// Warnings are told in the reply and the journal.
	Warnings []string
}

// inResume opens an ended or unavailable session again.
type inResume struct {
	Token    Token
	Config   SessionConfig
	Key      *KeyRecord
	Warnings []string
}

// inSend asks for a turn; Queue says that it may wait behind others.
type inSend struct {
	Token  Token
	TurnID string
	Hash   string
	// Preview is what snapshots show of the prompt; "" means its beginning.
	Preview string
	Input   TurnInput
	Queue   bool
	Key     *KeyRecord
}

// inSteer adds to the running turn.
type inSteer struct {
	Token  Token
	TurnID string // "" for whichever runs
	Input  TurnInput
	Key    *KeyRecord
}

// inRespond answers a request.
type inRespond struct {
	Token     Token
	RequestID string
	Response  Response
	By        string
	Client    string
	Key       *KeyRecord
}

// inInterrupt stops a turn or removes a queued one.
type inInterrupt struct {
	Token      Token
	TurnID     string // "" for the active one
	ClearQueue bool
	Key        *KeyRecord
}

// inConfigure changes settings from the next turn on.
type inConfigure struct {
	Token   Token
	Changes Changes
	Key     *KeyRecord
}

// inClose ends the session; Force ends it now.
type inClose struct {
	Token Token
	Force bool
	Key   *KeyRecord
}

// inShutdown ends the session because the server ends.
type inShutdown struct{}

// inRecover ends what a dead server left behind.
type inRecover struct{ Reason Reason }

// inOpened is the outcome of Provider.Open.
type inOpened struct {
	Epoch uint64
	Ready Ready
	Err   *Error
}

// inNotice is a provider's notice. TurnID and RequestID are fresh ids, used if
// the notice makes a turn or a request.
type inNotice struct {
	Epoch     uint64
	Notice    Notice
	TurnID    string
	RequestID string
}

// inLinkLost says that the conversation broke and its tree is gone.
type inLinkLost struct {
	Epoch uint64
	Err   *TurnError
}

// inHungUp says that Conn.Close has returned: the tree is gone.
type inHungUp struct{ Epoch uint64 }

// inTimer says that an armed timer is due.
type inTimer struct{ Timer TimerID }

// inStoreFailed says that a commit failed. Stop is the operator's policy.
type inStoreFailed struct {
	Message string
	Stop    bool
}

// inStoreRecovered says that the store works again; events in between were
// live only.
type inStoreRecovered struct{ LostFrom, LostTo uint64 }

func (inStart) input()          {}
func (inResume) input()         {}
func (inSend) input()           {}
func (inSteer) input()          {}
func (inRespond) input()        {}
func (inInterrupt) input()      {}
func (inConfigure) input()      {}
func (inClose) input()          {}
func (inShutdown) input()       {}
func (inRecover) input()        {}
func (inOpened) input()         {}
func (inNotice) input()         {}
func (inLinkLost) input()       {}
func (inHungUp) input()         {}
func (inTimer) input()          {}
func (inStoreFailed) input()    {}
func (inStoreRecovered) input() {}

// TimerKind says what a timer bounds.
type TimerKind int

// What timers bound.
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
	Op   OpID
}
