package tools

import (
	"context"
	"encoding/base64"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
)

type sendInputArgs struct {
	ProcessID string `arg:"process_id,required"`
	Data      string `arg:"data" doc:"text; end a line with \n"`
	Base64    string `arg:"data_base64"`
	EOF       bool   `arg:"eof" doc:"end of input, behind data"`
	Signal    string `arg:"signal" enum:"SIGINT|SIGQUIT|SIGTERM|SIGHUP|SIGUSR1|SIGUSR2" instead:"SIGKILL=close {id, force: true} kills it"`
	Cols      *int64 `arg:"cols" min:"1" max:"1000" doc:"with rows"`
	Rows      *int64 `arg:"rows" min:"1" max:"1000"`
	Pattern   string `arg:"pattern,wait" doc:"RE2: with wait_ms, return when a line of new output matches"`
	waiting
	keyed
}

var sendInputTool = tool[sendInputArgs, *processObject]{
	name:  "send_input",
	title: "Send input to a process",
	description: "Write to a process started with stdin or pty, signal it, or resize its terminal. With pattern and wait_ms " +
		"one call is one step of a dialogue: it returns what the process said since. stdin_busy: it reads too slowly, try " +
		"again. To end a process use close.",
	hints:  decides,
	output: processOutput,
	run: func(ctx context.Context, c *call, in sendInputArgs) (*processObject, error) {
		if err := harness.CheckPattern(in.Pattern); err != nil {
			return nil, err
		}
		input, err := in.input()
		if err != nil {
			return nil, err
		}
		res, err := c.h.SendInput(ctx, c.caller, core.InputRequest{ProcessID: in.ProcessID, Input: input, Once: c.once})
		if err != nil {
			return nil, err
		}
		o := c.waitForProcess(ctx, res.Process, processWait{pattern: in.Pattern, after: res.Before, wait: in.duration(0), dialogueStep: true})
		o.Cursor = res.Before
		return o, nil
	},
}

func (in sendInputArgs) input() (core.ProcessInput, error) {
	out := core.ProcessInput{Data: []byte(in.Data), EOF: in.EOF, Signal: in.Signal,
		Cols: int(intOr(in.Cols, 0)), Rows: int(intOr(in.Rows, 0))}
	if in.Base64 == "" {
		return out, nil
	}
	b, err := base64.StdEncoding.DecodeString(in.Base64)
	if err != nil || in.Data != "" {
		return out, core.Errorf(core.CodeInvalidArgument, "data_base64 must be base64, and not together with data").WithDetail("field", "data_base64")
	}
	out.Data = b
	return out, nil
}
