//go:build !linux

package process

import (
	"context"
	"errors"

	"github.com/harness-mcp/harness-mcp/core"
)

// Init lets commands have a guard. Guards need Linux, so here it does nothing.
// Call it first in main nevertheless.
func Init() {}

func guardReady() bool { return false }

func startGuarded(context.Context, *child, *launch) error {
	return errors.New("guards need Linux")
}

// bootID and startTimeOf are unknown here, so rows serve for reading only.
func bootID() string         { return "" }
func startTimeOf(int) uint64 { return 0 }

// killMarked does nothing: other processes' environments are readable on Linux only.
func killMarked(*child) (left int) { return 0 }

// reap finds nothing to end here. Reap still deletes the rows of dead instances.
func reap(context.Context, map[string]bool, func(string) bool, []core.Child) (Report, error) {
	return Report{}, nil
}
