package core

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// ProcessStatus is the word that callers read of a managed process.
type ProcessStatus string

// The status words of a managed process. Exited is an end of its own, whatever
// the code.
const (
	ProcessIsStarting    ProcessStatus = "starting"
	ProcessIsRunning     ProcessStatus = "running"
	ProcessIsStopping    ProcessStatus = "stopping"
	ProcessDoneExited    ProcessStatus = "exited"
	ProcessDoneFailed    ProcessStatus = "failed"
	ProcessDoneCancelled ProcessStatus = "cancelled"
	ProcessDoneTimedOut  ProcessStatus = "timed_out"
)

// Ended reports whether s is terminal.
func (s ProcessStatus) Ended() bool {
	switch s {
	case ProcessDoneExited, ProcessDoneFailed, ProcessDoneCancelled, ProcessDoneTimedOut:
		return true
	}
	return false
}

// Terminal returns the type of the event that ends a process with this status,
// "" for a status that is not terminal.
func (s ProcessStatus) Terminal() EventType {
	switch s {
	case ProcessDoneExited:
		return ProcessExited
	case ProcessDoneFailed:
		return ProcessFailed
	case ProcessDoneCancelled:
		return ProcessCancelled
	case ProcessDoneTimedOut:
		return ProcessTimedOut
	}
	return ""
}

// ProcessSnapshot is the snapshot of a managed process.
type ProcessSnapshot struct {
	ID         string        `json:"process_id"`
	Owner      string        `json:"owner"`
	Title      string        `json:"title,omitempty"`
	Status     ProcessStatus `json:"status"`
	Reason     Reason        `json:"reason,omitempty"`
	Executable string        `json:"executable"`
	Argv       []string      `json:"argv"`
	CWD        string        `json:"cwd"`
	PID        int           `json:"pid,omitempty"`
	ExitCode   *int          `json:"exit_code,omitempty"`
	Signal     string        `json:"signal,omitempty"`
	// StdoutBytes and StderrBytes count what the process wrote, secrets
	// included.
	StdoutBytes int64 `json:"stdout_bytes"`
	StderrBytes int64 `json:"stderr_bytes"`
	// Leftover is how many processes it had left behind when it ended. They
	// live under its guard until close, prune or the end of the server.
	Leftover   int               `json:"leftover,omitempty"`
	Durability Durability        `json:"durability"`
	Error      *TurnError        `json:"error,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  time.Time         `json:"started_at,omitzero"`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	LastSeq    uint64            `json:"cursor"`
}

// dataProcessEnd is the data of the four terminal events of a process.
type dataProcessEnd struct {
	Status      ProcessStatus `json:"status"`
	Reason      Reason        `json:"reason,omitempty"`
	ExitCode    *int          `json:"exit_code,omitempty"`
	Signal      string        `json:"signal,omitempty"`
	StdoutBytes int64         `json:"stdout_bytes"`
	StderrBytes int64         `json:"stderr_bytes"`
	Leftover    int           `json:"leftover,omitempty"`
	Error       *TurnError    `json:"error,omitempty"`
}

// TerminalData returns the data of the event that ends the process.
func (p ProcessSnapshot) TerminalData() json.RawMessage {
	return EncodeData(dataProcessEnd{p.Status, p.Reason, p.ExitCode, p.Signal, p.StdoutBytes, p.StderrBytes, p.Leftover, p.Error})
}

// OutputData is the data of a stdout or stderr event: Text when the bytes are
// valid UTF-8, else Base64.
type OutputData struct {
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
}

// NewOutputData returns the data of an event for some output.
func NewOutputData(b []byte) OutputData {
	if utf8.Valid(b) {
		return OutputData{Text: string(b)}
	}
	return OutputData{Base64: base64.StdEncoding.EncodeToString(b)}
}

// Raw returns the data as JSON.
func (o OutputData) Raw() json.RawMessage { b, _ := json.Marshal(o); return b }

// Bytes returns the exact output.
func (o OutputData) Bytes() []byte {
	if o.Base64 == "" {
		return []byte(o.Text)
	}
	b, _ := base64.StdEncoding.DecodeString(o.Base64) // NewOutputData wrote it
	return b
}

// ProcessSpec asks for a process: an executable and its arguments, never a
// shell line.
type ProcessSpec struct {
	Executable string   // a path, or a name that is looked for in PATH
	Argv       []string // without the executable
	CWD        string   // "": the server's own
	Title      string
	Env        map[string]string
	UnsetEnv   []string
	EnvMode    EnvMode // "": overlay
	// Stdin lets callers write to it; without, it reads the end of input.
	Stdin bool
	// PTY runs it on a terminal of Cols and Rows (80 and 24 when zero), which
	// implies Stdin. All of its output is stdout then.
	PTY        bool
	Cols, Rows int
	// RuntimeTimeout and IdleTimeout end it after that long in all, or without
	// output; zero means never.
	RuntimeTimeout, IdleTimeout time.Duration
	Metadata                    map[string]string
}

// StartProcessRequest asks the Harness for a process.
type StartProcessRequest struct {
	Spec ProcessSpec
	Once Once
}

// InputRequest writes to a process, signals it or resizes its terminal: at
// least one of them.
type InputRequest struct {
	ProcessID string
	Input     ProcessInput
	Once      Once
}

// ProcessInput is input for a process. Signal and size are sent before the
// data, EOF after it.
type ProcessInput struct {
	Data []byte
	// EOF ends its input; on a terminal it is the end-of-transmission character.
	EOF bool
	// Signal is one of ProcessSignals, for the process's group.
	Signal     string
	Cols, Rows int // both, or none

	// Keys are idempotency keys that the input answers for.
	Keys []KeyRecord
}

// InputResult is a process right after it was given input.
type InputResult struct {
	Process ProcessSnapshot
	// Before is the cursor right before the input: output that follows it has a
	// higher seq.
	Before uint64
}

// ProcessSignals are the signals that a caller may send.
var ProcessSignals = []string{"SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"}

// MaxInput is the largest single input, and how much input a process may leave
// unread before more is refused, in bytes.
const MaxInput = 1 << 20

// MaxTerminal bounds the columns and rows of a terminal.
const MaxTerminal = 1000

// Processes runs managed processes and keeps their journals. Ids are random and
// so unique over all owners; each method takes the owner, or AllOwners, and
// knows nothing of another's. It knows live processes, and ended ones of which
// something is left; all others the store knows. It is safe for concurrent use.
type Processes interface {
	// Start runs a command and returns when that is stored. A command that
	// cannot be run is a process that has failed, and no error.
	//
	// Errors: CodeForbiddenExecutable, CodeCapacity, CodeDepth,
	// CodeInvalidArgument, CodeStoreFailed, CodeShuttingDown.
	Start(ctx context.Context, r ProcessStart) (ProcessSnapshot, error)
	// Input queues input for a process and returns when it is queued. Of an
	// input that is refused nothing was written.
	//
	// Errors: CodeProcessNotRunning, CodeStdinClosed, CodeStdinBusy.
	Input(ctx context.Context, owner, id string, in ProcessInput) (InputResult, error)
	// Stop ends a process with all that it started and returns its terminal
	// snapshot. The first reason wins; a second stop joins the first, and with
	// Force kills at once. Of one that has ended it ends what is left.
	Stop(ctx context.Context, owner, id string, r ProcessStop) (ProcessSnapshot, error)
	// Get returns the present snapshot of a process.
	Get(owner, id string) (ProcessSnapshot, bool)
	// All returns the snapshots of all processes of an owner.
	All(owner string) []ProcessSnapshot
	// Watch sends on ch after each change, without blocking: ch needs a buffer
	// of one. stop ends it.
	Watch(owner, id string, ch chan<- struct{}) (stop func(), ok bool)
	// Events reads the journal of a process that Get knows.
	Events(ctx context.Context, q EventQuery) (events []Event, ok bool, err error)
	// Shutdown stops all processes and returns when nothing is left of them;
	// when ctx ends, it kills what is there. No new ones start.
	Shutdown(ctx context.Context) error
}

// ProcessStart is a checked request for a process.
type ProcessStart struct {
	ID    string
	Owner string
	Spec  ProcessSpec // CWD is absolute
	// Secrets are values that its output may repeat and that must be neither
	// stored nor shown.
	Secrets []string
	Keys    []KeyRecord
	// AllowExec confines Spec.Executable: names, paths and directories. Empty
	// allows all.
	AllowExec []string
	// MaxLive is how many may live at a time, this one included, and
	// MaxLivePerOwner how many of this owner's; 0 is no limit.
	MaxLive, MaxLivePerOwner int
}

// ProcessStop is how and why a process is to end.
type ProcessStop struct {
	Force bool
	// Reason is the word for its snapshot, "" for a plain close.
	Reason Reason
	Note   string // the caller's words, for the journal
	Keys   []KeyRecord
}

// OutputMatch is where a pattern was found in a process's output.
type OutputMatch struct {
	Seq    uint64    // of the event that completed the match
	Stream EventType // TypeStdout or TypeStderr
	Line   string    // the whole line so far, without escape sequences
}
