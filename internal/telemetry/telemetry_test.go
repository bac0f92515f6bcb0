package telemetry_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink is a collector that keeps what it gets.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newSink(t *testing.T) *sink {
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s of %s: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, string(body))
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	return s
}

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
	Status struct{ Code int }
}

func (s span) attr(key string) any {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return v
			}
		}
	}
	return nil
}

func (s *sink) spans(t *testing.T) map[string]span {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]span{}
	for _, b := range s.bodies {
		var r struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal([]byte(b), &r); err != nil {
			t.Fatal(err)
		}
		for _, rs := range r.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, sp := range ss.Spans {
					out[sp.Name] = sp
				}
			}
		}
	}
	return out
}

func start(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func stop(t *testing.T, tel *telemetry.Telemetry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := tel.Close(ctx); err != nil {
		t.Error(err)
	}
}

func aTurn(tel core.Telemetry) {
	turn := tel.Begin(core.Operation{Name: core.OpTurn, Provider: "demo", Transport: "builtin", Session: "ses_1", Turn: "trn_1", Model: "m"})
	tel.Begin(core.Operation{Name: core.OpCommand, Provider: "demo", Transport: "builtin", Session: "ses_1", Turn: "trn_1", Command: "interrupt"})(core.Ended{Ending: core.EndedUncertain, Code: core.CodeResponseUncertain})
	tel.Begin(core.Operation{Name: core.OpStoreWrite, Session: "ses_1"})(core.Ended{Ending: core.EndedOK})
	tel.Begin(core.Operation{Name: core.OpToolCall, Command: "await"})(core.Ended{Ending: core.EndedOK})
	tel.Count(core.Signal{Name: core.RequestWasCreated, Provider: "demo", Kind: "question"})
	n := int64(1200)
	turn(core.Ended{Ending: core.EndedOK, Status: "completed", Usage: &core.Usage{InputTokens: &n}})
}

func TestSpansReachTheCollectorUnderTheNamesOfTheConventions(t *testing.T) {
	s := newSink(t)
	tel := start(t, telemetry.Options{Collector: s.URL, Version: "1", Instance: "i"})
	aTurn(tel)
	stop(t, tel)
	spans := s.spans(t)
	turn, command, tool := spans["invoke_agent demo"], spans["demo/interrupt"], spans["tools/call await"]
	if len(spans) != 3 {
		t.Errorf("%d kinds of spans, want 3 (a commit that worked is none): %v", len(spans), spans)
	}
	for _, tt := range []struct {
		s    span
		key  string
		want any
	}{
		{turn, "gen_ai.operation.name", "invoke_agent"}, {turn, "gen_ai.conversation.id", "ses_1"}, {turn, "gen_ai.agent.name", "demo"},
		{turn, "gen_ai.request.model", "m"}, {turn, "gen_ai.usage.input_tokens", "1200"}, {turn, "harness_mcp.outcome", "ok"},
		{turn, "harness_mcp.status", "completed"}, {turn, "harness_mcp.turn.id", "trn_1"},
		{command, "rpc.system.name", "builtin"}, {command, "rpc.method", "demo/interrupt"}, {command, "harness_mcp.outcome", "uncertain"},
		{command, "error.type", "response_uncertain"}, {tool, "mcp.method.name", "tools/call"}, {tool, "gen_ai.tool.name", "await"},
	} {
		if got := tt.s.attr(tt.key); got != tt.want {
			t.Errorf("%s of %q is %v, want %v", tt.key, tt.s.Name, got, tt.want)
		}
	}
	if command.ParentSpanID != turn.SpanID || command.TraceID != turn.TraceID || turn.ParentSpanID != "" {
		t.Errorf("the command %+v is not within its turn %+v", command, turn)
	}
	if command.Status.Code != 2 || turn.Status.Code == 2 || turn.Kind != 3 || tool.Kind != 2 {
		t.Errorf("status and kinds: %+v %+v %+v", command, turn, tool)
	}
	if !strings.Contains(s.bodies[0], `"service.name"`) {
		t.Error("the resource is not named")
	}
}

func TestMetricsAreServedOnLoopback(t *testing.T) {
	tel := start(t, telemetry.Options{Metrics: "127.0.0.1:0"})
	defer stop(t, tel)
	aTurn(tel)
	get := func(host string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+tel.MetricsAddr()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	code, text := get("")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	for _, line := range []string{
		"# TYPE gen_ai_client_operation_duration_seconds histogram",
		`gen_ai_client_operation_duration_seconds_count{gen_ai_agent_name="demo",gen_ai_operation_name="invoke_agent",harness_mcp_outcome="ok"} 1`,
		`rpc_client_call_duration_seconds_bucket{error_type="response_uncertain",gen_ai_agent_name="demo",harness_mcp_outcome="uncertain",rpc_method="interrupt",rpc_system_name="builtin",le="+Inf"} 1`,
		`db_client_operation_duration_seconds_count{harness_mcp_outcome="ok"} 1`,
		`gen_ai_client_token_usage_sum{gen_ai_agent_name="demo",gen_ai_token_type="input"} 1200`,
		`harness_mcp_turns_live{gen_ai_agent_name="demo"} 0`,
		`harness_mcp_signals_total{gen_ai_agent_name="demo",harness_mcp_request_kind="question",harness_mcp_signal="request_created"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	if code, _ := get("evil.example"); code != http.StatusForbidden {
		t.Errorf("another host's name is answered %d", code)
	}
}

func TestWrongAddressesAreRefused(t *testing.T) {
	for _, o := range []telemetry.Options{
		{Metrics: "0.0.0.0:0"}, {Metrics: ":0"}, {Metrics: "192.0.2.1:0"}, {Metrics: "nonsense"},
		{Collector: "127.0.0.1:4318"}, {Collector: "ftp://127.0.0.1"}, {Collector: "http://"},
	} {
		if tel, err := telemetry.New(o); err == nil {
			stop(t, tel)
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestACollectorThatIsGoneStopsNothing(t *testing.T) {
	s := newSink(t)
	s.Close()
	tel := start(t, telemetry.Options{Collector: s.URL})
	for range 10 {
		aTurn(tel)
	}
	stop(t, tel)
}
