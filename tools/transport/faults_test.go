package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func TestFaultyMessagesAreRefusedAndTheConnectionLives(t *testing.T) {
	onEachTransport(t, testFaultyMessagesAreRefusedAndTheConnectionLives)
}

func testFaultyMessagesAreRefusedAndTheConnectionLives(t *testing.T, dial dialer) {
	for name, tc := range map[string]struct {
		line string
		code int
	}{
		"no JSON":            {`{"jsonrpc":`, mcp.PARSE_ERROR},
		"words":              {`hello`, mcp.PARSE_ERROR},
		"a batch":            {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, mcp.INVALID_REQUEST},
		"a number":           {`5`, mcp.INVALID_REQUEST},
		"an object for id":   {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, mcp.INVALID_REQUEST},
		"a wrong version":    {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, mcp.INVALID_REQUEST},
		"an unknown method":  {`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, mcp.METHOD_NOT_FOUND},
		"params of no shape": {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`, mcp.INVALID_REQUEST},
		"an unknown tool":    {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"no"}}`, mcp.INVALID_PARAMS},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, newServer())
			c.Initialize(t.Context())
			seen := len(c.Messages())
			if err := c.SendRaw([]byte(tc.line + "\n\r\n  \n")); err != nil {
				t.Fatal(err)
			}
			m := c.WaitFor(seen, func(mcptest.Message) bool { return true })
			if m.Error == nil || m.Error.Code != tc.code {
				t.Errorf("answer: %s, want code %d", m.Raw, tc.code)
			}
			c.MustCall(t.Context(), "noop", nil)
			if got := len(c.Messages()) - seen; got != 2 {
				t.Errorf("%d messages, want a refusal and a result", got)
			}
		})
	}
}

func TestALineThatIsTooLongIsRefusedAndTheConnectionLives(t *testing.T) {
	onEachTransport(t, testALineThatIsTooLongIsRefusedAndTheConnectionLives)
}

func testALineThatIsTooLongIsRefusedAndTheConnectionLives(t *testing.T, dial dialer) {
	c := dial(t, newServer())
	c.Initialize(t.Context())
	seen := len(c.Messages())
	long := bytes.Repeat([]byte("x"), transport.MaxMessage)
	line := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`), long...)
	if err := c.SendRaw(append(line, `"}}`+"\n"...)); err != nil {
		t.Fatal(err)
	}
	m := c.WaitFor(seen, func(mcptest.Message) bool { return true })
	if m.Error == nil || m.Error.Code != mcp.PARSE_ERROR || string(m.ID) != "null" {
		t.Errorf("answer: %s", m.Raw)
	}
	c.MustCall(t.Context(), "noop", nil)
}

func TestAMessageOfManyMegabytesIsServed(t *testing.T) {
	onEachTransport(t, testAMessageOfManyMegabytesIsServed)
}

func testAMessageOfManyMegabytesIsServed(t *testing.T, dial dialer) {
	c := dial(t, newServer(tool("size", func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(len(r.GetString("text", "")))), nil
	})))
	c.Initialize(t.Context())
	if got := c.MustCall(t.Context(), "size", map[string]any{"text": strings.Repeat("y", 3<<20)}).Text; got != fmt.Sprint(3<<20) {
		t.Errorf("the tool saw %s bytes", got)
	}
}

func TestFragmentsInEveryShapeAreOneMessage(t *testing.T) {
	input := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noop"}}` + "\r\n\n" +
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"byte by byte":          iotest.OneByteReader,
		"in halves":             iotest.HalfReader,
		"with the end of input": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := transport.ServeStdio(t.Context(), newServer(), wrap(strings.NewReader(input)), &out, transport.Options{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(out.String(), `"result"`); got != 2 {
				t.Errorf("%d of 2 results in %s", got, out.String())
			}
		})
	}
}

func TestAPanicIsAnInternalErrorThatNamesItsLogEntry(t *testing.T) {
	onEachTransport(t, testAPanicIsAnInternalErrorThatNamesItsLogEntry)
}

func testAPanicIsAnInternalErrorThatNamesItsLogEntry(t *testing.T, dial dialer) {
	var log syncBuffer
	c := dial(t, newServer(
		tool("panic", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("the secret cause") }),
		tool("exit", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runtime.Goexit()
			return nil, nil
		}),
	), transport.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.Initialize(t.Context())
	for _, name := range []string{"panic", "exit"} {
		_, err := c.Call(t.Context(), name, nil)
		var internal *mcptest.RPCError
		if !errors.As(err, &internal) || internal.Code != mcp.INTERNAL_ERROR || strings.Contains(internal.Message, "secret") {
			t.Fatalf("%s: %v", name, err)
		}
		_, rest, _ := strings.Cut(internal.Message, "incident ")
		incident, _, _ := strings.Cut(rest, ",")
		if incident == "" || !strings.Contains(log.String(), "incident="+incident) {
			t.Errorf("%s: incident %q is not in the log:\n%s", name, incident, log.String())
		}
	}
	if !strings.Contains(log.String(), "the secret cause") {
		t.Errorf("the log lacks the cause:\n%s", log.String())
	}
	c.MustCall(t.Context(), "noop", nil)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestAResultWithoutJSONFormIsAnInternalError(t *testing.T) {
	onEachTransport(t, testAResultWithoutJSONFormIsAnInternalError)
}

func testAResultWithoutJSONFormIsAnInternalError(t *testing.T, dial dialer) {
	c := dial(t, newServer(tool("odd", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultStructured(map[string]any{"f": func() {}}, "odd"), nil
	})), transport.Options{Log: quiet()})
	c.Initialize(t.Context())
	_, err := c.Call(t.Context(), "odd", nil)
	var internal *mcptest.RPCError
	if !errors.As(err, &internal) || internal.Code != mcp.INTERNAL_ERROR {
		t.Errorf("call: %v", err)
	}
}

func TestAClientThatDoesNotReadCanStillCancel(t *testing.T) {
	g := newGate()
	in, w := io.Pipe()
	reading := make(chan struct{})
	served := make(chan error, 1)
	out := writerFunc(func(p []byte) (int, error) { <-reading; return len(p), nil })
	go func() {
		served <- transport.ServeStdio(t.Context(), newServer(g.tool("wait")), in, out, transport.Options{})
	}()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `not JSON`, `[]`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`,
	} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-g.entered
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-g.left; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	close(reading)
	_ = w.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func FuzzInputNeverBreaksTheServer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noop"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		"[]\n{}\n\x00\n\"\n{\"id\":null}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		if err := transport.ServeStdio(t.Context(), newServer(), bytes.NewReader(input), &out, transport.Options{Log: quiet()}); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) || line[len(line)-1] != '\n' {
				t.Errorf("not a message: %q", line)
			}
		}
	})
}
