package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

func TestOneShotPipeAnswersEveryCall(t *testing.T) {
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
	for i := range 60 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow","arguments":{}}}`+"\n", i+1)
	}
	input := strings.TrimSuffix(in.String(), "\n") // the last line ends with the input
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(tool("slow", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-time.After(time.Second):
				return mcp.NewToolResultText("done"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		var out bytes.Buffer
		if err := transport.ServeStdio(t.Context(), srv, strings.NewReader(input), &out, transport.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), `"done"`); got != 60 {
			t.Errorf("%d of 60 calls were answered", got)
		}
	})
}

func TestTheGraceAtEndOfInputIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		ignore bool // the handler ignores the end of its context
		want   time.Duration
		answer bool
	}{
		"a call that heeds its context is answered": {false, 2 * time.Second, true},
		"a call that ignores its context is left":   {true, 2500 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				srv := newServer(tool("stay", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					if tc.ignore {
						<-release
					} else {
						<-ctx.Done()
					}
					return mcp.NewToolResultText("stayed"), nil
				}))
				var out bytes.Buffer
				in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stay"}}`)
				start := time.Now()
				if err := transport.ServeStdio(t.Context(), srv, in, &out, transport.Options{Log: quiet()}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != tc.want {
					t.Errorf("returned after %v, want %v", took, tc.want)
				}
				if got := strings.Contains(out.String(), "stayed"); got != tc.answer {
					t.Errorf("answered: %v, want %v", got, tc.answer)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

func TestTheEndOfTheContextStopsReadingAndLetsCallsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(tool("slow", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(time.Second)
			return mcp.NewToolResultText("done"), ctx.Err()
		}))
		in, w := io.Pipe()
		var out bytes.Buffer
		cause := errors.New("signal")
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error, 1)
		go func() { served <- transport.ServeStdio(ctx, srv, in, &out, transport.Options{}) }()
		if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel(cause)
		if err := <-served; err != cause {
			t.Errorf("ServeStdio: %v, want the cause of its context", err)
		}
		if !strings.Contains(out.String(), "done") {
			t.Errorf("the call in flight was not answered: %q", out.String())
		}
		_ = w.Close()
	})
}

func TestAFailedOutputEndsTheConnection(t *testing.T) {
	in, w := io.Pipe()
	defer w.Close()
	broken := errors.New("broken pipe")
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeStdio(t.Context(), newServer(), in, writerFunc(func([]byte) (int, error) { return 0, broken }), transport.Options{})
	}()
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, broken) {
		t.Errorf("ServeStdio: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestAClosedStandardOutputIsAnError(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=ours")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	// Its input stays open: only the failed write can end the server.
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "write to the client") {
		t.Errorf("the server ended with %v: %s", cmd.ProcessState, stderr.String())
	}
}
