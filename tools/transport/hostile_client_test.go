package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

const (
	aliceToken = "alice-0123456789"
	bobToken   = "bob-0123456789"
)

func twoTokens(t testing.TB) *transport.Tokens {
	t.Helper()
	tokens, err := transport.ParseTokens([]byte("alice " + aliceToken + "\nbob " + bobToken + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// besieged is a guarded server, and what an attacker can send.
type besieged struct {
	*mcptest.HTTP
	t    *testing.T
	gate *gate
	host string
}

func besiege(t *testing.T) *besieged {
	t.Helper()
	g := newGate()
	srv := newServer(g.tool("wait"), asking, tool("whose", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(transport.Principal(ctx)), nil
	}))
	b := &besieged{t: t, gate: g}
	l := transport.HTTPOptions{Options: transport.Options{Log: quiet()}, Tokens: twoTokens(t)}
	b.HTTP = mcptest.ServeHTTP(t, srv, l)
	b.host = strings.TrimSuffix(strings.TrimPrefix(b.URL, "http://"), transport.PathMCP)
	return b
}

// client returns a client with a token.
func (b *besieged) client(token string) *mcptest.Client {
	return mcptest.Connect(b.t, transport.ConnectOptions{URL: b.URL, Token: token, Log: quiet()})
}

type header map[string]string

// do sends a request as alice unless the headers differ; an empty
// header is not sent.
func (b *besieged) do(method, body string, h header) *http.Response {
	b.t.Helper()
	r, err := http.NewRequest(method, b.URL, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+aliceToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range h {
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { response.Body.Close(); http.DefaultClient.CloseIdleConnections() })
	return response
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`

// session makes a session of a principal and returns its id.
func (b *besieged) session(token string) string {
	b.t.Helper()
	response := b.do("POST", hello, header{"Authorization": "Bearer " + token})
	id := response.Header.Get("Mcp-Session-Id")
	if response.StatusCode != http.StatusOK || id == "" {
		b.t.Fatalf("initialize: %s", response.Status)
	}
	return id
}

// alive fails the test if the server does not serve any more.
func (b *besieged) alive() {
	b.t.Helper()
	c := b.client(bobToken)
	c.Initialize(b.t.Context())
	if got := c.MustCall(b.t.Context(), "whose", nil).Text; got != "bob" {
		b.t.Errorf("the server took bob for %q", got)
	}
}

func TestRequestsWithAWrongHostOriginOrTokenAreRefused(t *testing.T) {
	b := besiege(t)
	session := b.session(aliceToken)
	for name, tc := range map[string]struct {
		headers header
		status  int
	}{
		"no token":          {header{"Authorization": ""}, http.StatusUnauthorized},
		"an empty token":    {header{"Authorization": "Bearer "}, http.StatusUnauthorized},
		"a wrong token":     {header{"Authorization": "Bearer " + aliceToken + "x"}, http.StatusUnauthorized},
		"half a token":      {header{"Authorization": "Bearer " + aliceToken[:8]}, http.StatusUnauthorized},
		"a wrong scheme":    {header{"Authorization": "Basic " + aliceToken}, http.StatusUnauthorized},
		"a foreign origin":  {header{"Origin": "http://evil.example"}, http.StatusForbidden},
		"a null origin":     {header{"Origin": "null"}, http.StatusForbidden},
		"an origin's port":  {header{"Origin": "http://127.0.0.1:1"}, http.StatusForbidden},
		"a lookalike":       {header{"Origin": "http://" + b.host + ".evil.example"}, http.StatusForbidden},
		"our own origin":    {header{"Origin": "http://" + b.host}, http.StatusOK},
		"a foreign session": {header{"Authorization": "Bearer " + bobToken}, http.StatusNotFound},
		"a made-up session": {header{"Mcp-Session-Id": "made-up"}, http.StatusNotFound},
		"no session":        {header{"Mcp-Session-Id": ""}, http.StatusBadRequest},
		"a wrong version":   {header{"Mcp-Protocol-Version": "1999-01-01"}, http.StatusBadRequest},
		"a wrong type":      {header{"Content-Type": "text/plain"}, http.StatusUnsupportedMediaType},
		"no type":           {header{"Content-Type": ""}, http.StatusUnsupportedMediaType},
		"no streams":        {header{"Accept": "application/json"}, http.StatusOK},
		"streams only":      {header{"Accept": "text/event-stream"}, http.StatusOK},
		"neither accepted":  {header{"Accept": "text/html"}, http.StatusNotAcceptable},
		"anything accepted": {header{"Accept": "*/*"}, http.StatusOK},
		"all in order":      {nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h := header{"Mcp-Session-Id": session}
			for k, v := range tc.headers {
				h[k] = v
			}
			response := b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, h)
			if response.StatusCode != tc.status {
				t.Errorf("%s, want %d", response.Status, tc.status)
			}
			challenge := response.Header.Get("WWW-Authenticate")
			if (tc.status == http.StatusUnauthorized) != strings.HasPrefix(challenge, "Bearer ") {
				t.Errorf("WWW-Authenticate: %q", challenge)
			}
		})
	}
	b.alive()
}

func TestDNSRebindingIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hosts := transport.LoopbackHosts(l.Addr().(*net.TCPAddr))
	l.Close()
	h := mcptest.ServeHTTP(t, newServer(), transport.HTTPOptions{Hosts: hosts})
	b := &besieged{HTTP: h, t: t}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for host, status := range map[string]int{
		"localhost:" + port: http.StatusOK, "127.0.0.1:" + port: http.StatusOK, "[::1]:" + port: http.StatusOK, "LOCALHOST:" + port: http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:" + port: http.StatusForbidden, "localhost:1": http.StatusForbidden, "localhost": http.StatusForbidden,
	} {
		if response := b.do("POST", hello, header{"Host": host}); response.StatusCode != status {
			t.Errorf("Host %s: %s, want %d", host, response.Status, status)
		}
	}
}

func TestNobodyCanUseWatchOrEndTheSessionOfAnother(t *testing.T) {
	b := besiege(t)
	session := b.session(aliceToken)
	bob := header{"Authorization": "Bearer " + bobToken, "Mcp-Session-Id": session}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if response := b.do(method, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, bob); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s of another's session: %s", method, response.Status)
		}
	}
	if response := b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusOK {
		t.Errorf("the session did not survive: %s", response.Status)
	}
	if response := b.do("DELETE", "", header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusNoContent {
		t.Errorf("the end of one's own session: %s", response.Status)
	}
	if response := b.do("POST", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, header{"Mcp-Session-Id": session}); response.StatusCode != http.StatusNotFound {
		t.Errorf("after the end: %s, want 404", response.Status)
	}
	b.alive()
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestNobodyCanCancelTheCallOfAnother has everybody use the same request id.
func TestNobodyCanCancelTheCallOfAnother(t *testing.T) {
	for name, start := range map[string]func(*mcptest.Client, context.Context) json.RawMessage{
		"legacy": (*mcptest.Client).Initialize, "modern": (*mcptest.Client).Discover,
	} {
		t.Run(name, func(t *testing.T) {
			b := besiege(t)
			alice := b.client(aliceToken)
			start(alice, t.Context())
			call, err := alice.Begin("wait", nil)
			if err != nil {
				t.Fatal(err)
			}
			<-b.gate.entered
			cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, call.ID)
			modern := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,%s}}`, call.ID, modernMeta)
			for _, token := range []string{aliceToken, bobToken} { // the same person's other client is another one too
				other := b.session(token)
				bearer := "Bearer " + token
				for _, response := range []*http.Response{
					b.do("POST", cancel, header{"Authorization": bearer, "Mcp-Session-Id": other}),
					b.do("POST", cancel, header{"Authorization": bearer, "Mcp-Protocol-Version": "2026-07-28"}),
					b.do("POST", modern, header{"Authorization": bearer, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/cancelled"}),
				} {
					if response.StatusCode != http.StatusAccepted {
						t.Errorf("a cancellation: %s", response.Status)
					}
				}
			}
			b.alive() // what was sent has been handled
			close(b.gate.open)
			if got, err := call.Result(t.Context()); err != nil || got.Text != "waited" {
				t.Errorf("the call: %q, %v", got.Text, err)
			}
			if err := <-b.gate.left; err != nil {
				t.Errorf("the call's context: %v", err)
			}
		})
	}
}

func TestNobodyCanAnswerForAnother(t *testing.T) {
	b := besiege(t)
	alice := b.client(aliceToken)
	alice.Capabilities = map[string]any{"elicitation": map[string]any{}}
	asked, answer := make(chan struct{}), make(chan struct{})
	alice.Answer = func(string, json.RawMessage) (any, error) {
		close(asked)
		<-answer
		return map[string]any{"action": "accept", "content": map[string]any{"name": "Alice"}}, nil
	}
	alice.Initialize(t.Context())
	call, err := alice.Begin("ask", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	for _, token := range []string{aliceToken, bobToken} {
		forged := `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Mallory"}}}`
		response := b.do("POST", forged, header{"Authorization": "Bearer " + token, "Mcp-Session-Id": b.session(token)})
		if response.StatusCode != http.StatusAccepted {
			t.Errorf("an answer to nothing: %s", response.Status)
		}
	}
	close(answer)
	if got, err := call.Result(t.Context()); err != nil || got.Text != "accept map[name:Alice]" {
		t.Errorf("the answer: %q, %v", got.Text, err)
	}
}

func TestABodyWithoutEndIsRefused(t *testing.T) {
	b := besiege(t)
	for name, length := range map[string]int64{"of unknown length": -1, "that says its length": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			var sent countingReader
			r, err := http.NewRequest("POST", b.URL, &sent)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.Header.Set("Authorization", "Bearer "+aliceToken)
			r.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(r)
			if err == nil {
				response.Body.Close()
				if response.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s", response.Status)
				}
			} // else the connection was closed while we sent
			if sent.n.Load() > 2*transport.MaxMessage {
				t.Errorf("the server took %d bytes", sent.n.Load())
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
	b.alive()
}

func TestTheBodyOfAnUnauthorizedRequestIsNotRead(t *testing.T) {
	b := besiege(t)
	var sent countingReader
	r, err := http.NewRequest("POST", b.URL, &sent)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = transport.MaxMessage
	if response, err := http.DefaultClient.Do(r); err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s", response.Status)
		}
	}
	if sent.n.Load() > 4<<20 { // what the connection's buffers take
		t.Errorf("the server took %d bytes of a stranger", sent.n.Load())
	}
	http.DefaultClient.CloseIdleConnections()
	b.alive()
}

func TestHeadersThatNeverEndAreCutOff(t *testing.T) {
	t.Parallel() // it waits for a time-out
	b := besiege(t)
	conn, err := net.Dial("tcp", b.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\n", transport.PathMCP, b.host); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(25 * time.Second))
	if _, err := io.ReadAll(conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		t.Error("the connection was still open after 25 s")
	}
	b.alive()
}

// TestAPromisedBodyThatNeverComesHoldsNoConnection has strangers announce a
// body: a server that waits for it, to use the connection again, can be filled
// up by them.
func TestAPromisedBodyThatNeverComesHoldsNoConnection(t *testing.T) {
	b := besiege(t)
	for name, head := range map[string]string{
		"without a token": "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n",
		"in chunks":       "POST /mcp HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
		"elsewhere":       "POST /healthz HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n",
		"from elsewhere":  "POST /mcp HTTP/1.1\r\nHost: %s\r\nOrigin: http://evil.example\r\nContent-Length: 10\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a failure waits for its deadline
			conn, err := net.Dial("tcp", b.host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, head, b.host); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			answer, err := io.ReadAll(conn)
			if isTimeout(err) || !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
				t.Errorf("after 5 s: %q, %v", answer, err)
			}
		})
	}
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	b := besiege(t)
	conn, err := net.Dial("tcp", b.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Large: ", transport.PathMCP, b.host)
		_, _ = conn.Write(bytes.Repeat([]byte("x"), 4<<20)) // fails when the server has had enough
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s", response.Status)
		}
	}
	b.alive()
}

func TestTenThousandIdleConnectionsDelayNoOtherClient(t *testing.T) {
	for name, said := range map[string]string{
		"that say nothing":              "",
		"that owe the rest of a body":   "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n",
		"that owe the rest of a header": "POST /mcp HTTP/1.1\r\nHost: %s\r\n",
	} {
		t.Run(name, func(t *testing.T) { besiege(t).flood(said) })
	}
}

// flood opens many connections, each with the beginning of a request, and sees
// that others are served meanwhile.
func (b *besieged) flood(said string) {
	const flood = 10000
	if strings.Contains(said, "%s") {
		said = fmt.Sprintf(said, b.host)
	}
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for range flood {
		conn, err := net.DialTimeout("tcp", b.host, 10*time.Second)
		if err != nil {
			b.t.Fatalf("after %d connections: %v", len(held), err)
		}
		held = append(held, conn)
		if _, err := io.WriteString(conn, said); err != nil {
			b.t.Logf("connection %d: %v", len(held), err) // it was the oldest by then
		}
		if len(held)%1000 == 0 {
			b.alive()
		}
	}
	open := 0
	for _, conn := range held {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); isTimeout(err) {
			open++
		}
	}
	if open > 1600 {
		b.t.Errorf("%d idle connections are open", open)
	}
	b.alive()
}

func TestOnePrincipalsCallsTakeNoRoomFromAnother(t *testing.T) {
	g := newGate()
	srv := newServer(g.tool("wait"))
	h := mcptest.ServeHTTP(t, srv, transport.HTTPOptions{Tokens: twoTokens(t), Options: transport.Options{MaxCalls: 4, Log: quiet()}})
	alice := mcptest.Connect(t, transport.ConnectOptions{URL: h.URL, Token: aliceToken, Log: quiet()})
	alice.Initialize(t.Context())
	for range 20 {
		if _, err := alice.Begin("wait", nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		<-g.entered
	}
	bob := mcptest.Connect(t, transport.ConnectOptions{URL: h.URL, Token: bobToken, Log: quiet()})
	bob.Discover(t.Context())
	bob.MustCall(t.Context(), "noop", nil)
	select {
	case <-g.entered:
		t.Error("alice has more calls than the bound")
	default:
	}
	close(g.open)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
