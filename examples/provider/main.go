// Command provider shows how to teach the harness another agent: echo.go is a
// whole provider, echo_test.go runs the conformance suite on it, and this file
// talks to it the way core does.
//
//	go run ./examples/provider "hello there"
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

func main() {
	prompt := strings.Join(os.Args[1:], " ")
	if prompt == "" {
		prompt = "hello there"
	}
	if err := talk(os.Stdout, echo{}, prompt); err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

// talk opens a conversation, plays one turn and prints every notice of it.
func talk(w io.Writer, p core.Provider, prompt string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := p.Open(ctx, core.SessionConfig{})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() {
		if closed := conn.Close(ctx); err == nil {
			err = closed
		}
	}()
	if err := conn.Send(core.StartTurn{ID: 1, TurnID: "turn-1", Input: core.TurnInput{Prompt: prompt}}); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	for {
		n, err := conn.Recv(ctx)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		switch n := n.(type) {
		case core.OpDone:
			if n.Err != nil {
				return fmt.Errorf("the turn was rejected: %w", n.Err)
			}
			fmt.Fprintln(w, "accepted")
		case core.Content:
			fmt.Fprintf(w, "%s %+v\n", n.Payload.EventType(), n.Payload)
		case core.TurnEnded:
			fmt.Fprintln(w, "turn", n.Verdict)
			return nil
		}
	}
}
