// Package providertest is the conformance suite of core.Provider and
// core.Conn. Every provider runs it, the scripted one and those that drive real
// agents:
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, providertest.Config{
//			Provider: demo.New(demo.Options{Dir: t.TempDir()}),
//			Session:  func(testing.TB) core.SessionConfig { return core.SessionConfig{} },
//			Prompts:  providertest.Prompts{Say: func(text string) string { return "say " + text }},
//		})
//	}
//
// The suite knows no agent: Prompts has the prompt that makes this one speak,
// use a tool, ask, or take its time. A behaviour without a prompt is skipped
// with its reason, and must agree with the provider's Capabilities.
//
// Two things are checked at once. Each check plays one situation and looks at
// its outcome. And every notice of every check passes the same watch, which
// knows what must hold always: one OpDone for each op, one terminal for each
// turn with nothing of the turn behind it, deltas that join to their message,
// no item left open, no request name used twice at a time.
//
// No check assumes how fast an agent is: it waits for notices, each wait
// bounded by Config.Timeout. What must not happen is looked for by playing
// another turn behind it, since notices are ordered.
package providertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
)

// DefaultTimeout bounds one wait when Config has none.
const DefaultTimeout = 30 * time.Second

// Config is a provider under test.
type Config struct {
	Provider core.Provider
	// Session returns the configuration of a check's session. It is called once
	// for each check; a check that resumes uses the same one again.
	Session func(t testing.TB) core.SessionConfig
	Prompts Prompts
	// Timeout bounds each wait for a notice and each call; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// Leaks are goroutines that may outlive a session, such as those of a
	// model server that the test itself runs.
	Leaks []goleak.Option
}

// Prompts are the prompts that make the agent do a thing. An empty one means that it
// cannot be made to. Say is required.
type Prompts struct {
	// Say makes the agent's last message contain the text, one line.
	Say func(text string) string
	// Stream makes it send a message in at least n pieces.
	Stream func(n int) string
	// Think makes it reason visibly, Run use a tool that needs no approval and
	// succeeds, Approve ask for an approval before a tool, Ask ask a question,
	// Fail end the turn as failed.
	Think, Run, Approve, Ask, Fail string
	// Slow makes it work for that long, or until it is interrupted.
	Slow func(d time.Duration) string
	// Recall makes its last message contain the earlier prompts of the
	// conversation.
	Recall string
}

// Check is one situation that every provider must handle.
type Check struct {
	Name string
	Func func(*Env) error
}

// Env is what a check works with: the provider and one session's
// configuration.
type Env struct {
	Config
	Launch core.SessionConfig
}

// skip is the reason why a check does not apply to this provider.
type skip struct{ reason string }

func (s skip) Error() string { return "skipped: " + s.reason }

// Checks lists the suite in the order in which it runs.
func Checks() []Check {
	var all []Check
	for _, group := range [][]Check{basicChecks, turnChecks, requestChecks, interruptChecks, memoryChecks, closeChecks} {
		all = append(all, group...)
	}
	return all
}

// Run runs the whole suite, one subtest for each check, and after each looks
// for goroutines that it left behind.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.Provider == nil || cfg.Session == nil || cfg.Prompts.Say == nil {
		t.Fatal("providertest: Config needs Provider, Session and Prompts.Say")
	}
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			launch := cfg.Session(t)
			err := runCheck(c, cfg, launch)
			var s skip
			switch {
			case errors.As(err, &s):
				t.Skip(s.reason)
			case err != nil:
				t.Fatal(err)
			}
		})
	}
}

// runCheck runs one check and looks for goroutines it left behind.
func runCheck(c Check, cfg Config, launch core.SessionConfig) error {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	before := goleak.IgnoreCurrent()
	if err := c.Func(&Env{Config: cfg, Launch: launch}); err != nil {
		return err
	}
	if err := goleak.Find(append([]goleak.Option{before}, cfg.Leaks...)...); err != nil {
		return fmt.Errorf("goroutines outlive Close: %w", err)
	}
	return nil
}

// capabilities are those of the transport that the check's session uses.
func (e *Env) capabilities() (core.Capabilities, error) {
	ts, ok := e.Provider.Spec().Transport(e.Launch.Transport)
	if !ok {
		return core.Capabilities{}, fmt.Errorf("the Spec has no transport %q", e.Launch.Transport)
	}
	return ts.Capabilities, nil
}

// need reports whether a check of a capability can run: nil, a skip, or the
// error that the prompts and the capabilities disagree.
func (e *Env) need(what string, pick func(core.Capabilities) core.Support, prompted bool) error {
	caps, err := e.capabilities()
	if err != nil {
		return err
	}
	switch can := pick(caps).OK(); {
	case can && !prompted:
		return fmt.Errorf("the provider declares %s, but Prompts has nothing to show it", what)
	case !can && prompted:
		return fmt.Errorf("Prompts can show %s, but the provider does not declare it", what)
	case !can:
		return skip{"the provider declares no " + what}
	}
	return nil
}

// able reports whether a check of a capability that needs no prompt of its own
// can run.
func (e *Env) able(what string, pick func(core.Capabilities) core.Support) error {
	caps, err := e.capabilities()
	if err == nil && !pick(caps).OK() {
		return skip{"the provider declares no " + what}
	}
	return err
}

func noPrompt(name string) error {
	return skip{"Prompts." + name + " is empty: this agent cannot be made to do it"}
}

func approvals(c core.Capabilities) core.Support { return c.Approvals }
func questions(c core.Capabilities) core.Support { return c.Questions }
func interrupt(c core.Capabilities) core.Support { return c.Interrupt }
func streaming(c core.Capabilities) core.Support { return c.TokenStreaming }
func steering(c core.Capabilities) core.Support  { return c.Steer }
func resuming(c core.Capabilities) core.Support  { return c.Resume }
func forking(c core.Capabilities) core.Support   { return c.Fork }
func configure(c core.Capabilities) core.Support { return c.Configure }
