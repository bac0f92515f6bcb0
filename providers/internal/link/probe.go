package link

import (
	"context"
	"io"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// Result is what a probe wrote and how it ended.
type Result struct {
	Stdout, Stderr string // the beginning of each
	Exit           process.Exit
}

// Run runs a command that needs no input, such as one that prints a version, and
// waits for its end. ctx bounds it all; nothing is left when Run returns.
//
// Errors: CodeProviderNotReady.
func Run(ctx context.Context, r process.Runner, spec process.Spec) (Result, error) {
	child, err := r.Start(ctx, spec)
	if err != nil {
		return Result{}, core.Errorf(core.CodeProviderNotReady, "it could not be started: %w", err)
	}
	unblock := context.AfterFunc(ctx, func() { _ = child.Kill() })
	defer unblock()
	defer func() { _ = child.Kill() }() // it has ended, or is not to continue
	_ = child.Stdin().Close()
	stderr := make(chan string, 1) // ends with the child
	go func() {
		text, _ := beginning(child.Stderr())
		stderr <- text
	}()
	out, err := beginning(child.Stdout())
	if err != nil {
		return Result{}, core.Errorf(core.CodeProviderNotReady, "its output could not be read: %w", err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // else it may have been killed
		return Result{}, core.Errorf(core.CodeProviderNotReady, "it did not end in time: %w", err)
	}
	return Result{out, <-stderr, child.Exit()}, nil
}

// beginning reads all and keeps the beginning.
func beginning(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxOutput))
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	return string(text), err
}
