package core

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// PrefixFailure is the prefix of the ids of panics in the log.
const PrefixFailure = "err_"

// PanicError is the error of code that panicked.
type PanicError struct {
	Where string // whose code it was
	ID    string // of the entry in the log, which has the panic and its stack
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s had a fault in this program; the server's log explains it under %s", e.Where, e.ID)
}

// Panicked logs a recovered panic with its stack and returns the error for the
// caller. It is called by the deferred function that recovered.
func Panicked(log *slog.Logger, where string, panicked any) *PanicError {
	e := &PanicError{Where: where, ID: NewID(PrefixFailure)}
	log.Error("code panicked", "failure", e.ID, "where", where, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
	return e
}
