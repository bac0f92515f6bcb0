package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// CompatCodex is the value of Options.Compat that adds the tools of Codex's
// former MCP server.
const CompatCodex = "codex"

// The codex tools have the arguments and results of Codex's former MCP server.
// A threadId is a session_id.
type codexArgs struct {
	Prompt        string    `arg:"prompt,required" doc:"the task"`
	Approval      string    `arg:"approval-policy" enum:"untrusted|on-failure|on-request|never"`
	Sandbox       string    `arg:"sandbox" enum:"read-only|workspace-write|danger-full-access"`
	CWD           string    `arg:"cwd" doc:"absolute directory to work in"`
	Model         string    `arg:"model"`
	Base          string    `arg:"base-instructions"`
	Developer     string    `arg:"developer-instructions"`
	CompactPrompt string    `arg:"compact-prompt"`
	Config        anyObject `arg:"config" doc:"Codex settings, as in config.toml"`
}

type codexReplyArgs struct {
	Prompt         string `arg:"prompt,required"`
	ThreadID       string `arg:"threadId" doc:"from codex"`
	ConversationID string `arg:"conversationId" doc:"old name of threadId"`
}

var codexOutput = output("threadId content error", "next")

var codexTool = tool[codexArgs, *codexObject]{
	name:  "codex",
	title: "Run Codex",
	description: "Run a Codex session on a task and return its answer when it has ended, with the threadId for " +
		"codex-reply. The arguments are those of Codex's former MCP server.",
	hints:  opens,
	output: codexOutput,
	run: func(ctx context.Context, c *call, in codexArgs) (*codexObject, error) {
		return c.codex(ctx, func() (core.Turn, error) { return c.codexStart(ctx, in) })
	},
}

var codexReplyTool = tool[codexReplyArgs, *codexObject]{
	name:        "codex-reply",
	title:       "Continue with Codex",
	description: "Say more in a Codex thread and return its answer when it has ended.",
	hints:       opens,
	output:      codexOutput,
	run: func(ctx context.Context, c *call, in codexReplyArgs) (*codexObject, error) {
		thread := firstNonEmpty(in.ThreadID, in.ConversationID)
		if thread == "" {
			return nil, core.Errorf(core.CodeInvalidArgument, "threadId is missing").WithHint("The reply of codex has it.")
		}
		return c.codex(ctx, func() (core.Turn, error) { return c.codexReply(ctx, thread, in.Prompt) })
	},
}

// codexApprovals and codexSandboxes map Codex's values to ours.
var (
	codexApprovals = map[string]core.ApprovalMode{
		"untrusted": core.ApprovalPrompt, "on-failure": core.ApprovalDefault, "on-request": core.ApprovalDefault, "never": core.ApprovalAuto,
	}
	codexSandboxes = map[string]core.SandboxMode{
		"read-only": core.SandboxReadOnly, "workspace-write": core.SandboxWorkspaceWrite, "danger-full-access": core.SandboxUnrestricted,
	}
)

func (c *call) codexStart(ctx context.Context, in codexArgs) (core.Turn, error) {
	config := map[string]json.RawMessage{}
	maps.Copy(config, in.Config)
	// Settings that are arguments of start_session.
	take := func(given, key string) string {
		raw, ok := config[key]
		delete(config, key)
		var word string
		if given == "" && ok && json.Unmarshal(raw, &word) == nil {
			return word
		}
		return given
	}
	approval, sandbox := take(in.Approval, "approval_policy"), take(in.Sandbox, "sandbox_mode")
	if in.CompactPrompt != "" {
		config["compact_prompt"] = encode(in.CompactPrompt)
	}
	cfg := core.SessionConfig{
		Provider: CompatCodex, CWD: in.CWD, Model: in.Model, AnswerBy: core.AnswerByCaller,
		ApprovalMode: codexApprovals[approval], SandboxMode: codexSandboxes[sandbox],
		SystemPrompt: strings.Join(slices.DeleteFunc([]string{in.Base, in.Developer}, func(s string) bool { return s == "" }), "\n\n"),
	}
	if len(config) > 0 {
		cfg.ProviderOptions = map[string]json.RawMessage{"config": encode(config)}
	}
	if clientElicits(ctx) {
		cfg.AnswerBy = core.AnswerByUser
	}
	v, err := c.h.StartSession(ctx, c.caller, core.StartRequest{Config: cfg})
	if err != nil {
		return core.Turn{}, err
	}
	t, err := c.h.SendMessage(ctx, c.caller, core.SendRequest{SessionID: v.Session.ID, Input: core.TurnInput{Prompt: in.Prompt}})
	if err != nil {
		c.abandon(ctx, v.Session.ID)
	}
	return t, err
}

// codexReply sends a prompt to a thread, and resumes its session if it has
// ended.
func (c *call) codexReply(ctx context.Context, thread, prompt string) (core.Turn, error) {
	more := core.SendRequest{SessionID: thread, Input: core.TurnInput{Prompt: prompt}}
	t, err := c.h.FollowUp(ctx, c.caller, more)
	switch core.CodeOf(err) {
	case core.CodeSessionClosed, core.CodeSessionUnavailable:
		again := core.StartRequest{Resume: thread}
		if clientElicits(ctx) {
			again.Config.AnswerBy = core.AnswerByUser
		} else {
			again.Config.AnswerBy = core.AnswerByCaller
		}
		if _, err := c.h.StartSession(ctx, c.caller, again); err != nil {
			return t, err
		}
		return c.h.FollowUp(ctx, c.caller, more)
	}
	return t, err
}

// codex runs a turn to its end. A request that the client's user does not
// approve is denied, since a caller of these tools cannot answer.
func (c *call) codex(ctx context.Context, start func() (core.Turn, error)) (*codexObject, error) {
	c.budget, c.contentBudget = maxBudget, maxBudget
	t, err := c.startTurnOnce(ctx, start)
	if err != nil {
		return nil, err
	}
	o := &codexObject{ThreadID: t.SessionID}
	wait := core.AwaitRequest{IDs: []string{t.ID}, Wait: codexSlice, WakeOnRequest: true, Progress: c.reportProgress}
	for {
		res, err := c.await(ctx, wait)
		if err != nil {
			return nil, err
		}
		if c.inputRequest != nil {
			return o, nil
		}
		r := res.Results[0]
		if r.Done() {
			return o, c.codexAnswer(ctx, o, *r.Turn)
		}
		for _, q := range r.Pending() {
			if isBeingAsked(q) || slices.Contains(wait.IgnoreRequests, q.ID) {
				continue
			}
			wait.IgnoreRequests = append(wait.IgnoreRequests, q.ID)
			if c.codexDeny(ctx, q) {
				o.denied++
			}
		}
	}
}

// codexDeny denies a request with a reason.
func (c *call) codexDeny(ctx context.Context, q core.Request) bool {
	r := core.Response{Action: core.ActionDeny, Reason: "The client that runs this session cannot ask its user for approval."}
	switch q.AskedUser {
	case core.AskedDeclined, core.AskedCancelled:
		r.Reason = "The user did not approve it."
	case core.AskedNoAnswer:
		r.Reason = "The user gave no answer."
	}
	if !slices.Contains(q.Actions, core.ActionDeny) {
		r.Action = core.ActionCancel
	}
	if _, err := c.h.Respond(ctx, c.caller, core.RespondRequest{RequestID: q.ID, Response: r}); err != nil {
		c.opts.Logger.Info("a request was not denied", slog.String("request", q.ID), slog.Any("error", err))
		return false
	}
	return true
}

// codexAnswer sets the content from a turn that has ended.
func (c *call) codexAnswer(ctx context.Context, o *codexObject, t core.Turn) error {
	text, _, err := c.h.TurnText(ctx, t, 0, maxBudget/2)
	if err != nil {
		return err
	}
	o.Content = text
	if t.Status != core.TurnDoneCompleted {
		o.isError = true
		why := string(t.Status)
		if t.Error != nil {
			why = fmt.Sprintf("%s (%s): %s", t.Status, t.Error.Code, t.Error.Message)
		}
		o.Content = strings.TrimSpace(text + "\n\nThe turn is " + why + ".")
	}
	if o.denied > 0 {
		o.Content += fmt.Sprintf("\n\n[%s denied: nobody approved.]", proseCount(o.denied, "request"))
	}
	return nil
}

// codexObject is the reply of Codex's former server.
type codexObject struct {
	untruncated
	ThreadID string `json:"threadId"`
	Content  string `json:"content"`

	denied  int
	isError bool
	none    []suggestion
}

func (o *codexObject) nextCalls() *[]suggestion { return &o.none }

func (o *codexObject) failed() bool { return o.isError }

func (o *codexObject) prose() prose {
	return prose{lines: []string{"threadId: " + o.ThreadID}, content: o.Content}
}
