package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// whoami answers with what a handler can learn of its client.
var whoami = tool("whoami", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	client := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	text := fmt.Sprintf("%s %s modern=%v elicits=%v", client.GetClientInfo().Name,
		server.RequestProtocolVersion(ctx), server.IsModernRequest(ctx), client.GetClientCapabilities().Elicitation != nil)
	return mcp.NewToolResultText(text), nil
})

func TestHandlersLearnTheirClientInBothEras(t *testing.T) {
	onEachTransport(t, testHandlersLearnTheirClientInBothEras)
}

func testHandlersLearnTheirClientInBothEras(t *testing.T, dial dialer) {
	for name, tc := range map[string]struct {
		hello func(*mcptest.Client, context.Context) json.RawMessage
		want  string
	}{
		"legacy": {(*mcptest.Client).Initialize, "mcptest 2025-11-25 modern=false elicits=true"},
		"modern": {(*mcptest.Client).Discover, "mcptest 2026-07-28 modern=true elicits=true"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, newServer(whoami))
			c.Capabilities = map[string]any{"elicitation": map[string]any{}}
			tc.hello(c, t.Context())
			if got := c.MustCall(t.Context(), "whoami", nil).Text; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDiscoverOffersBothEras(t *testing.T) { onEachTransport(t, testDiscoverOffersBothEras) }

func testDiscoverOffersBothEras(t *testing.T, dial dialer) {
	c := dial(t, newServer())
	var result struct {
		SupportedVersions []string `json:"supportedVersions"`
	}
	if err := json.Unmarshal(c.Discover(t.Context()), &result); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{mcptest.ModernVersion, mcptest.LegacyVersion} {
		if !slices.Contains(result.SupportedVersions, version) {
			t.Errorf("%s is not among %v", version, result.SupportedVersions)
		}
	}
}

func TestCapabilitiesOfAModernRequestDoNotOutliveIt(t *testing.T) {
	onEachTransport(t, testCapabilitiesOfAModernRequestDoNotOutliveIt)
}

func testCapabilitiesOfAModernRequestDoNotOutliveIt(t *testing.T, dial dialer) {
	c := dial(t, newServer(whoami))
	c.Capabilities = map[string]any{"elicitation": map[string]any{}}
	c.Discover(t.Context())
	c.MustCall(t.Context(), "whoami", nil)
	c.Capabilities = map[string]any{}
	if got, want := c.MustCall(t.Context(), "whoami", nil).Text, "mcptest 2026-07-28 modern=true elicits=false"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// asking elicits a name, in the way that suits the client's era.
var asking = tool("ask", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(r.Params.InputResponses, "name"); answer != nil {
		return mcp.NewToolResultText(fmt.Sprintf("%s %v", answer.Action, answer.Content)), nil
	}
	return server.NewInputRequestBuilder("state").Elicit("name", mcp.ElicitationParams{
		Message:         "your name?",
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
	}).ToolResult(), nil
})

func TestLegacyElicitationMakesTheRoundTrip(t *testing.T) {
	onEachTransport(t, testLegacyElicitationMakesTheRoundTrip)
}

func testLegacyElicitationMakesTheRoundTrip(t *testing.T, dial dialer) {
	c := dial(t, newServer(asking))
	c.Capabilities = map[string]any{"elicitation": map[string]any{}}
	c.Answer = func(method string, params json.RawMessage) (any, error) {
		if method != "elicitation/create" {
			return nil, fmt.Errorf("unexpected %s", method)
		}
		return map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}, nil
	}
	c.Initialize(t.Context())
	for range 20 { // each answer to its own call
		if got, want := c.MustCall(t.Context(), "ask", nil).Text, "accept map[name:Ada]"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestARefusedElicitationIsAnErrorOfTheCall(t *testing.T) {
	onEachTransport(t, testARefusedElicitationIsAnErrorOfTheCall)
}

func testARefusedElicitationIsAnErrorOfTheCall(t *testing.T, dial dialer) {
	c := dial(t, newServer(asking))
	c.Initialize(t.Context())
	_, err := c.Call(t.Context(), "ask", nil)
	var failed *mcptest.RPCError
	if !errors.As(err, &failed) {
		t.Errorf("call: %v", err)
	}
}

func TestAnElicitationEndsWithItsClient(t *testing.T) {
	c := mcptest.Pipe(t, newServer(asking))
	asked := make(chan struct{})
	hold := make(chan struct{})
	defer close(hold)
	c.Answer = func(string, json.RawMessage) (any, error) {
		close(asked)
		<-hold
		return nil, errors.New("too late")
	}
	c.Initialize(t.Context())
	r, err := c.Begin("ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	start := time.Now()
	if err := c.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(t.Context()); err == nil || errors.Is(err, mcptest.ErrClosed) {
		t.Errorf("the call's answer: %v, want a failure", err)
	}
	if took := time.Since(start); took > 1500*time.Millisecond {
		t.Errorf("the call was held for %v although nobody can answer", took)
	}
}

func TestACancelledElicitationIsWithdrawn(t *testing.T) {
	onEachTransport(t, testACancelledElicitationIsWithdrawn)
}

func testACancelledElicitationIsWithdrawn(t *testing.T, dial dialer) {
	c := dial(t, newServer(asking))
	asked, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	c.Answer = func(string, json.RawMessage) (any, error) {
		close(asked)
		<-hold
		return nil, errors.New("too late")
	}
	c.Initialize(t.Context())
	r, err := c.Begin("ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := r.Cancel(); err != nil {
		t.Fatal(err)
	}
	c.WaitFor(0, func(m mcptest.Message) bool { return m.Method == "notifications/cancelled" })
}

func TestModernElicitationReturnsInputRequests(t *testing.T) {
	onEachTransport(t, testModernElicitationReturnsInputRequests)
}

func testModernElicitationReturnsInputRequests(t *testing.T, dial dialer) {
	c := dial(t, newServer(asking))
	c.Capabilities = map[string]any{"elicitation": map[string]any{}}
	c.Discover(t.Context())
	var result struct {
		ResultType    string         `json:"resultType"`
		InputRequests map[string]any `json:"inputRequests"`
		RequestState  string         `json:"requestState"`
	}
	if err := c.Do(t.Context(), "tools/call", map[string]any{"name": "ask", "arguments": map[string]any{}}, &result); err != nil {
		t.Fatal(err)
	}
	if result.ResultType != "input_required" || len(result.InputRequests) != 1 || result.RequestState != "state" {
		t.Fatalf("first round: %+v", result)
	}
	p, err := c.Request("tools/call", map[string]any{
		"name": "ask", "arguments": map[string]any{}, "requestState": "state",
		"inputResponses": map[string]any{"name": map[string]any{"action": "decline"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var done struct {
		Content []struct{ Text string } `json:"content"`
	}
	if err := json.Unmarshal(m.Result, &done); err != nil || len(done.Content) != 1 || done.Content[0].Text != "decline <nil>" {
		t.Errorf("second round: %s, %v", m.Result, err)
	}
}

func updated(srv *server.MCPServer, uri string) {
	srv.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
}

// uris returns the resources of the updates the client got, and the stream
// each came on.
func uris(t *testing.T, c *mcptest.Client) (list []string) {
	t.Helper()
	for _, m := range c.Notifications(mcp.MethodNotificationResourceUpdated) {
		var p struct {
			URI  string         `json:"uri"`
			Meta map[string]any `json:"_meta"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		entry := p.URI
		if id, ok := p.Meta[mcp.MetaKeySubscriptionID]; ok {
			entry = fmt.Sprintf("%v: %s", id, p.URI)
		}
		list = append(list, entry)
	}
	return list
}

func isUpdate(uri string) func(mcptest.Message) bool {
	return func(m mcptest.Message) bool {
		var p struct{ URI string }
		return m.Method == mcp.MethodNotificationResourceUpdated && json.Unmarshal(m.Params, &p) == nil && p.URI == uri
	}
}

func TestLegacySubscribersGetTheirResourcesOnly(t *testing.T) {
	onEachTransport(t, testLegacySubscribersHearOfTheirResourcesOnly)
}

func testLegacySubscribersHearOfTheirResourcesOnly(t *testing.T, dial dialer) {
	srv := newServer()
	c, other := dial(t, srv), dial(t, srv)
	c.Initialize(t.Context())
	other.Initialize(t.Context())
	for _, uri := range []string{"x://a", "x://b", "x://end"} {
		if err := c.Do(t.Context(), "resources/subscribe", map[string]any{"uri": uri}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Do(t.Context(), "resources/unsubscribe", map[string]any{"uri": "x://b"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"x://b", "x://a", "x://nobody", "x://end"} {
		updated(srv, uri)
	}
	c.WaitFor(0, isUpdate("x://end"))
	if diff := cmp.Diff([]string{"x://a", "x://end"}, uris(t, c)); diff != "" {
		t.Error(diff)
	}
	srv.AddTools(tool("another", nil)) // a list change is sent to every client
	other.WaitFor(0, func(m mcptest.Message) bool { return m.Method == mcp.MethodNotificationToolsListChanged })
	if got := uris(t, other); len(got) != 0 {
		t.Errorf("a client that subscribed to nothing got %v", got)
	}
}

func listen(t *testing.T, c *mcptest.Client, filter map[string]any) *mcptest.Pending {
	t.Helper()
	p, err := c.Request("subscriptions/listen", map[string]any{"notifications": filter})
	if err != nil {
		t.Fatal(err)
	}
	c.WaitFor(0, func(m mcptest.Message) bool {
		var params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		return m.Method == mcp.MethodNotificationSubscriptionsAcknowledged && json.Unmarshal(m.Params, &params) == nil &&
			string(params.Meta[mcp.MetaKeySubscriptionID]) == string(p.ID)
	})
	return p
}

func TestModernStreamsCarryWhatTheirFilterNames(t *testing.T) {
	srv := newServer()
	c := mcptest.Pipe(t, srv)
	c.Discover(t.Context())
	one := listen(t, c, map[string]any{"resourceSubscriptions": []string{"x://a", "x://end"}})
	two := listen(t, c, map[string]any{"resourceSubscriptions": []string{"x://b"}})
	tools := listen(t, c, map[string]any{"toolsListChanged": true})

	for _, uri := range []string{"x://a", "x://b", "x://nobody", "x://end"} {
		updated(srv, uri)
	}
	c.WaitFor(0, isUpdate("x://end"))
	want := []string{string(one.ID) + ": x://a", string(two.ID) + ": x://b", string(one.ID) + ": x://end"}
	if diff := cmp.Diff(want, uris(t, c)); diff != "" {
		t.Error(diff)
	}

	srv.AddTools(tool("another", nil))
	m := c.WaitFor(0, func(m mcptest.Message) bool { return m.Method == mcp.MethodNotificationToolsListChanged })
	if want := fmt.Sprintf(`{"_meta":{"%s":%s}}`, mcp.MetaKeySubscriptionID, tools.ID); string(m.Params) != want {
		t.Errorf("params %s, want %s", m.Params, want)
	}

	if err := two.Cancel(); err != nil {
		t.Fatal(err)
	}
	// The stream ends soon after; from then on nothing comes on it.
	for seen := 0; ; {
		before := len(c.Messages())
		updated(srv, "x://b")
		updated(srv, "x://a")
		c.WaitFor(before, isUpdate("x://a"))
		if now := len(c.Notifications(mcp.MethodNotificationResourceUpdated)); now == seen+1 {
			break
		} else {
			seen = now
		}
	}
	if err := c.CloseInput(); err != nil {
		t.Fatal(err)
	}
	m, err := one.Wait(t.Context()) // a server that leaves ends its streams
	if err != nil {
		t.Fatal(err)
	}
	if m.Seq == 0 {
		t.Error("no result of the stream")
	}
	for _, m := range c.Messages() {
		if string(m.ID) == string(two.ID) {
			t.Errorf("the cancelled stream was answered: %s", m.Raw)
		}
	}
}

func TestAModernClientWithoutAStreamGetsNoBroadcasts(t *testing.T) {
	onEachTransport(t, testAModernClientWithoutAStreamHearsNothing)
}

func testAModernClientWithoutAStreamHearsNothing(t *testing.T, dial dialer) {
	srv := newServer()
	c := dial(t, srv)
	c.Discover(t.Context())
	c.MustCall(t.Context(), "noop", nil)
	srv.AddTools(tool("another", nil))
	listen(t, c, map[string]any{"resourceSubscriptions": []string{"x://end"}})
	updated(srv, "x://end")
	c.WaitFor(0, isUpdate("x://end"))
	if got := c.Notifications(mcp.MethodNotificationToolsListChanged); len(got) != 0 {
		t.Errorf("%d notifications nobody asked for", len(got))
	}
}

func TestWhatAClientSubscribesToIsBounded(t *testing.T) {
	c := mcptest.Pipe(t, newServer())
	c.Initialize(t.Context())
	subscribe := func(uri string) error {
		return c.Do(t.Context(), "resources/subscribe", map[string]any{"uri": uri}, nil)
	}
	if err := subscribe("x://" + strings.Repeat("a", 4096)); err == nil {
		t.Error("a name of 4 KiB was kept")
	}
	for i := range 1024 {
		if err := subscribe(fmt.Sprint("x://", i)); err != nil {
			t.Fatalf("subscription %d: %v", i, err)
		}
	}
	if err := subscribe("x://one-more"); err == nil || !strings.Contains(err.Error(), "1024") {
		t.Errorf("one too many: %v", err)
	}
	if err := subscribe("x://0"); err != nil {
		t.Errorf("one that there is: %v", err)
	}
	if err := c.Do(t.Context(), "resources/unsubscribe", map[string]any{"uri": "x://0"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := subscribe("x://one-more"); err != nil {
		t.Errorf("after one was given up: %v", err)
	}
}
