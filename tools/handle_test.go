package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestAPanicIsAnAnswerWithAnIDThatTheLogHas(t *testing.T) {
	var log bytes.Buffer
	o := Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	h := &fake{list: func(core.ListRequest) (core.ListResult, error) { panic("secret cause") }}
	r := callTool(t, h, o, "list", `{"kind":"turns"}`)
	if r.code(t) != "internal" || strings.Contains(r.Text, "secret") || bytes.Contains(r.Structured, []byte("secret")) {
		t.Errorf("got %s %s", r.Text, r.Structured)
	}
	at := strings.Index(r.Text, "err_")
	if at < 0 || !strings.Contains(log.String(), r.Text[at:at+14]) || !strings.Contains(log.String(), "secret cause") {
		t.Errorf("the log does not explain %s:\n%s", r.Text, log.String())
	}
}

func TestErrorsAreWholeInBothHalves(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		code string
		says []string // in both halves
		next string
	}{
		{"coded", core.Errorf(core.CodeNotFound, "there is no session %q", "ses_x").WithHint("Look again."), "not_found", []string{"ses_x", "Look again"}, "list"},
		{"wrapped", fmt.Errorf("asking: %w", core.Errorf(core.CodeQueueFull, "64 turns wait")), "queue_full", []string{"64 turns wait"}, "await"},
		{"uncoded", errors.New("secret"), "internal", []string{"err_"}, ""},
		{"with a list", core.Errorf(core.CodeConfigMissing, "settings are missing").WithDetail("missing", []string{"TOKEN", "HOME"}), "config_missing", []string{"TOKEN", "HOME"}, ""},
		{"with a status", core.Errorf(core.CodeSessionClosed, "it is closed").WithDetail("state", core.StatusClosed), "session_closed", []string{"state", "closed"}, "start_session"},
		{"to be retried", core.Errorf(core.CodeSessionUnavailable, "it opens").Retry(), "session_unavailable", nil, "await"},
		{"with a session", core.Errorf(core.CodeSessionInUse, "in use").WithDetail("session", core.SessionView{Session: aSession(core.StatusIdle)}), "session_id_in_use", []string{sesID, "idle"}, "inspect"},
		{"with the active turn", core.Errorf(core.CodeTurnInProgress, "a turn runs").WithDetail("turn_id", trnID), "turn_in_progress", []string{trnID}, "await"},
		{"of a context that lives", context.DeadlineExceeded, "internal", []string{"err_"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &fake{
				send: func(core.SendRequest) (core.Turn, error) { return core.Turn{}, tc.err },
				get: func(string) (core.Resource, error) {
					v := core.SessionView{Session: aSession(core.StatusClosed)}
					return core.Resource{Kind: core.KindSession, ID: sesID, Session: &v}, nil
				},
			}
			r := callTool(t, h, Options{}, "send_message", `{"session_id":"ses_x","prompt":"p"}`)
			if got := r.code(t); got != tc.code {
				t.Errorf("the code is %s", got)
			}
			if !strings.HasPrefix(r.Text, tc.code+": ") || strings.Contains(r.Text, "secret") || strings.Contains(string(r.Structured), "secret") {
				t.Errorf("the text is %s", r.Text)
			}
			for _, w := range tc.says {
				if !strings.Contains(r.Text, w) || !strings.Contains(string(r.Structured), w) {
					t.Errorf("%q is missing:\n%s\n%s", w, r.Text, r.Structured)
				}
			}
			next, _ := r.object(t)["next"].([]any)
			if tc.next != "" && (len(next) == 0 || next[0].(map[string]any)["tool"] != tc.next) {
				t.Errorf("suggests %v, want %s", next, tc.next)
			}
			checkReply(t, r)
		})
	}
}

func TestACancelledWaitReportsThatTheWorkGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := &fake{await: func(ctx context.Context, _ core.AwaitRequest) (core.AwaitResult, error) {
		cancel()
		<-ctx.Done()
		return core.AwaitResult{}, ctx.Err()
	}}
	r := callOn(t, ctx, h, Options{}, "await", `{"ids":"trn_x"}`)
	if r.code(t) != "shutting_down" || !strings.Contains(r.Text, "ended before its answer. Ask again") {
		t.Errorf("got %s", r.Text)
	}
}

func TestAWaitThatFailsDoesNotHideTheTurnThatWasBegun(t *testing.T) {
	h := sending(aTurnNow)()
	h.await = func(context.Context, core.AwaitRequest) (core.AwaitResult, error) {
		return core.AwaitResult{}, core.Errorf(core.CodeStoreFailed, "the disk is full")
	}
	r := callTool(t, h, Options{}, "send_message", `{"session_id":"ses_x","prompt":"p","wait_ms":5}`)
	if r.IsError || !strings.Contains(r.Text, trnID) {
		t.Errorf("got %s", r.Text)
	}
}

func TestCallersAndKeysReachCore(t *testing.T) {
	var got []core.SendRequest
	h := &fake{send: func(r core.SendRequest) (core.Turn, error) { got = append(got, r); return aTurnNow(), nil }}
	for _, a := range []string{
		`{"session_id":"s","prompt":"p","idempotency_key":"k","wait_ms":0}`,
		`{"prompt":"p","idempotency_key":"k","session_id":"s"}`,
		`{"prompt":"q","idempotency_key":"k","session_id":"s"}`,
	} {
		callTool(t, h, Options{}, "send_message", a)
	}
	a, b, c := got[0].Once, got[1].Once, got[2].Once
	if a.Tool != "send_message" || a.Key != "k" || string(a.Args) != string(b.Args) || string(a.Args) == string(c.Args) {
		t.Errorf("got %s, %s and %s", a.Args, b.Args, c.Args)
	}
}

// session is a client's end, as a transport makes one.
type session struct {
	ch chan mcp.JSONRPCNotification
}

func (s *session) SessionID() string                                   { return "s" }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.ch }
func (s *session) Initialize()                                         {}
func (s *session) Initialized() bool                                   { return true }
func (s *session) GetClientInfo() mcp.Implementation                   { return mcp.Implementation{Name: "tester"} }
func (s *session) SetClientInfo(mcp.Implementation)                    {}
func (s *session) GetClientCapabilities() mcp.ClientCapabilities       { return mcp.ClientCapabilities{} }
func (s *session) SetClientCapabilities(mcp.ClientCapabilities)        {}

func TestTheClientsNameReachesTheJournal(t *testing.T) {
	srv := newServer(nil, Options{})
	s := newSurface(nil, Options{})
	ctx := srv.WithContext(context.Background(), &session{})
	if got := s.newCall(ctx, "list").caller; got != (core.Caller{Owner: LocalOwner, Client: "tester"}) {
		t.Errorf("got %+v", got)
	}
	s = newSurface(nil, Options{Owner: func(context.Context) core.Caller { return core.Caller{Owner: "o", Client: "proxy"} }})
	if got := s.newCall(ctx, "list").caller; got.Client != "proxy" || got.Owner != "o" {
		t.Errorf("got %+v", got)
	}
}

func TestProgressIsSteadyAndEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &fake{await: func(ctx context.Context, r core.AwaitRequest) (core.AwaitResult, error) {
			for i := range 35 {
				if i < 5 {
					tn := aTurn(core.TurnIsRunning)
					tn.Activity = fmt.Sprintf("step %d %s", i, strings.Repeat("x", 300))
					r.Progress([]core.Resource{turnResource(tn)})
				}
				time.Sleep(time.Second)
			}
			return awaiting(core.OutcomeTimeout, func() []core.Resource { return []core.Resource{turnResource(aTurn(core.TurnIsRunning))} })(ctx, r)
		}}
		s := &session{ch: make(chan mcp.JSONRPCNotification, 100)}
		srv := newServer(h, Options{})
		start := time.Now()
		srv.HandleMessage(srv.WithContext(context.Background(), s),
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"await","arguments":{"ids":"trn_x"},"_meta":{"progressToken":"tok"}}}`))
		took := time.Since(start)
		n := len(s.ch)
		time.Sleep(time.Minute)
		if len(s.ch) != n {
			t.Error("progress after the response")
		}
		if n < int(took/(10*time.Second)) || n > int(took/time.Second) {
			t.Errorf("%d notifications in %s", n, took)
		}
		last := 0
		for range n {
			p := (<-s.ch).Params.AdditionalFields
			at, message := p["progress"].(int), p["message"].(string)
			if p["progressToken"] != "tok" || at <= last || at-last > 10 || len(message) > 200 || !strings.Contains(message, trnID) {
				t.Errorf("after %d: %v", last, p)
			}
			last = at
		}
	})
}

func TestNoProgressWithoutAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &fake{await: func(context.Context, core.AwaitRequest) (core.AwaitResult, error) {
			time.Sleep(30 * time.Second)
			return core.AwaitResult{Outcome: core.OutcomeTimeout}, nil
		}}
		s := &session{ch: make(chan mcp.JSONRPCNotification, 100)}
		srv := newServer(h, Options{})
		srv.HandleMessage(srv.WithContext(context.Background(), s),
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"await","arguments":{"ids":"trn_x"}}}`))
		if n := len(s.ch); n != 0 {
			t.Errorf("%d notifications", n)
		}
	})
}
