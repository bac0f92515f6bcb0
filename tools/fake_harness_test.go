package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
)

// fake is a harness of which a test scripts the methods that it needs; any
// other panics, which the test then sees as an internal error.
type fake struct {
	backend
	spec      core.Spec // its transports
	start     func(core.StartRequest) (core.SessionView, error)
	send      func(core.SendRequest) (core.Turn, error)
	respond   func(core.RespondRequest) (core.Request, error)
	interrupt func(core.InterruptRequest) (core.InterruptResult, error)
	close     func(core.CloseRequest) (core.Resource, error)
	get       func(id string) (core.Resource, error)
	await     func(context.Context, core.AwaitRequest) (core.AwaitResult, error)
	list      func(core.ListRequest) (core.ListResult, error)
	prune     func(core.PruneRequest) ([]string, error)
	providers func(name string) ([]core.ProviderInfo, error)
	process   func() core.ProcessSnapshot // that is started, or written to
	text      string                      // of every turn
	journal   []core.Event                // of every resource
}

func (f *fake) StartSession(_ context.Context, _ core.Caller, r core.StartRequest) (core.SessionView, error) {
	return f.start(r)
}
func (f *fake) SendMessage(_ context.Context, _ core.Caller, r core.SendRequest) (core.Turn, error) {
	return f.send(r)
}
func (f *fake) FollowUp(_ context.Context, _ core.Caller, r core.SendRequest) (core.Turn, error) {
	return f.send(r)
}
func (f *fake) Respond(_ context.Context, _ core.Caller, r core.RespondRequest) (core.Request, error) {
	return f.respond(r)
}
func (f *fake) AfterTask(_ context.Context, c core.Caller, id string) (core.SessionView, error) {
	r, err := f.Get(context.Background(), c.Owner, id)
	if err != nil || r.Session == nil {
		return core.SessionView{}, err
	}
	r.Session.Session.Status = core.StatusClosing
	return *r.Session, nil
}

func (f *fake) Interrupt(_ context.Context, _ core.Caller, r core.InterruptRequest) (core.InterruptResult, error) {
	return f.interrupt(r)
}
func (f *fake) Close(_ context.Context, _ core.Caller, r core.CloseRequest) (core.Resource, error) {
	return f.close(r)
}
func (f *fake) Get(_ context.Context, _, id string) (core.Resource, error) { return f.get(id) }
func (f *fake) Await(ctx context.Context, _ core.Caller, r core.AwaitRequest) (core.AwaitResult, error) {
	return f.await(ctx, r)
}
func (f *fake) List(_ context.Context, _ string, r core.ListRequest) (core.ListResult, error) {
	return f.list(r)
}
func (f *fake) Prune(_ context.Context, _ core.Caller, r core.PruneRequest) ([]string, error) {
	return f.prune(r)
}
func (f *fake) Providers(_ context.Context, name string, _ bool) ([]core.ProviderInfo, error) {
	return f.providers(name)
}

func (f *fake) ProviderSpec(name string) core.Spec {
	return core.Spec{Name: name, Login: name + " login", Transports: f.spec.Transports}
}

func (f *fake) StartProcess(context.Context, core.Caller, core.StartProcessRequest) (core.ProcessSnapshot, error) {
	return f.process(), nil
}
func (f *fake) SendInput(context.Context, core.Caller, core.InputRequest) (core.InputResult, error) {
	return core.InputResult{Process: f.process(), Before: 3}, nil
}

func (f *fake) TurnText(_ context.Context, t core.Turn, offset, max int) (string, int, error) {
	text := t.Text
	if t.TextSeq > 0 {
		text = f.text
	}
	return text[offset:], len(text), nil
}

// Replay pages through the journal as a store would.
func (f *fake) Replay(_ context.Context, _ string, r core.ReplayRequest) (core.ReplayPage, error) {
	p := core.ReplayPage{Resource: sesID, Cursor: r.After}
	events := f.journal
	if r.Tail > 0 {
		events = events[max(0, len(events)-r.Tail):]
	}
	size := 0
	for _, e := range events {
		if e.Seq <= r.After {
			continue
		}
		if len(p.Events) == r.Limit || len(p.Events) > 0 && size+len(e.Data) > r.MaxBytes {
			p.More = true
			break
		}
		size += len(e.Data)
		if !r.Raw {
			e.Raw = nil
		}
		p.Events, p.Cursor = append(p.Events, e), e.Seq
	}
	return p, nil
}

const (
	sesID = "ses_0a1b2c3d4e"
	trnID = "trn_5f6g7h8j9k"
	reqID = "req_1m2n3p4q5r"
	prcID = "prc_6s7t8v9w0x"
)

// reply is what a client gets of a call.
type reply struct {
	IsError    bool
	Text       string
	Links      []string
	Structured json.RawMessage
}

func (r reply) object(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(r.Structured, &m); err != nil {
		t.Fatalf("structured half: %v: %s", err, r.Structured)
	}
	return m
}

func (r reply) code(t *testing.T) string {
	t.Helper()
	e, _ := r.object(t)["error"].(map[string]any)
	code, _ := e["code"].(string)
	if r.IsError != (code != "") {
		t.Errorf("isError is %t, the code %q", r.IsError, code)
	}
	return code
}

// callTool makes a call over the protocol. arguments is JSON.
func callTool(t *testing.T, h backend, o Options, tool, arguments string) reply {
	t.Helper()
	return callOn(t, context.Background(), h, o, tool, arguments)
}

func callOn(t *testing.T, ctx context.Context, h backend, o Options, tool, arguments string) reply {
	t.Helper()
	return callServer(t, ctx, newServer(h, o), tool, arguments)
}

func callServer(t *testing.T, ctx context.Context, srv *server.MCPServer, tool, arguments string) reply {
	t.Helper()
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(srv.HandleMessage(ctx, json.RawMessage(msg))); err != nil {
		t.Fatal(err)
	}
	var m struct {
		Result struct {
			IsError bool
			Content []struct{ Type, Text, URI string }
			// Encoded by a map of mcp-go's, escapes included.
			StructuredContent json.RawMessage
		}
		Error json.RawMessage
	}
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if m.Error != nil {
		t.Fatalf("a protocol error: %s", m.Error)
	}
	r := reply{IsError: m.Result.IsError, Structured: plain(m.Result.StructuredContent)}
	for i, c := range m.Result.Content {
		switch {
		case c.Type == "text" && i == 0:
			r.Text = c.Text
		case c.Type == "resource_link":
			r.Links = append(r.Links, c.URI)
		default:
			t.Errorf("unexpected content %+v", c)
		}
	}
	return r
}

// plain undoes the escapes that mcp-go's encoder adds.
func plain(raw json.RawMessage) json.RawMessage {
	s := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
	return json.RawMessage(s)
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

func ptr[T any](v T) *T { return &v }

// aTurn is a turn that began 42 s ago.
func aTurn(status core.TurnStatus) core.Turn {
	t := core.Turn{
		ID: trnID, SessionID: sesID, Owner: LocalOwner, Status: status, Origin: core.OriginCaller,
		PromptPreview: "make the tests pass", AcceptedAt: ago(42 * time.Second), StartedAt: ago(42 * time.Second),
		LastEventAt: ago(6 * time.Second), LastSeq: 57,
	}
	if status.Ended() {
		t.FinishedAt = ago(0)
	} else {
		t.Activity = "running: go test ./..."
	}
	return t
}

func aSession(status core.SessionStatus) core.Session {
	return core.Session{
		ID: sesID, Owner: LocalOwner, Provider: "codex", Transport: "app-server", Status: status, CWD: "/src/app",
		Model: "gpt-5-codex", ApprovalMode: core.ApprovalPrompt, SandboxMode: core.SandboxWorkspaceWrite,
		AnswerBy: core.AnswerByCaller, Durability: core.Durable, Epoch: 1, CreatedAt: ago(time.Minute),
		UpdatedAt: ago(time.Second), LastSeq: 58,
	}
}

func anApproval() core.Request {
	return core.Request{
		ID: reqID, SessionID: sesID, TurnID: trnID, Status: core.RequestPending, CreatedAt: ago(time.Second),
		ExpiresAt: ago(-15 * time.Minute),
		RequestSpec: core.RequestSpec{
			Kind: core.KindCommandApproval, Prompt: "Run this command?",
			Actions: []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel},
			Scopes:  []core.Scope{core.ScopeOnce, core.ScopeSession},
			Details: &core.RequestDetails{Command: "rm -rf build && make", CWD: "/src/app", Reason: "a clean build"},
		},
	}
}

func aQuestion() core.Request {
	q := anApproval()
	q.RequestSpec = core.RequestSpec{
		Kind: core.KindQuestion, Prompt: "The agent has a question.",
		Actions: []core.Action{core.ActionAnswer, core.ActionCancel},
		Questions: []core.Question{{
			ID: "db", Prompt: "Which database?", AllowsOther: true,
			Choices: []core.Choice{
				{Label: "SQLite", Value: "sqlite", Description: "one file"}, {Label: "PostgreSQL", Value: "postgres"},
			},
		}},
	}
	return q
}

// turnResource is a turn with its session as Get returns it.
func turnResource(t core.Turn, pending ...core.Request) core.Resource {
	s := aSession(core.StatusRunning)
	if t.Status.Ended() {
		s = aSession(core.StatusIdle)
	}
	return core.Resource{Kind: core.KindTurn, ID: t.ID, Turn: &t, Session: &core.SessionView{Session: s, Requests: pending}}
}

func event(seq uint64, typ core.EventType, data string) core.Event {
	return core.Event{
		SchemaVersion: 1, ID: fmt.Sprintf("evt_%d", seq), Resource: sesID, Seq: seq, TurnID: trnID, Provider: "codex",
		Type: typ, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Data: json.RawMessage(data),
		Raw: json.RawMessage(`{"frame":1}`),
	}
}
