// Command processes supervises processes as a library: it starts a small server
// and waits for its ready line, talks to it step by step, and reads back what it
// said, also when it ends in a millisecond.
//
//	go run ./examples/processes
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/process"
)

func main() {
	// First of all: on Linux this program is also the guard of what it starts.
	process.Init()
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "processes:", err)
		os.Exit(1)
	}
}

// calculator is a server on stdin and stdout: it says that it is ready, and
// answers every line.
const calculator = `echo 'calculator ready'; while read -r line; do echo "$line = $(($line))"; done; echo bye >&2; exit 3`

var me = core.Caller{Owner: "local"}

// wait is how long the program waits for anything.
const wait = 10 * time.Second

// run does what the command is for.
func run(ctx context.Context, out io.Writer) (err error) {
	store := memstore.New() // sqlitestore has one that remembers
	local := process.NewLocal(process.Options{Log: store, Instance: store.Instance()})
	h := harness.New(harness.Config{
		Store:     store,
		Processes: process.NewSupervisor(process.SupervisorOptions{Local: local, Store: store}),
		Environ:   os.Environ(),
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
		defer cancel()
		err = errors.Join(err, h.Shutdown(ctx)) // nothing that was started outlives this
	}()

	p, err := h.StartProcess(ctx, me, core.StartProcessRequest{Spec: core.ProcessSpec{
		Executable: "sh", Argv: []string{"-c", calculator}, Title: "calculator", Stdin: true,
	}})
	if err != nil {
		return err
	}
	if err := await(ctx, h, out, p.ID, "ready$", 0); err != nil {
		return err
	}
	for _, sum := range []string{"6 * 7", "2 + 2"} {
		res, err := h.SendInput(ctx, me, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{Data: []byte(sum + "\n")}})
		if err != nil {
			return err
		}
		if err := await(ctx, h, out, p.ID, " = ", res.Before); err != nil {
			return err
		}
	}
	if _, err := h.SendInput(ctx, me, core.InputRequest{ProcessID: p.ID, Input: core.ProcessInput{EOF: true}}); err != nil {
		return err
	}
	if err := await(ctx, h, out, p.ID, "", 0); err != nil {
		return err
	}
	return journal(ctx, h, out, p.ID)
}

// await waits for a line that matches, or without a pattern for the end.
func await(ctx context.Context, h *harness.Harness, out io.Writer, id, pattern string, after uint64) error {
	res, err := h.Await(ctx, me, core.AwaitRequest{IDs: []string{id}, Pattern: pattern, After: after, Wait: wait})
	if err != nil {
		return err
	}
	switch r := res.Results[0]; res.Outcome {
	case core.OutcomeMatched:
		fmt.Fprintf(out, "it says: %s\n", r.Matched.Line)
	case core.OutcomeDone:
		fmt.Fprintf(out, "it has %s with code %d\n", r.Process.Status, *r.Process.ExitCode)
	default:
		return fmt.Errorf("it is %s and says nothing", r.Process.Status)
	}
	return nil
}

// journal prints what happened, in order.
func journal(ctx context.Context, h *harness.Harness, out io.Writer, id string) error {
	page, err := h.Replay(ctx, me.Owner, core.ReplayRequest{ID: id})
	if err != nil {
		return err
	}
	for _, e := range page.Events {
		fmt.Fprintf(out, "%d %s %s\n", e.Seq, e.Type, e.Data)
	}
	return nil
}
