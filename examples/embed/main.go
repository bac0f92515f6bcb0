// Command embed uses the harness as a library: it delegates a task to an
// agent, answers what the agent asks, and reads back what happened. The agent
// is the scripted one inside the module, so nothing has to be installed.
//
//	go run ./examples/embed "tidy the tests"
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	prompt := strings.Join(os.Args[1:], " ")
	if prompt == "" {
		prompt = "tidy the tests"
	}
	if err := run(ctx, os.Stdout, demo.New(demo.Options{}), prompt); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// shutdownTime is how long the agent has for a polite end.
const shutdownTime = 5 * time.Second

// run makes a harness, delegates the prompt and prints the journal. The memory
// store forgets everything at the end; package sqlitestore has one that does
// not.
func run(ctx context.Context, w io.Writer, agent core.Provider, prompt string) (err error) {
	store := memstore.New()
	h := harness.New(harness.Config{Store: store, Providers: []core.Provider{agent}})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		err = errors.Join(err, h.Shutdown(ctx), store.Close())
	}()
	me := core.Caller{Owner: "local", Client: "embed"}

	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	session, err := h.StartSession(ctx, me, core.StartRequest{
		Config: core.SessionConfig{Provider: agent.Spec().Name, CWD: cwd},
	})
	if err != nil {
		return err
	}
	// The handle is there at once; the work goes on without us.
	turn, err := h.SendMessage(ctx, me, core.SendRequest{
		SessionID: session.Session.ID, Input: core.TurnInput{Prompt: prompt},
	})
	if err != nil {
		return err
	}
	if err := attend(ctx, w, h, me, turn.ID); err != nil {
		return err
	}
	if err := printJournal(ctx, w, h, me.Owner, turn.ID); err != nil {
		return err
	}
	_, err = h.Close(ctx, me, core.CloseRequest{ID: session.Session.ID})
	return err
}

// attend waits for the turn and answers what the agent asks on the way.
func attend(ctx context.Context, w io.Writer, h *harness.Harness, me core.Caller, turn string) error {
	for {
		got, err := h.Await(ctx, me, core.AwaitRequest{
			IDs: []string{turn}, Wait: time.Minute, WakeOnRequest: true,
		})
		if err != nil {
			return err
		}
		now := got.Results[0]
		switch got.Outcome {
		case core.OutcomeDone:
			fmt.Fprintf(w, "the turn %s\n\n", now.Turn.Status)
			return nil
		case core.OutcomeRequest:
			for _, ask := range now.Pending() {
				if err := decide(ctx, w, h, me, ask); err != nil {
					return err
				}
			}
		}
	}
}

// decide approves everything and takes the first choice of every question. A
// real program would ask someone.
func decide(ctx context.Context, w io.Writer, h *harness.Harness, me core.Caller, ask core.Request) error {
	answer := core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
	if ask.Kind == core.KindQuestion {
		answer = core.Response{Action: core.ActionAnswer, Answers: map[string][]string{}}
		for _, q := range ask.Questions {
			answer.Answers[q.ID] = []string{q.Choices[0].Value}
		}
	}
	fmt.Fprintf(w, "the agent asks: %s -> %s\n", ask.Prompt, answer.Action)
	_, err := h.Respond(ctx, me, core.RespondRequest{RequestID: ask.ID, Response: answer})
	return err
}

// printJournal prints every event of the turn but the pieces of messages,
// which stand in the messages again.
func printJournal(ctx context.Context, w io.Writer, h *harness.Harness, owner, turn string) error {
	after := uint64(0)
	for {
		page, err := h.Replay(ctx, owner, core.ReplayRequest{ID: turn, After: after})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if !e.Type.IsDelta() {
				fmt.Fprintf(w, "%4d %-18s %s\n", e.Seq, e.Type, e.Data)
			}
		}
		if !page.More {
			return nil
		}
		after = page.Cursor
	}
}
