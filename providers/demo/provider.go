// Package demo is a scripted agent inside the binary: the provider "demo". It
// needs no executable, account or network and is always ready, so a person can
// try every tool with it and a test can play every situation.
//
// # The script
//
// Its prompt is its script, one directive a line:
//
//	say TEXT     reports the message TEXT, in pieces that join to it
//	stream N     reports a message of N pieces
//	think TEXT   reasons TEXT
//	run          lists its folder, as a command with output
//	patch        edits a file in its folder and reports the diff
//	approve      asks for the approval of a command, then runs it
//	ask          asks a question with choices and free text
//	slow MS      waits MS milliseconds
//	recall       reports the earlier prompts of the conversation
//	fail         ends the turn as failed
//
// A prompt with any other line plays the whole show: text, a plan, reasoning, a
// command, an approval, a question, an edit and an end, in under three seconds
// of its own time.
//
// # What is real
//
// No child process is ever started: the commands are played by the package
// itself. Files are real, but only those of the conversation's own folder below
// Options.Dir; the session's cwd is never touched. That folder also holds the
// memory of the conversation (its last prompts, as the caller wrote them), which
// is what makes it resumable by another process. Folders that nobody has used
// for Retention are removed at the first opening of a Provider.
//
// # How it runs
//
// Each open conversation is one goroutine, which takes an op, plays it and
// queues notices until Recv takes them. It ends at Close. What it holds is
// bounded by the constants in limits.go.
package demo

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Name is the provider's name in list_providers and start_session.
const Name = "demo"

// version is the version of the script language.
const version = "1"

// The models. They differ in how fast the whole show is played.
const (
	modelPaced = "demo"
	modelFast  = "demo-fast"
)

// Options are where and how fast the agent plays. The zero value is ready for use.
type Options struct {
	// Dir is where conversations have their folders; "" means os.TempDir.
	Dir string
	// Pace is the pause between two steps of the whole show. Zero means
	// DefaultPace, a negative value none. Single directives never pause.
	Pace time.Duration
	// Clock replaces the system's timers, for tests without testing/synctest.
	// Nil means time.NewTimer.
	Clock Clock
}

// Clock makes timers. It is called from many goroutines.
type Clock interface {
	// Timer returns a channel that is sent to once d has passed, and a function
	// that stops the timer.
	Timer(d time.Duration) (fired <-chan time.Time, stop func())
}

type systemClock struct{}

func (systemClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// New returns the provider. It does no I/O.
func New(o Options) core.Provider {
	if o.Dir == "" {
		o.Dir = os.TempDir()
	}
	if o.Pace == 0 {
		o.Pace = DefaultPace
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return &provider{Options: o}
}

type provider struct {
	Options
	sweep sync.Once
}

// Spec describes the agent.
func (p *provider) Spec() core.Spec {
	return core.Spec{
		Name:  Name,
		Title: "Scripted demo agent",
		Transports: []core.TransportSpec{{
			Name:    "builtin",
			Default: true,
			Capabilities: core.Capabilities{
				TokenStreaming:   core.Native,
				Questions:        core.Native,
				Approvals:        core.Native,
				Interrupt:        core.Native,
				Steer:            core.Native,
				Resume:           core.Native,
				Fork:             core.Native,
				Configure:        core.Native,
				PerSessionMCP:    core.Unsupported,
				Skills:           core.Unsupported,
				Attachments:      core.Unsupported,
				StructuredOutput: core.Unsupported,
			},
			Approval: []core.ApprovalMode{
				core.ApprovalDefault, core.ApprovalPrompt, core.ApprovalAutoEdit, core.ApprovalAuto,
			},
			Sandbox: []core.SandboxMode{
				core.SandboxDefault, core.SandboxReadOnly, core.SandboxWorkspaceWrite, core.SandboxUnrestricted,
			},
		}},
	}
}

// Status is always ready: there is nothing to look for.
func (p *provider) Status(context.Context) core.Status {
	return core.Status{
		Ready:         true,
		Version:       version,
		Authenticated: "yes",
		Evidence:      "needs no account",
		Models:        []string{modelPaced, modelFast},
	}
}

// Open makes, resumes or forks a conversation.
func (p *provider) Open(ctx context.Context, cfg core.SessionConfig) (core.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, core.Errorf(core.CodeStartFailed, "the opening was cancelled: %w", err)
	}
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	p.sweep.Do(func() { removeStale(p.Dir, time.Now().Add(-Retention)) })
	folder, err := openFolder(p.Dir, cfg)
	if err != nil {
		return nil, err
	}
	return newConn(p.Options, cfg, folder), nil
}

// checkConfig refuses what the agent cannot do. Core refuses most of it
// before, by the Spec; a program that uses the package alone is refused here.
func checkConfig(cfg core.SessionConfig) error {
	switch {
	case len(cfg.MCPServers) > 0:
		return unsupported(core.CodeCapability, "mcp_servers")
	case len(cfg.Skills) > 0:
		return unsupported(core.CodeCapability, "skills")
	case len(cfg.OutputSchema) > 0:
		return unsupported(core.CodeCapability, "output_schema")
	case cfg.ReasoningEffort != "":
		return unsupported(core.CodeOption, "reasoning_effort")
	case len(cfg.ProviderOptions) > 0:
		return unsupported(core.CodeOption, "provider_options")
	}
	// Not a plain return: a nil *core.Error must not become a non-nil error.
	if err := checkModel(cfg.Model); err != nil {
		return err
	}
	return nil
}

func checkModel(model string) *core.Error {
	switch model {
	case "", modelPaced, modelFast:
		return nil
	}
	return core.Errorf(core.CodeOption, "the demo agent has no model %q", model).
		WithHint("Leave model out, or use %q or %q.", modelPaced, modelFast)
}

func unsupported(code core.Code, what string) *core.Error {
	return core.Errorf(code, "the demo agent takes no %s", what).WithHint("Leave %s out.", what)
}

// ignored lists the settings that have no meaning for an agent without model
// and child processes, so that the caller knows that they had no effect.
func ignored(cfg core.SessionConfig) []string {
	var out []string
	for _, s := range []struct {
		name  string
		given bool
	}{
		{"system_prompt", cfg.SystemPrompt != ""},
		{"allowed_tools", len(cfg.AllowedTools) > 0},
		{"disallowed_tools", len(cfg.DisallowedTools) > 0},
		{"add_dirs", len(cfg.AddDirs) > 0},
		{"env", len(cfg.Env) > 0},
	} {
		if s.given {
			out = append(out, s.name+" has no effect on the demo agent")
		}
	}
	return out
}
