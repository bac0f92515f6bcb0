package tools

import (
	"context"
	"reflect"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// launchArgs are the arguments that start_session and delegate share.
type launchArgs struct {
	CWD             string            `arg:"cwd" doc:"absolute directory to work in"`
	Title           string            `arg:"title"`
	Model           string            `arg:"model"`
	SystemPrompt    string            `arg:"system_prompt"`
	ApprovalMode    string            `arg:"approval_mode" enum:"default|prompt|auto_edit|auto_approve" doc:"prompt: asks before any change; auto_edit: asks for commands; auto_approve: never asks"`
	SandboxMode     string            `arg:"sandbox_mode" enum:"default|read_only|workspace_write|unrestricted"`
	ReasoningEffort string            `arg:"reasoning_effort"`
	AllowedTools    []string          `arg:"allowed_tools"`
	DisallowedTools []string          `arg:"disallowed_tools"`
	AddDirs         []string          `arg:"add_dirs"`
	MCPServers      objectMap         `arg:"mcp_servers"`
	Env             map[string]string `arg:"env"`
	ProviderOptions anyObject         `arg:"provider_options" doc:"see list_providers {provider}"`
	OutputSchema    rawObject         `arg:"output_schema" doc:"JSON Schema of the answer"`
	AnswerBy        string            `arg:"answer_by" enum:"caller|user" doc:"who is asked first"`
	TurnRuntimeMS   *int64            `arg:"turn_runtime_timeout_ms" min:"1"`
	Metadata        map[string]string `arg:"metadata"`
}

// config returns the configuration that the arguments of a call ask for, which
// core knows by their names.
func config(args any) core.SessionConfig {
	var cfg core.SessionConfig
	v := reflect.ValueOf(args)
	for _, f := range fieldsOf(v.Type()) {
		cfg.SetArgument(f.name, v.FieldByIndex(f.index).Interface())
	}
	return cfg
}

// chooseAnswerer sets answer_by to caller, with a warning, where a client
// cannot show forms: requests must not wait for a form. Where only people may
// answer, requests wait for another client of the owner.
func (c *call) chooseAnswerer(ctx context.Context, r *core.StartRequest) {
	if c.opts.AnswerByUser || clientElicits(ctx) || r.Config.AnswerBy == core.AnswerByCaller {
		return
	}
	by := r.Config.AnswerBy
	if by == "" && r.Resume != "" {
		if was, err := c.h.Get(ctx, c.caller.Owner, r.Resume); err == nil && was.Session != nil {
			by = was.Session.Session.AnswerBy
		}
	}
	if by == core.AnswerByUser {
		r.Config.AnswerBy = core.AnswerByCaller
		r.Warnings = append(r.Warnings, "This client cannot ask its user, so answer_by is caller: requests come to you.")
	}
}

// milliseconds returns a duration, zero if ms is nil.
func milliseconds(ms *int64) time.Duration {
	return time.Duration(intOr(ms, 0)) * time.Millisecond
}
