package process

import (
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// stopCause is why the harness ends a process.
type stopCause string

// The causes, as the journal has them.
const (
	causeClosed   stopCause = "closed"
	causeShutdown stopCause = "shutdown"
	causeRuntime  stopCause = "runtime_timeout"
	causeIdle     stopCause = "idle_timeout"
	causeStore    stopCause = "store_failed"
)

// state are what is known of a process. Words like its status are derived from
// them and never assigned.
type state struct {
	spec core.ProcessSpec // without secrets
	path string

	id, owner      string
	created        time.Time
	pid            int
	started        time.Time
	failure        *core.TurnError // why it could not start
	stop           *stopRequest    // the first reason to end it
	exited         bool            // the command has ended; a later stop changes nothing
	exit           Exit
	leftover       int
	drained        bool // its output has ended too
	finished       time.Time
	stdout, stderr int64
}

// stopRequest is a request to stop a process; the first one is kept.
type stopRequest struct {
	cause  stopCause
	reason core.Reason
	note   string
	force  bool
}

// status returns the status that follows from the state.
func (f *state) status() core.ProcessStatus {
	switch {
	case f.failure != nil:
		return core.ProcessDoneFailed
	case f.started.IsZero():
		return core.ProcessIsStarting
	case !f.exited || !f.drained:
		if f.stop != nil {
			return core.ProcessIsStopping
		}
		return core.ProcessIsRunning
	case f.stop == nil && f.exit.Err != nil:
		return core.ProcessDoneFailed
	case f.stop == nil:
		return core.ProcessDoneExited
	}
	switch f.stop.cause {
	case causeRuntime, causeIdle:
		return core.ProcessDoneTimedOut
	case causeStore:
		return core.ProcessDoneFailed
	}
	return core.ProcessDoneCancelled
}

// snapshot returns the process as callers see it.
func (f *state) snapshot(seq uint64, d core.Durability) core.ProcessSnapshot {
	p := core.ProcessSnapshot{
		ID: f.id, Owner: f.owner, Title: f.spec.Title, Status: f.status(), Executable: f.path, Argv: f.spec.Argv, CWD: f.spec.CWD,
		PID: f.pid, StdoutBytes: f.stdout, StderrBytes: f.stderr, Durability: d, Error: f.failure,
		CreatedAt: f.created, StartedAt: f.started, FinishedAt: f.finished, Metadata: f.spec.Metadata, LastSeq: seq,
	}
	if f.stop != nil {
		p.Reason = f.stop.reason
		if f.stop.cause == causeStore {
			p.Error = &core.TurnError{Code: core.CodeStoreFailed, Message: "the journal could not be written, so the process was ended"}
		}
	}
	if !p.Status.Ended() || f.started.IsZero() {
		return p
	}
	p.Leftover = f.leftover
	switch {
	case f.exit.Signal != "":
		p.Signal = f.exit.Signal
	case f.exit.Err == nil:
		code := f.exit.Code
		p.ExitCode = &code
	case p.Error == nil:
		p.Error = &core.TurnError{Code: core.CodeInternal, Message: "the exit status is not known: " + f.exit.Err.Error()}
	}
	return p
}
