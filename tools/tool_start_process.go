package tools

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
)

type startProcessArgs struct {
	Executable string            `arg:"executable,required" doc:"path, or a name to look for in PATH"`
	Argv       []string          `arg:"argv" doc:"without the executable; no shell reads it"`
	CWD        string            `arg:"cwd"`
	Title      string            `arg:"title"`
	Env        map[string]string `arg:"env"`
	UnsetEnv   []string          `arg:"unset_env"`
	EnvMode    string            `arg:"env_mode" enum:"overlay|replace"`
	Stdin      bool              `arg:"stdin" doc:"for send_input"`
	PTY        bool              `arg:"pty" doc:"a terminal, with stdin"`
	Cols       *int64            `arg:"cols" min:"1" max:"1000"`
	Rows       *int64            `arg:"rows" min:"1" max:"1000"`
	RuntimeMS  *int64            `arg:"runtime_timeout_ms" min:"1"`
	IdleMS     *int64            `arg:"idle_timeout_ms" min:"1" doc:"without output"`
	Metadata   map[string]string `arg:"metadata"`
	Pattern    string            `arg:"pattern,wait" doc:"RE2: with wait_ms, return when a line of output matches"`
	waiting
	keyed
}

var startProcessTool = tool[startProcessArgs, *processObject]{
	name:  "start_process",
	title: "Start a process",
	description: "Run a program under supervision: a server, a build, a REPL. executable and argv, never a shell line " +
		"(for one: sh with argv [\"-c\", ...]). Returns process_id; with wait_ms it waits for the end, or for pattern. All " +
		"output is kept: replay reads it, await waits. Nothing it starts outlives it for good: close it. " +
		"Degraded, a key holds in this server only.",
	hints:  hints{destructive: true, openWorld: true},
	output: processOutput,
	run: func(ctx context.Context, c *call, in startProcessArgs) (*processObject, error) {
		if err := harness.CheckPattern(in.Pattern); err != nil {
			return nil, err
		}
		p, err := c.h.StartProcess(ctx, c.caller, core.StartProcessRequest{Spec: in.spec(), Once: c.once})
		if err != nil {
			return nil, err
		}
		return c.waitForProcess(ctx, p, processWait{pattern: in.Pattern, wait: in.duration(0)}), nil
	},
}

func (in startProcessArgs) spec() core.ProcessSpec {
	return core.ProcessSpec{
		Executable: in.Executable, Argv: in.Argv, CWD: in.CWD, Title: in.Title, Env: in.Env, UnsetEnv: in.UnsetEnv,
		EnvMode: core.EnvMode(in.EnvMode), Stdin: in.Stdin, PTY: in.PTY, Cols: int(intOr(in.Cols, 0)), Rows: int(intOr(in.Rows, 0)),
		RuntimeTimeout: milliseconds(in.RuntimeMS), IdleTimeout: milliseconds(in.IdleMS), Metadata: in.Metadata,
	}
}
