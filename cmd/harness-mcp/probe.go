package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/internal/modelserver"
	"github.com/harness-mcp/harness-mcp/providers"
)

// probed is how the probe of an installed CLI went, step by step.
type probed struct {
	Steps []probeStep `json:"steps"`
	Error string      `json:"error,omitempty"`
}

type probeStep struct {
	What string `json:"step"`
	MS   int64  `json:"ms"`
}

func (p *probed) lines() []string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, fmt.Sprintf("probe: %s (%d ms)", s.What, s.MS))
	}
	if p.Error != "" {
		return append(out, "probe failed: "+p.Error)
	}
	return append(out, "probe: passed; this CLI and harness-mcp understand each other")
}

// probe drives an installed CLI through a turn, an approval and an interrupt
// on the built-in model. The demo agent needs none.
func probe(ctx context.Context, h *harness.Harness, provider string) *probed {
	p := &probed{}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if provider == "demo" {
		return nil
	}
	l, ok := providers.Loopbacks[provider]
	if !ok {
		p.Error = errNoLoopback.Error()
		return p
	}
	root, err := os.MkdirTemp("", "harness-mcp-probe-")
	if err != nil {
		p.Error = err.Error()
		return p
	}
	defer os.RemoveAll(root)
	model, err := modelserver.Start()
	if err != nil {
		p.Error = err.Error()
		return p
	}
	defer model.Close()
	if err := p.drive(ctx, h, l, provider, root, model.URL()); err != nil {
		p.Error = plain(err)
	}
	return p
}

// step times one part of the probe.
func (p *probed) step(what string, do func() error) error {
	begin := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.Steps = append(p.Steps, probeStep{What: what, MS: time.Since(begin).Milliseconds()})
	return nil
}

func (p *probed) drive(ctx context.Context, h *harness.Harness, l providers.Loopback, provider, root, url string) error {
	env, err := l.Env(root, url)
	if err != nil {
		return err
	}
	cwd := filepath.Join(root, "work")
	if err := os.Mkdir(cwd, 0o700); err != nil {
		return err
	}
	me := core.Caller{Owner: "probe", Client: "harness-mcp check"}
	var id string
	defer func() {
		if id != "" {
			_, _ = h.Close(context.WithoutCancel(ctx), me, core.CloseRequest{ID: id, Force: true})
		}
	}()
	err = p.step("opened a session", func() error {
		v, err := h.StartSession(ctx, me, core.StartRequest{Config: core.SessionConfig{Provider: provider, CWD: cwd, Env: env}})
		id = v.Session.ID
		return err
	})
	if err != nil {
		return err
	}
	b := bench{h: h, me: me, session: id}
	if err := p.step("a turn, its answer word for word", func() error { return b.turn(ctx, "say A heron waits.", core.TurnDoneCompleted, "A heron waits.") }); err != nil {
		return err
	}
	file := filepath.Join(cwd, "approved.txt")
	if err := p.step("an approval asked for, given and acted on", func() error { return b.approval(ctx, l.Approval("touch "+file), file) }); err != nil {
		return err
	}
	if err := p.step("an interrupt confirmed", func() error { return b.interrupt(ctx, "slow 50\nstream 1000") }); err != nil {
		return err
	}
	return p.step("closed", func() error {
		_, err := h.Close(ctx, me, core.CloseRequest{ID: id})
		return err
	})
}

// bench runs the steps of a probe in one session.
type bench struct {
	h       *harness.Harness
	me      core.Caller
	session string
}

func (b bench) send(ctx context.Context, prompt string) (core.Turn, error) {
	return b.h.SendMessage(ctx, b.me, core.SendRequest{SessionID: b.session, Input: core.TurnInput{Prompt: prompt}})
}

func (b bench) await(ctx context.Context, id string) (core.Resource, core.Outcome, error) {
	r, err := b.h.Await(ctx, b.me, core.AwaitRequest{IDs: []string{id}, Wait: probeTime, WakeOnRequest: true})
	if err != nil {
		return core.Resource{}, "", err
	}
	return r.Results[0], r.Outcome, nil
}

// ended waits for a turn and checks how it ended.
func (b bench) ended(ctx context.Context, id string, want core.TurnStatus) (core.Turn, error) {
	r, outcome, err := b.await(ctx, id)
	if err != nil {
		return core.Turn{}, err
	}
	t := *r.Turn
	if outcome != core.OutcomeDone || t.Status != want {
		if t.Error != nil {
			return t, fmt.Errorf("the turn is %s: %s", t.Status, t.Error.Message)
		}
		return t, fmt.Errorf("the turn is %s, not %s", t.Status, want)
	}
	return t, nil
}

func (b bench) turn(ctx context.Context, prompt string, want core.TurnStatus, text string) error {
	t, err := b.send(ctx, prompt)
	if err != nil {
		return err
	}
	if t, err = b.ended(ctx, t.ID, want); err != nil {
		return err
	}
	if t.Text != text {
		return fmt.Errorf("the agent said %q instead of %q", t.Text, text)
	}
	return nil
}

func (b bench) approval(ctx context.Context, prompt, file string) error {
	t, err := b.send(ctx, prompt+"\nsay over")
	if err != nil {
		return err
	}
	r, outcome, err := b.await(ctx, t.ID)
	if err != nil {
		return err
	}
	if outcome != core.OutcomeRequest {
		return fmt.Errorf("the agent did not ask: the turn is %s", r.Turn.Status)
	}
	if _, err := b.h.Respond(ctx, b.me, core.RespondRequest{RequestID: r.Pending()[0].ID, Response: core.Response{Action: core.ActionApprove}}); err != nil {
		return err
	}
	if _, err := b.ended(ctx, t.ID, core.TurnDoneCompleted); err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the approved command left no trace: %w", err)
	}
	return nil
}

func (b bench) interrupt(ctx context.Context, prompt string) error {
	t, err := b.send(ctx, prompt)
	if err != nil {
		return err
	}
	if _, err := b.h.Interrupt(ctx, b.me, core.InterruptRequest{SessionID: b.session}); err != nil {
		return err
	}
	_, err = b.ended(ctx, t.ID, core.TurnDoneCancelled)
	return err
}
