package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/providers/demo"
	"github.com/harness-mcp/harness-mcp/tools"
	"github.com/harness-mcp/harness-mcp/tools/transport"
	"github.com/mark3labs/mcp-go/server"
)

// person is a user in front of a client: it answers forms.
type person struct {
	mu    sync.Mutex
	forms []map[string]any
	do    func(form map[string]any) (any, error)
}

func (p *person) answer(method string, params json.RawMessage) (any, error) {
	if method != "elicitation/create" {
		return nil, fmt.Errorf("asked for %s", method)
	}
	var form map[string]any
	if err := json.Unmarshal(params, &form); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.forms = append(p.forms, form)
	p.mu.Unlock()
	return p.do(form)
}

func (p *person) seen() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forms
}

func accepts(content map[string]any) func(map[string]any) (any, error) {
	return func(map[string]any) (any, error) { return map[string]any{"action": "accept", "content": content}, nil }
}

func does(action string) func(map[string]any) (any, error) {
	return func(map[string]any) (any, error) { return map[string]any{"action": action}, nil }
}

// agentServer is a server with the scripted agent, in real time.
type agentServer struct {
	t   *testing.T
	srv *server.MCPServer
	h   *harness.Harness
	cwd string
	url string // once it is served over HTTP
}

func newAgentServer(t *testing.T, o tools.Options, limits core.Limits) *agentServer {
	t.Helper()
	h := harness.New(harness.Config{Store: memstore.New(), Limits: limits, Providers: []core.Provider{demo.New(demo.Options{Dir: t.TempDir()})}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return &agentServer{t: t, srv: tools.NewServer(h, o), h: h, cwd: t.TempDir()}
}

// client connects a client of one era, with a person in front or none.
func (w *agentServer) client(era string, p *person) *mcptest.Client {
	w.t.Helper()
	opts := transport.Options{Control: tools.IsControl}
	var c *mcptest.Client
	if strings.HasSuffix(era, "http") {
		if w.url == "" {
			w.url = mcptest.ServeHTTP(w.t, w.srv, transport.HTTPOptions{Options: opts}).URL
		}
		c = mcptest.Connect(w.t, transport.ConnectOptions{URL: w.url})
	} else {
		c = mcptest.Pipe(w.t, w.srv, opts)
	}
	c.Info = map[string]any{"name": "ide", "version": "1"}
	if p != nil {
		c.Capabilities = map[string]any{"elicitation": map[string]any{}}
		c.Answer = p.answer
	}
	if strings.HasPrefix(era, "modern") {
		c.Discover(w.t.Context())
	} else {
		c.Initialize(w.t.Context())
	}
	return c
}

func inBothEras(t *testing.T, f func(t *testing.T, era string)) {
	for _, era := range []string{"legacy", "modern", "legacy over http", "modern over http"} {
		t.Run(era, func(t *testing.T) { f(t, era) })
	}
}

func reply(t *testing.T, r mcptest.Result, err error) answer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	a := answer{t: t, isError: r.IsError, text: r.Text, size: len(r.Structured)}
	if err := json.Unmarshal(r.Structured, &a.object); err != nil {
		t.Fatalf("%v: %s", err, r.Raw)
	}
	return a
}

func ask(t *testing.T, c *mcptest.Client, tool string, a args) answer {
	t.Helper()
	r, err := c.CallAsked(t.Context(), tool, a)
	return reply(t, r, err)
}

func (w *agentServer) session(t *testing.T, c *mcptest.Client, prompt string) (ses, turn string) {
	t.Helper()
	s := ask(t, c, "start_session", args{"provider": "demo", "cwd": w.cwd, "answer_by": "user"})
	ses = s.str("session_id")
	if ses == "" {
		t.Fatal(s.text)
	}
	return ses, ask(t, c, "send_message", args{"session_id": ses, "prompt": prompt}).str("turn_id")
}

func (w *agentServer) request(t *testing.T, turn string) core.Request {
	t.Helper()
	l, err := w.h.List(t.Context(), tools.LocalOwner, core.ListRequest{Kind: core.KindRequest})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range l.Items {
		if i.Request.TurnID == turn {
			return *i.Request
		}
	}
	t.Fatalf("turn %s asked nothing", turn)
	return core.Request{}
}

func TestAPersonApprovesInsideTheCallThatWaits(t *testing.T) {
	for _, tool := range []string{"await", "delegate", "send_message", "follow_up"} {
		t.Run(tool, func(t *testing.T) {
			inBothEras(t, func(t *testing.T, era string) {
				w := newAgentServer(t, tools.Options{}, core.Limits{})
				p := &person{do: accepts(map[string]any{"decision": "Approve"})}
				c := w.client(era, p)
				var a answer
				switch tool {
				case "delegate":
					a = ask(t, c, tool, args{"provider": "demo", "cwd": w.cwd, "answer_by": "user", "prompt": "approve\nsay done"})
				case "await":
					_, turn := w.session(t, c, "approve\nsay done")
					a = ask(t, c, tool, args{"ids": turn})
					a = answer{t: t, object: a.get("results", 0).(map[string]any), text: a.text}
				default:
					ses, first := w.session(t, c, "say before")
					ask(t, c, "await", args{"ids": first})
					a = ask(t, c, tool, args{"session_id": ses, "prompt": "approve\nsay done", "wait_ms": 20_000})
				}
				a.is("completed", "status").says("done")
				if n := len(p.seen()); n != 1 {
					t.Fatalf("%d forms were shown, want one", n)
				}
				form := p.seen()[0]
				if msg := fmt.Sprint(form["message"]); !strings.Contains(msg, "Command: ") || !strings.Contains(msg, "demo") {
					t.Errorf("the form says %q", msg)
				}
				q := w.request(t, a.str("turn_id"))
				if q.Resolution == nil || q.Resolution.By != core.ByUser || q.Resolution.Client != "ide" || q.Resolution.Action != core.ActionApprove {
					t.Errorf("resolved as %+v", q.Resolution)
				}
			})
		})
	}
}

func TestAPersonAnswersAQuestion(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newAgentServer(t, tools.Options{}, core.Limits{})
		p := &person{do: func(form map[string]any) (any, error) {
			schema := form["requestedSchema"].(map[string]any)
			content := map[string]any{}
			for name, f := range schema["properties"].(map[string]any) {
				if words, ok := f.(map[string]any)["enum"].([]any); ok {
					content[name] = words[0]
				}
			}
			return map[string]any{"action": "accept", "content": content}, nil
		}}
		c := w.client(era, p)
		a := ask(t, c, "delegate", args{"provider": "demo", "cwd": w.cwd, "answer_by": "user", "prompt": "ask\nsay done"})
		a.is("completed", "status")
		q := w.request(t, a.str("turn_id"))
		if q.Status != core.RequestDoneResolved || q.Resolution.By != core.ByUser || q.Resolution.Action != core.ActionAnswer {
			t.Errorf("%s: %+v", q.Status, q.Resolution)
		}
	})
}

func TestAPersonWhoGivesNoAnswerLeavesItToTheCaller(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(map[string]any) (any, error)
		want string
	}{
		"declined":  {does("decline"), core.AskedDeclined},
		"cancelled": {does("cancel"), core.AskedCancelled},
		"an error":  {func(map[string]any) (any, error) { return nil, errors.New("no window") }, core.AskedNoAnswer},
		"nonsense":  {accepts(map[string]any{"decision": "Maybe"}), core.AskedNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			inBothEras(t, func(t *testing.T, era string) {
				w := newAgentServer(t, tools.Options{}, core.Limits{})
				p := &person{do: tc.do}
				c := w.client(era, p)
				_, turn := w.session(t, c, "approve\nsay done")
				a := ask(t, c, "await", args{"ids": turn, "wait_ms": 20_000})
				a.is("request_pending", "outcome").is(tc.want, "results", 0, "pending_requests", 0, "asked_user").says("the user was asked: " + tc.want)
				// It is asked once: the next wait brings it as data.
				ask(t, c, "await", args{"ids": turn, "wait_ms": 20_000}).is("request_pending", "outcome")
				if n := len(p.seen()); n != 1 {
					t.Errorf("%d forms were shown, want one", n)
				}
				done := ask(t, c, "respond", args{"request_id": a.str("results", 0, "pending_requests", 0, "request_id"), "action": "approve", "wait_ms": 20_000})
				done.is("completed", "turn", "status").is("caller", "resolution", "by")
			})
		})
	}
}

func TestAnAnswerThatComesLateCounts(t *testing.T) {
	t.Run("legacy", func(t *testing.T) {
		w := newAgentServer(t, tools.Options{}, core.Limits{})
		decide := make(chan struct{})
		p := &person{do: func(map[string]any) (any, error) {
			<-decide
			return map[string]any{"action": "accept", "content": map[string]any{"decision": "Approve"}}, nil
		}}
		c := w.client("legacy", p)
		_, turn := w.session(t, c, "approve\nsay done")
		ask(t, c, "await", args{"ids": turn, "wait_ms": 300}).is("timeout", "outcome")
		late := ask(t, c, "await", args{"ids": turn, "wait_ms": 20_000})
		late.is("request_pending", "outcome").is(core.AskedNoAnswer, "results", 0, "pending_requests", 0, "asked_user")
		close(decide)
		req := late.str("results", 0, "pending_requests", 0, "request_id")
		ask(t, c, "await", args{"ids": turn, "ignore_requests": []string{req}}).is("done", "outcome").says("done")
		if q := w.request(t, turn); q.Resolution.By != core.ByUser {
			t.Errorf("resolved by the %s", q.Resolution.By)
		}
	})
	t.Run("modern", func(t *testing.T) {
		w := newAgentServer(t, tools.Options{}, core.Limits{})
		c := w.client("modern", &person{})
		_, turn := w.session(t, c, "approve\nsay done")
		a := args{"ids": turn, "wait_ms": 1000}
		r, err := c.Call(t.Context(), "await", a)
		in, asked := mcptest.ParseInputRequired(r.Raw)
		if err != nil || !asked || len(in.Requests) != 1 {
			t.Fatalf("%s: %v", r.Raw, err)
		}
		other := ask(t, c, "await", args{"ids": turn, "wait_ms": 20_000})
		other.is("request_pending", "outcome").is(core.AskedNoAnswer, "results", 0, "pending_requests", 0, "asked_user")
		// The client cancels the call as soon as the answer it brought was accepted.
		responses := map[string]any{}
		for key := range in.Requests {
			responses[key] = map[string]any{"action": "accept", "content": map[string]any{"decision": "Approve"}}
		}
		p, err := c.Request("tools/call", map[string]any{"name": "await", "arguments": a, "inputResponses": responses, "requestState": in.State})
		if err != nil {
			t.Fatal(err)
		}
		req := other.str("results", 0, "pending_requests", 0, "request_id")
		ask(t, c, "await", args{"ids": req, "wait_ms": 20_000}).is("done", "outcome")
		if err := p.Cancel(); err != nil {
			t.Fatal(err)
		}
		ask(t, c, "await", args{"ids": turn, "ignore_requests": []string{req}, "wait_ms": 20_000}).is("done", "outcome").says("done")
		if q := w.request(t, turn); q.Resolution.By != core.ByUser {
			t.Errorf("resolved by the %s", q.Resolution.By)
		}
	})
}

func TestAFormOutlivesTheCallThatShowedIt(t *testing.T) {
	w := newAgentServer(t, tools.Options{}, core.Limits{})
	shown, decide := make(chan struct{}), make(chan struct{})
	p := &person{do: func(map[string]any) (any, error) {
		close(shown)
		<-decide
		return map[string]any{"action": "accept", "content": map[string]any{"decision": "Approve"}}, nil
	}}
	c := w.client("legacy", p)
	_, turn := w.session(t, c, "approve\nsay done")
	running, err := c.Begin("await", args{"ids": turn})
	if err != nil {
		t.Fatal(err)
	}
	<-shown
	if err := running.Cancel(); err != nil {
		t.Fatal(err)
	}
	close(decide)
	ask(t, c, "await", args{"ids": turn, "wait_ms": 20_000}).is("done", "outcome").says("done")
}

func TestAFormIsWithdrawnWhenItsRequestHasEnded(t *testing.T) {
	w := newAgentServer(t, tools.Options{}, core.Limits{})
	hold := make(chan struct{})
	defer close(hold)
	shown := make(chan struct{})
	p := &person{do: func(map[string]any) (any, error) { close(shown); <-hold; return nil, errors.New("closed") }}
	c := w.client("legacy", p)
	ses, turn := w.session(t, c, "approve\nsay done")
	running, err := c.Begin("await", args{"ids": turn, "wait_ms": 20_000})
	if err != nil {
		t.Fatal(err)
	}
	<-shown
	ask(t, c, "interrupt", args{"session_id": ses})
	c.WaitFor(0, func(m mcptest.Message) bool { return m.Method == "notifications/cancelled" })
	r, err := running.Result(t.Context())
	reply(t, r, err).is("done", "outcome").is("cancelled", "results", 0, "status")
}

func TestAClientThatCannotAskLeavesAnsweringToTheCaller(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newAgentServer(t, tools.Options{}, core.Limits{})
		c := w.client(era, nil)
		s := ask(t, c, "start_session", args{"provider": "demo", "cwd": w.cwd, "answer_by": "user"})
		s.is("caller", "answer_by").says("answer_by is caller")
		a := ask(t, c, "send_message", args{"session_id": s.str("session_id"), "prompt": "approve", "wait_ms": 20_000})
		a.is("awaiting_input", "status")
		d := ask(t, c, "delegate", args{"provider": "demo", "cwd": w.cwd, "answer_by": "user", "prompt": "say hello"})
		d.says("answer_by is caller")
	})
}

func TestUnderAnswerByUserOnlyAPersonAnswers(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newAgentServer(t, tools.Options{AnswerByUser: true}, core.Limits{AnswerByUser: true})
		mute := w.client(era, nil)
		s := ask(t, mute, "start_session", args{"provider": "demo", "cwd": w.cwd, "answer_by": "caller"})
		s.is("user", "answer_by")
		turn := ask(t, mute, "send_message", args{"session_id": s.str("session_id"), "prompt": "approve\nsay done", "wait_ms": 20_000})
		req := turn.str("pending_requests", 0, "request_id")
		ask(t, mute, "respond", args{"request_id": req, "action": "approve"}).is("not_supported_by_client", "error", "code").says("harness-mcp respond")

		p := &person{do: accepts(map[string]any{"decision": "Approve"})}
		able := w.client(era, p) // another client of the same owner
		ask(t, able, "await", args{"ids": turn.str("turn_id")}).is("done", "outcome").says("done")
		ask(t, able, "respond", args{"request_id": req, "action": "approve"}).is("not_supported_by_client", "error", "code")
	})
}

func TestAStateIsGoodForItsOwnCallOnly(t *testing.T) {
	w := newAgentServer(t, tools.Options{}, core.Limits{})
	c := w.client("modern", &person{})
	a := args{"provider": "demo", "cwd": w.cwd, "answer_by": "user", "prompt": "approve\nsay done", "wait_ms": 20_000}
	r, err := c.Call(t.Context(), "delegate", a)
	in, asked := mcptest.ParseInputRequired(r.Raw)
	if err != nil || !asked {
		t.Fatalf("%s: %v", r.Raw, err)
	}
	sessions := func() int {
		l, err := w.h.List(t.Context(), tools.LocalOwner, core.ListRequest{Kind: core.KindSession})
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Items)
	}
	forged := map[string]string{
		"made up":     "eyJ0b29sIjoiZGVsZWdhdGUifQ.AAAA",
		"changed":     "A" + in.State[1:],
		"cut":         in.State[:len(in.State)-2],
		"of no shape": "x",
	}
	for name, state := range forged {
		r, err := c.Again(t.Context(), "delegate", a, nil, state)
		reply(t, r, err).is("invalid_argument", "error", "code")
		if n := sessions(); n != 1 {
			t.Fatalf("%s: there are %d sessions", name, n)
		}
	}
	other := args{"provider": "demo", "cwd": w.cwd, "answer_by": "user", "prompt": "say other"}
	r, err = c.Again(t.Context(), "delegate", other, nil, in.State)
	reply(t, r, err).is("invalid_argument", "error", "code")

	responses := map[string]any{}
	for key := range in.Requests {
		responses[key] = map[string]any{"action": "accept", "content": map[string]any{"decision": "Approve"}}
	}
	r, err = c.Again(t.Context(), "delegate", a, responses, in.State)
	reply(t, r, err).is("completed", "status").closes()
	if n := sessions(); n != 1 {
		t.Errorf("the call made again began another session: %d", n)
	}
	// Whoever makes it again once more gets the same turn as it is.
	r, err = c.Again(t.Context(), "delegate", a, responses, in.State)
	reply(t, r, err).is("completed", "status")
}
