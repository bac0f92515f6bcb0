package core

import (
	"encoding/json"
	"time"
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

// Ended says whether s is terminal.
func (s ProcessStatus) Ended() bool {
	switch s {
	case ProcessDoneExited, ProcessDoneFailed, ProcessDoneCancelled, ProcessDoneTimedOut:
		return true
	}
	return false
}

// ProcessSnapshot is the snapshot of a managed process.
type ProcessSnapshot struct {
	ID          string            `json:"process_id"`
	Owner       string            `json:"owner"`
	Title       string            `json:"title,omitempty"`
	Status      ProcessStatus     `json:"status"`
	Reason      Reason            `json:"reason,omitempty"`
	Executable  string            `json:"executable"`
	Argv        []string          `json:"argv"`
	CWD         string            `json:"cwd"`
	PID         int               `json:"pid,omitempty"`
	ExitCode    *int              `json:"exit_code,omitempty"`
	Signal      string            `json:"signal,omitempty"`
	StdoutBytes int64             `json:"stdout_bytes"`
	StderrBytes int64             `json:"stderr_bytes"`
	Leftover    int               `json:"leftover,omitempty"`
	Durability  Durability        `json:"durability"`
	Error       *TurnError        `json:"error,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	StartedAt   time.Time         `json:"started_at,omitzero"`
	FinishedAt  time.Time         `json:"finished_at,omitzero"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	LastSeq     uint64            `json:"cursor"`
}

// OutputData is the data of a stdout or stderr event: Text when the bytes are
// valid UTF-8, else Base64.
type OutputData struct {
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"`
}

// Raw gives the exact bytes.
func (o OutputData) Raw() json.RawMessage { b, _ := json.Marshal(o); return b }
