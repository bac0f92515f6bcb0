package mcptest

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

const (
	exitWait  = 10 * time.Second // for the server to end by itself
	maxStderr = 64 << 10
)

// Start runs a server program and connects to its stdio. The caller sets the
// command's Env, Dir and arguments. At the end of the test the program's input
// is closed; a program that does not end by itself is killed and fails the
// test.
func Start(t testing.TB, cmd *exec.Cmd) *Client {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr tail
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	c := newClient(t, out, in)
	c.stderr = stderr.String
	t.Cleanup(func() { stop(t, cmd, c) })
	return c
}

func stop(t testing.TB, cmd *exec.Cmd, c *Client) {
	t.Helper()
	_ = c.CloseInput() // the test may have closed it
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-c.Closed():
	case <-timer.C:
		t.Errorf("the server did not end within %v of end of input%s", exitWait, c.stderr())
		_ = cmd.Process.Kill()
		<-c.Closed()
	}
	killed := time.AfterFunc(exitWait, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Errorf("wait for the server: %v", err)
	}
	if exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		t.Logf("the server was killed")
	}
}

// Pipe serves srv in this process over pipes and connects to it. At the end of
// the test the server's input is closed, and a ServeStdio that fails or does
// not return fails the test.
func Pipe(t testing.TB, srv *server.MCPServer, opts ...transport.Options) *Client {
	t.Helper()
	var o transport.Options
	if len(opts) > 0 {
		o = opts[0]
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := transport.ServeStdio(context.Background(), srv, serverIn, serverOut, o)
		_ = serverOut.Close()
		served <- err
	}()
	c := newClient(t, clientIn, clientOut)
	t.Cleanup(func() {
		_ = c.CloseInput()
		timer := time.NewTimer(exitWait)
		defer timer.Stop()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("ServeStdio: %v", err)
			}
			<-c.Closed()
		case <-timer.C:
			t.Errorf("ServeStdio did not return within %v of end of input", exitWait)
		}
	})
	return c
}

// tail keeps the end of what a program wrote to stderr.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	if over := len(w.buf) - maxStderr; over > 0 {
		w.buf = append(w.buf[:0], w.buf[over:]...)
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf) == 0 {
		return ""
	}
	return "\nserver's stderr:\n" + string(w.buf)
}
