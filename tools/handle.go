package tools

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
)

// tool is a tool as clients see it, with the function that runs it. In is its
// argument struct, Out the object that it returns.
type tool[In any, Out body] struct {
	name, title, description string
	hints                    hints
	output                   json.RawMessage // the output schema
	meta                     map[string]any
	run                      func(ctx context.Context, c *call, in In) (Out, error)
}

// hints are the annotations of a tool. All are always set, since clients assume
// the worst of one that is absent.
type hints struct {
	readOnly, destructive, idempotent, openWorld bool
}

// The kinds of tools.
var (
	reads       = hints{readOnly: true, idempotent: true}
	adds        = hints{}
	settles     = hints{idempotent: true}
	opens       = hints{openWorld: true}
	decides     = hints{destructive: true}
	destroys    = hints{destructive: true, idempotent: true}
	alwaysShown = map[string]any{"anthropic/alwaysLoad": true}
	mayBeLong   = map[string]any{"anthropic/maxResultSizeChars": 500000}
)

// keyed is embedded in the arguments of every tool that changes something.
type keyed struct {
	Key string `arg:"idempotency_key,key" max:"128"`
}

// waiting is embedded in the arguments of every tool that can wait for work.
type waiting struct {
	WaitMS *int64 `arg:"wait_ms,wait" min:"0" max:"600000"`
}

// duration returns the time to wait, otherwise if none is given.
func (w waiting) duration(otherwise time.Duration) time.Duration {
	if w.WaitMS == nil {
		return otherwise
	}
	return milliseconds(w.WaitMS)
}

// entry is a tool that can be registered.
type entry struct {
	tool    mcp.Tool
	handler server.ToolHandlerFunc
}

// define makes the entry of a tool, with its schemas, annotations and handler.
func define[In any, Out body](s *surface, t tool[In, Out]) entry {
	fields := fieldsOf(reflect.TypeFor[In]())
	m := mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		RawInputSchema: inputSchema(fields), RawOutputSchema: t.output,
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint: &t.hints.readOnly, DestructiveHint: &t.hints.destructive,
			IdempotentHint: &t.hints.idempotent, OpenWorldHint: &t.hints.openWorld,
		},
	}
	if t.meta != nil {
		m.Meta = &mcp.Meta{AdditionalFields: t.meta}
	}
	return entry{tool: m, handler: handle(s, t, fields)}
}

// handle returns the handler of a tool. It never returns a Go error: mcp-go
// would turn it into a protocol error, and the model would not see the code.
func handle[In any, Out body](s *surface, t tool[In, Out], fields []field) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		c := s.newCall(ctx, t.name)
		if s.opts.Telemetry != nil {
			end := s.opts.Telemetry.Begin(core.Operation{Name: core.OpToolCall, Command: t.name})
			defer func() { end(c.endedAs(res)) }()
		}
		defer func() {
			if p := recover(); p != nil {
				res = c.panicked(p)
			}
		}()
		c.progress = startProgress(ctx, progressToken(req), t.title)
		// Before the result is sent, so that no progress follows it.
		defer c.progress.end()

		var in In
		given, err := readArguments(t.name, rawArguments(req), fields, &in)
		if err != nil {
			return c.failure(err), nil
		}
		c.given = given
		if key := keyOf(fields, &in); key != "" {
			c.once = core.Once{Tool: t.name, Key: key, Args: given.canonical()}
		}
		if err := c.resumeRound(req); err != nil {
			return c.failure(err), nil
		}
		out, err := t.run(ctx, c, in)
		if err != nil {
			return c.failure(err), nil
		}
		if c.inputRequest != nil {
			return c.inputRequest, nil
		}
		res = c.result(out)
		if f, ok := any(out).(interface{ failed() bool }); ok {
			res.IsError = f.failed()
		}
		return res, nil
	}
}

// endedAs returns how the call ended, for telemetry.
func (c *call) endedAs(res *mcp.CallToolResult) core.Ended {
	switch {
	case c.ctx.Err() != nil:
		return core.Ended{Ending: core.EndedAborted, Code: c.code}
	case c.code == core.CodeResponseUncertain:
		return core.Ended{Ending: core.EndedUncertain, Code: c.code}
	case res == nil || res.IsError:
		return core.Ended{Ending: core.EndedRejected, Code: c.code}
	}
	return core.Ended{Ending: core.EndedOK}
}

// call is one running call.
type call struct {
	*surface
	ctx           context.Context // the caller's: its end is the end of the wait
	tool          string
	caller        core.Caller
	once          core.Once
	given         given
	progress      *progress
	budget        int // of each half of the reply, in bytes
	requestsShown int // requests that the reply shows whole
	contentBudget int // how much content the caller asked for, in bytes
	now           time.Time
	round         roundState          // of a call that its client makes again
	startedTurn   string              // the turn that this call started
	notes         []string            // warnings about its start
	code          core.Code           // of the error that it ended with
	inputRequest  *mcp.CallToolResult // the reply, if the client's user must be asked first
}

func (s *surface) newCall(ctx context.Context, tool string) *call {
	c := &call{surface: s, ctx: ctx, tool: tool, caller: s.opts.Owner(ctx), budget: defaultBudget, contentBudget: defaultBudget, now: time.Now()}
	if c.caller.Client == "" {
		c.caller.Client = clientName(ctx)
	}
	return c
}

// clientName returns the name that the client sent.
func clientName(ctx context.Context) string {
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return s.GetClientInfo().Name
	}
	return ""
}

// maxBytes sets the size of the reply to what the caller asked for. The budget
// is never below minBudget, for ids and state.
func (c *call) maxBytes(n *int64) {
	if n != nil {
		c.contentBudget = int(*n)
		c.budget = max(minBudget, c.contentBudget)
	}
}

// panicked turns a panic into a reply with the id of its log entry.
func (c *call) panicked(p any) *mcp.CallToolResult {
	return c.errorResult(internalError(core.Panicked(c.opts.Logger, "tool "+c.tool, p).ID))
}

func progressToken(req mcp.CallToolRequest) any {
	if req.Params.Meta == nil {
		return nil
	}
	return req.Params.Meta.ProgressToken
}

// rawArguments returns the arguments as they arrived or, for a request that was
// made in this process, as they encode.
func rawArguments(req mcp.CallToolRequest) json.RawMessage {
	if len(req.Params.RawArguments) > 0 {
		return req.Params.RawArguments
	}
	if req.Params.Arguments == nil {
		return nil
	}
	b, err := json.Marshal(req.Params.Arguments)
	if err != nil {
		return json.RawMessage(`"unreadable"`)
	}
	return b
}

func keyOf(fields []field, in any) string {
	for _, f := range fields {
		if f.key {
			return reflect.ValueOf(in).Elem().FieldByIndex(f.index).String()
		}
	}
	return ""
}
