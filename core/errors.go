package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Code names a kind of failure. Codes are public API: they are only ever
// added, and a caller may branch on them.
type Code string

// Every error that a caller can meet has one of these codes.
const (
	CodeInvalidArgument      Code = "invalid_argument"
	CodeNotFound             Code = "not_found"
	CodeForbiddenPath        Code = "forbidden_path"
	CodeForbiddenExecutable  Code = "forbidden_executable"
	CodeProviderUnknown      Code = "provider_unknown"
	CodeProviderNotReady     Code = "provider_not_ready"
	CodeCapability           Code = "capability_unsupported"
	CodeOption               Code = "option_unsupported"
	CodeConfigMissing        Code = "config_missing"
	CodeStartFailed          Code = "start_failed"
	CodeStartTimeout         Code = "start_timeout"
	CodeSessionInUse         Code = "session_id_in_use"
	CodeSessionUsed          Code = "session_id_already_used"
	CodeTurnInProgress       Code = "turn_in_progress"
	CodeCommandInProgress    Code = "command_in_progress"
	CodeSessionUnavailable   Code = "session_unavailable"
	CodeSessionClosed        Code = "session_closed"
	CodeNoActiveTurn         Code = "no_active_turn"
	CodeTurnNotActive        Code = "turn_not_active"
	CodeTurnUsed             Code = "turn_id_already_used"
	CodeQueueFull            Code = "queue_full"
	CodeCapacity             Code = "capacity_exceeded"
	CodeDepth                Code = "depth_exceeded"
	CodeTooLarge             Code = "too_large"
	CodeRequestNotPending    Code = "request_not_pending"
	CodeAction               Code = "action_unsupported"
	CodeScope                Code = "scope_unsupported"
	CodeMissingAnswer        Code = "missing_answer"
	CodeResponseRejected     Code = "response_rejected"
	CodeResponseUncertain    Code = "response_uncertain"
	CodeReplayUnavailable    Code = "replay_unavailable"
	CodeProcessNotRunning    Code = "process_not_running"
	CodeStdinClosed          Code = "stdin_closed"
	CodeStdinBusy            Code = "stdin_busy"
	CodeResourceActive       Code = "resource_active"
	CodeOtherInstance        Code = "owned_by_other_instance"
	CodeNotSupportedByClient Code = "not_supported_by_client"
	CodeStoreFailed          Code = "store_failed"
	CodeIdempotency          Code = "idempotency_conflict"
	CodeShuttingDown         Code = "shutting_down"
	CodeInternal             Code = "internal"
)

// Codes of Turn.Error: why a turn failed. They are never the code of a call.
const (
	TurnProviderError  Code = "provider_error"
	TurnAuthRequired   Code = "auth_required"
	TurnRateLimited    Code = "rate_limited"
	TurnTransportLost  Code = "transport_lost"
	TurnRuntimeTimeout Code = "turn_runtime_timeout"
	TurnIdleTimeout    Code = "turn_idle_timeout"
	TurnRejected       Code = "rejected"
	TurnUncertain      Code = "uncertain"
	TurnStoreFailed    Code = "store_failed"
)

// Error is a failure as a caller should meet it: a code to branch on, a
// sentence to read and a next step. It never contains a secret.
type Error struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"`
	Hint      string         `json:"hint,omitempty"`
	Retryable bool           `json:"retryable,omitempty"`
	Details   map[string]any `json:"details,omitempty"`

	// Err is the cause, for logs; its text is not shown to callers.
	Err error `json:"-"`
}

// Error returns code, message and cause, for logs.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Err != nil && !strings.Contains(s, plainCause(e.Err)) {
		s += ": " + e.Err.Error()
	}
	return s
}

// plainCause is a cause as it reads inside a sentence: a coded one without its
// code.
func plainCause(err error) string {
	var e *Error
	if errors.As(err, &e) && err == error(e) {
		return e.Message
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches another *Error of the same code, so that
// errors.Is(err, &Error{Code: CodeNotFound}) asks for a kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Errorf returns an error with a code and a formatted message. The operand of a
// %w verb is the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
	if e.Err != nil {
		e.Message = strings.Replace(e.Message, e.Err.Error(), plainCause(e.Err), 1)
	}
	return e
}

// WithHint returns a copy that says what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithDetail returns a copy with one more machine-readable fact.
func (e *Error) WithDetail(key string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	for k, v := range e.Details {
		c.Details[k] = v
	}
	c.Details[key] = value
	return &c
}

// Retry returns a copy marked as worth trying again unchanged.
func (e *Error) Retry() *Error {
	c := *e
	c.Retryable = true
	return &c
}

// AsError turns any error into a coded one: a coded error anywhere in the
// chain as it is, anything else CodeInternal with a fixed sentence, the cause
// kept for the log. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{
		Code:    CodeInternal,
		Message: "the server met an unexpected error",
		Hint:    "The server's log has the cause. Reading (inspect, replay, list) still works.",
		Err:     err,
	}
}

// CodeOf returns the code of err, CodeInternal for an uncoded one, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}

// IsContext reports whether err is the end of a caller's wait, not a failure.
func IsContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// KeyTaken is the refusal of a call whose idempotency key another call took
// first.
func KeyTaken(key string) *Error {
	return Errorf(CodeIdempotency, "idempotency_key %q was used by another call at the same time", key).
		WithHint("Repeat the call to get what that one made.").Retry()
}

// NotRunning is the refusal of what only a running process takes.
func NotRunning(p ProcessSnapshot) *Error {
	return Errorf(CodeProcessNotRunning, "process %s is %s and takes no input", p.ID, p.Status).
		WithHint("inspect {id: %q} shows its last lines.", p.ID).WithDetail("process_id", p.ID).WithDetail("status", p.Status)
}

// StoreError returns a failed read of the store as a coded error.
func StoreError(err error) error {
	if err == nil || IsContext(err) {
		return err
	}
	if c := CodeOf(err); c != CodeInternal {
		return err
	}
	return Errorf(CodeStoreFailed, "the journal could not be read: %w", err).WithHint("Check the database file and the disk.").Retry()
}
