// Command delegate gives one task to several agents at the same time, takes the
// first answer, and stops the others.
//
//	go build -o bin/harness-mcp ./cmd/harness-mcp
//	go run ./examples/delegate -server bin/harness-mcp -agents codex,claude "say where the tests are slow"
//
// Without a prompt three scripted agents race, of which one is fast.
//
// The agents may read and not write, and whatever they ask for is refused:
// nobody is there to decide.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/harness-mcp/harness-mcp/examples/internal/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := flag.String("server", "harness-mcp", "the server `program`")
	agents := flag.String("agents", "codex,claude", "the agents, by `names`, if there is a prompt")
	flag.Parse()
	cwd, err := os.Getwd()
	if err == nil {
		err = run(ctx, os.Stdout, *server, nil, cwd, tasks(*agents, strings.Join(flag.Args(), " ")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "delegate:", err)
		os.Exit(1)
	}
}

// task is what one agent is to do.
type task struct{ agent, prompt string }

// tasks assigns the same prompt to each agent. Without one, scripted agents play the
// race: two are slow, so that there is somebody to stop.
func tasks(agents, prompt string) (all []task) {
	if prompt == "" {
		const slow = "slow 60000\nsay I was too late."
		return []task{{"demo", slow}, {"demo", "say I was first."}, {"demo", slow}}
	}
	for name := range strings.SplitSeq(agents, ",") {
		all = append(all, task{name, prompt})
	}
	return all
}

// competition is the agents at work.
type competition struct {
	ctx  context.Context
	w    io.Writer
	c    *harness.Client
	work map[string]harness.Turn // by turn
}

// run starts a server and races the agents on it.
func run(ctx context.Context, w io.Writer, server string, env []string, cwd string, tasks []task) (err error) {
	c, err := harness.Start(ctx, server, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r := competition{ctx, w, c, map[string]harness.Turn{}}
	for _, t := range tasks {
		if err := r.start(cwd, t); err != nil {
			return err
		}
	}
	first, err := r.first()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "the first answer: %s\n", first.Text)
	return r.stop()
}

// start sends an agent its task and does not wait: with wait_ms 0 delegate
// returns as soon as the work has begun. The session closes itself at its end.
func (r *competition) start(cwd string, t task) error {
	var turn harness.Turn
	err := r.c.Call(r.ctx, "delegate", harness.Args{
		"provider": t.agent, "prompt": t.prompt, "cwd": cwd, "sandbox_mode": "read_only", "wait_ms": 0,
	}, &turn)
	if err != nil {
		return err
	}
	r.work[turn.ID] = turn
	return nil
}

// ids are the turns that are not over.
func (r *competition) ids() []string {
	var ids []string
	for id := range r.work {
		ids = append(ids, id)
	}
	return ids
}

// first waits for the first turn that completed. One that ended in another way
// is dropped.
func (r *competition) first() (harness.Turn, error) {
	for len(r.work) > 0 {
		var now harness.Awaited
		if err := r.c.Call(r.ctx, "await", harness.Args{"ids": r.ids(), "until": "any"}, &now); err != nil {
			return harness.Turn{}, err
		}
		for _, turn := range now.Results {
			for _, ask := range turn.Pending {
				if err := r.refuse(ask); err != nil {
					return harness.Turn{}, err
				}
			}
			if !ended(turn) {
				continue
			}
			delete(r.work, turn.ID)
			if turn.Status == "completed" {
				return turn, nil
			}
			fmt.Fprintf(r.w, "one is out: %s\n", turn.Status)
		}
	}
	return harness.Turn{}, errors.New("no agent had an answer")
}

// ended reports whether a turn has ended, in whichever way.
func ended(t harness.Turn) bool {
	switch t.Status {
	case "completed", "failed", "cancelled", "interrupted":
		return true
	}
	return false
}

// refuse declines a request with the action that it offers.
func (r *competition) refuse(ask harness.Request) error {
	action := "deny"
	if ask.Kind == "question" {
		action = "cancel"
	}
	return r.c.Call(r.ctx, "respond", harness.Args{"request_id": ask.ID, "action": action, "reason": "nobody is here to decide"}, nil)
}

// stop interrupts who is still at work, and waits until they have stopped.
func (r *competition) stop() error {
	for _, turn := range r.work {
		err := r.c.Call(r.ctx, "interrupt", harness.Args{"session_id": turn.Session, "turn_id": turn.ID}, nil)
		var refused *harness.Error
		if err != nil && !errors.As(err, &refused) { // it may have ended meanwhile
			return err
		}
	}
	for len(r.work) > 0 {
		var now harness.Awaited
		if err := r.c.Call(r.ctx, "await", harness.Args{"ids": r.ids(), "wake_on_request": false}, &now); err != nil {
			return err
		}
		for _, turn := range now.Results {
			if ended(turn) {
				fmt.Fprintf(r.w, "another one: %s\n", turn.Status)
				delete(r.work, turn.ID)
			}
		}
	}
	return nil
}
