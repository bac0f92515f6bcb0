// Command sessions shows the main scenario over MCP: it looks at an agent, starts
// a session, sends a message and a follow-up, answers what the agent asks, reads
// the journal back, closes, and takes up the conversation again.
//
//	go build -o bin/harness-mcp ./cmd/harness-mcp
//	go run ./examples/sessions -server bin/harness-mcp
//	go run ./examples/sessions -server bin/harness-mcp -provider codex "look around" "tidy up"
//
// The agent is the scripted one inside the server unless -provider says
// otherwise; a real one costs what it costs.
package main

import (
	"context"
	"encoding/json"
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
	provider := flag.String("provider", "demo", "the `agent`")
	flag.Parse()
	prompts := [2]string{"say Good morning.\napprove\nask", "recall"}
	copy(prompts[:], flag.Args())
	if err := run(ctx, os.Stdout, *server, nil, *provider, prompts); err != nil {
		fmt.Fprintln(os.Stderr, "sessions:", err)
		os.Exit(1)
	}
}

// run starts a server and runs the walkthrough.
func run(ctx context.Context, w io.Writer, server string, env []string, provider string, prompts [2]string) (err error) {
	c, err := harness.Start(ctx, server, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s := walkthrough{ctx: ctx, w: w, c: c}
	if err := s.look(provider); err != nil {
		return err
	}
	session, err := s.start(provider)
	if err != nil {
		return err
	}
	if err := s.exchange(session, prompts); err != nil {
		return err
	}
	if err := s.readBack(session); err != nil {
		return err
	}
	return s.close(session)
}

// walkthrough is what every chapter needs.
type walkthrough struct {
	ctx context.Context
	w   io.Writer
	c   *harness.Client
}

func (s walkthrough) say(format string, a ...any) { fmt.Fprintf(s.w, format+"\n", a...) }

// look asks whether the agent is installed, and what it can do.
func (s walkthrough) look(provider string) error {
	var list struct {
		Providers []struct {
			Name       string `json:"name"`
			Ready      bool   `json:"ready"`
			Reason     string `json:"reason"`
			Transports []struct {
				Name         string            `json:"name"`
				Capabilities map[string]string `json:"capabilities"`
			} `json:"transports"`
		} `json:"providers"`
	}
	if err := s.c.Call(s.ctx, "list_providers", harness.Args{"provider": provider}, &list); err != nil {
		return err
	}
	for _, p := range list.Providers {
		if !p.Ready {
			return fmt.Errorf("%s is not ready: %s", p.Name, p.Reason)
		}
		for _, t := range p.Transports {
			s.say("%s is ready; by %s it has approvals: %s, questions: %s", p.Name, t.Name, t.Capabilities["approvals"], t.Capabilities["questions"])
		}
	}
	return nil
}

// session is a conversation as the story reads it.
type session struct {
	ID     string `json:"session_id"`
	Status string `json:"status"`
}

// start opens a session. It is there when the call returns.
func (s walkthrough) start(provider string) (string, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var opened, seen session
	err = s.c.Call(s.ctx, "start_session", harness.Args{
		"provider": provider, "cwd": cwd, "title": "an example",
		"turn_runtime_timeout_ms": 600_000,   // no turn takes longer
		"session_idle_timeout_ms": 3_600_000, // closed after an hour of nothing
		"metadata":                harness.Args{"example": "sessions"},
	}, &opened)
	if err != nil {
		return "", err
	}
	if err := s.c.Call(s.ctx, "inspect", harness.Args{"id": opened.ID}, &seen); err != nil {
		return "", err
	}
	s.say("the session is %s", seen.Status)
	return opened.ID, nil
}

// exchange sends a message, queues a follow-up behind it before it is done, and
// waits for both.
func (s walkthrough) exchange(session string, prompts [2]string) error {
	var first, second harness.Turn
	if err := s.c.Call(s.ctx, "send_message", harness.Args{"session_id": session, "prompt": prompts[0]}, &first); err != nil {
		return err
	}
	if err := s.c.Call(s.ctx, "follow_up", harness.Args{"session_id": session, "prompt": prompts[1]}, &second); err != nil {
		return err
	}
	for {
		// One call may wait 45 seconds; the work goes on whether it waits or not.
		var now harness.Awaited
		if err := s.c.Call(s.ctx, "await", harness.Args{"ids": []string{first.ID, second.ID}}, &now); err != nil {
			return err
		}
		for _, turn := range now.Results {
			for _, ask := range turn.Pending {
				if err := s.decide(ask); err != nil {
					return err
				}
			}
		}
		if now.Outcome != "done" {
			continue
		}
		for _, turn := range now.Results {
			if turn.Status != "completed" { // the call went well, the work did not
				return fmt.Errorf("a turn is %s: %v", turn.Status, turn.Error)
			}
			s.say("it says: %s", turn.Text)
		}
		return nil
	}
}

// decide approves everything and takes the first choice of every question. A
// real program would ask someone.
func (s walkthrough) decide(ask harness.Request) error {
	args := harness.Args{"request_id": ask.ID, "action": "approve"}
	if len(ask.Questions) == 0 && ask.Kind == "question" {
		var whole harness.Request // a row is short; inspect tells all
		if err := s.c.Call(s.ctx, "inspect", harness.Args{"id": ask.ID}, &whole); err != nil {
			return err
		}
		ask.Questions = whole.Questions
	}
	if ask.Kind == "question" {
		answers := map[string][]string{}
		for _, q := range ask.Questions {
			answers[q.ID] = []string{"whatever you think best"}
			if len(q.Choices) > 0 {
				answers[q.ID] = []string{q.Choices[0].Value}
			}
		}
		args["action"], args["answers"] = "answer", answers
	}
	s.say("it asks: %s -> %s", ask.Prompt, args["action"])
	return s.c.Call(s.ctx, "respond", args, nil)
}

// readBack reads the journal in pages, each from where the last one ended.
func (s walkthrough) readBack(id string) error {
	var page struct {
		Events []struct {
			Seq  uint64          `json:"seq"`
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		} `json:"events"`
		Cursor uint64 `json:"cursor"`
		More   bool   `json:"more"`
	}
	for page.More = true; page.More; {
		args := harness.Args{"id": id, "after": page.Cursor, "limit": 20, "view": "events"}
		page.Events = nil
		if err := s.c.Call(s.ctx, "replay", args, &page); err != nil {
			return err
		}
		for _, e := range page.Events {
			if !strings.HasSuffix(e.Type, "_delta") { // they stand in the messages again
				s.say("%4d %s", e.Seq, e.Type)
			}
		}
	}
	return nil
}

// close ends the session. Its journal stays, and the conversation can be taken
// up again under the same id, until it is pruned.
func (s walkthrough) close(id string) error {
	var now session
	for _, c := range []struct {
		tool string
		args harness.Args
	}{
		{"close", harness.Args{"id": id}},
		{"start_session", harness.Args{"resume": id}},
		{"close", harness.Args{"id": id, "force": true}},
		{"inspect", harness.Args{"id": id}},
	} {
		if err := s.c.Call(s.ctx, c.tool, c.args, &now); err != nil {
			return err
		}
		s.say("after %s it is %s", c.tool, now.Status)
	}
	if err := s.c.Call(s.ctx, "prune", harness.Args{"id": id}, nil); err != nil {
		return err
	}
	var refused *harness.Error
	if err := s.c.Call(s.ctx, "inspect", harness.Args{"id": id}, nil); !errors.As(err, &refused) {
		return fmt.Errorf("a pruned session is still there: %w", err)
	}
	s.say("after prune it is %s", refused.Code)
	return nil
}
