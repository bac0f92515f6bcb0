package core

import "time"

// Limits bound what one instance holds. Zero values mean the defaults of
// DefaultLimits.
type Limits struct {
	MaxSessions int
	// MaxSessionsPerOwner keeps one owner from taking every place; 0 does not.
	MaxSessionsPerOwner int
	MaxProcesses        int
	// MaxProcessesPerOwner does for processes what MaxSessionsPerOwner does for
	// sessions.
	MaxProcessesPerOwner int
	// AllowDirs confines cwd and added directories; empty allows all.
	AllowDirs []string
	// AllowExec confines the executables of managed processes: names that are
	// looked for in PATH, paths, and directories. Empty allows all. With some,
	// no caller may give a process or a session variables by which a program
	// runs or loads another one.
	AllowExec []string
	// DropRaw keeps no provider frames.
	DropRaw bool
	// StopOnStoreFailure fails a session whose commit fails, instead of going
	// on without durability.
	StopOnStoreFailure bool
	// Retention is how long ended resources are kept.
	Retention time.Duration
	// RetentionBytes is how much all data may take before the resources that
	// ended first are deleted sooner; 0 is no limit. Live ones are never.
	RetentionBytes int64
	// StoreTimeout bounds one commit.
	StoreTimeout time.Duration
	// AnswerByUser means that only a person answers requests, whatever a
	// session's AnswerBy is.
	AnswerByUser bool
}

// DefaultLimits are the limits of an instance that was given none.
var DefaultLimits = Limits{
	MaxSessions: 64, MaxProcesses: 256,
	Retention: 30 * 24 * time.Hour, StoreTimeout: 10 * time.Second,
}

// WithDefaults returns l with its zero fields filled from DefaultLimits.
func (l Limits) WithDefaults() Limits {
	if l.MaxSessions <= 0 {
		l.MaxSessions = DefaultLimits.MaxSessions
	}
	if l.MaxProcesses <= 0 {
		l.MaxProcesses = DefaultLimits.MaxProcesses
	}
	if l.Retention <= 0 {
		l.Retention = DefaultLimits.Retention
	}
	if l.StoreTimeout <= 0 {
		l.StoreTimeout = DefaultLimits.StoreTimeout
	}
	return l
}
