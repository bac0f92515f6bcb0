package e2e

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

//go:embed driver.mjs
var driver []byte

const (
	startWait = 30 * time.Second // for the handshake, node's start included
	callWait  = 60 * time.Second // for calls whose context has no deadline
	exitWait  = 15 * time.Second // for the driver to close its server
	maxLine   = 64 << 20
)

// ErrClosed is the error of calls after the driver has gone.
var ErrClosed = errors.New("e2e: the client is closed")

// CallError is a failure as the SDK reports it: a JSON-RPC error, its own
// timeout, or a lost connection.
type CallError struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

func (e *CallError) Error() string { return fmt.Sprintf("the SDK reports: %s (%d)", e.Message, e.Code) }

// Config is what Start may be told beyond the server's command.
type Config struct {
	// Dir is the server's working directory; empty means the test's.
	Dir string

	// Elicit, if set, makes the client declare elicitation and answer every
	// request with it: {"action": "accept", "content": {...}}.
	Elicit map[string]any
}

// Ready is what the handshake told the SDK.
type Ready struct {
	PID          int             `json:"pid"` // of the server
	Server       json.RawMessage `json:"server"`
	Capabilities json.RawMessage `json:"capabilities"`
	Instructions string          `json:"instructions"`
}

// Client is a TypeScript client with its server. It is safe for concurrent
// use.
type Client struct {
	Ready Ready

	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *bytes.Buffer // read only after the driver's end
	ready  chan struct{}
	gone   chan struct{} // the server is gone
	done   chan struct{} // the driver's output has ended

	wmu sync.Mutex

	mu       sync.Mutex
	last     int
	seq      int
	waiting  map[int]chan event
	progress map[int][]mcptest.Progress
	notes    []Notification
	faults   []string
	changed  chan struct{} // closed and replaced with every event
	ended    bool
}

// Notification is one that belongs to no call.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type event struct {
	Event  string          `json:"event"`
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *CallError      `json:"error"`
	seq    int
}

// Start runs a server under the TypeScript client and waits for the
// handshake. The server's environment is env, beside the few variables that
// the SDK always passes on (HOME among them: a fresh directory, unless env
// says otherwise). Both end with the test.
func Start(t testing.TB, serverArgv, env []string, config ...Config) *Client {
	t.Helper()
	node, sdk := Require(t)
	script := filepath.Join(t.TempDir(), "driver.mjs")
	if err := os.WriteFile(script, driver, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, script, arguments(t, sdk, serverArgv, env, config))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &Client{
		t: t, cmd: cmd, stderr: new(bytes.Buffer),
		ready: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
		waiting: make(map[int]chan event), progress: make(map[int][]mcptest.Progress),
		changed: make(chan struct{}),
	}
	c.run()
	return c
}

func arguments(t testing.TB, sdk string, serverArgv, env []string, config []Config) string {
	t.Helper()
	vars := make(map[string]string, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	settings := map[string]any{"sdk": sdk, "command": serverArgv[0], "args": serverArgv[1:], "env": vars}
	if len(config) > 0 {
		if config[0].Dir != "" {
			settings["cwd"] = config[0].Dir
		}
		if config[0].Elicit != nil {
			settings["elicit"] = config[0].Elicit
		}
	}
	encoded, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func (c *Client) run() {
	c.t.Helper()
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	c.cmd.Stderr = c.stderr
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go c.read(out)
	c.t.Cleanup(c.stop)
	timer := time.NewTimer(startWait)
	defer timer.Stop()
	select {
	case <-c.ready:
	case <-c.done:
		c.t.Fatalf("the TypeScript client could not connect: %s", strings.Join(c.Faults(), "; "))
	case <-timer.C:
		c.t.Fatalf("no handshake within %v", startWait)
	}
}

// stop closes the client, and kills the whole group if that takes too long.
func (c *Client) stop() {
	_ = c.in.Close() // the driver may be gone
	timer := time.AfterFunc(exitWait, func() {
		c.t.Errorf("the TypeScript client did not end within %v", exitWait)
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	})
	<-c.done
	_ = c.cmd.Wait() // how the driver ends proves nothing
	timer.Stop()
	if c.t.Failed() && c.stderr.Len() > 0 {
		c.t.Logf("stderr of the TypeScript client and its server:\n%s", c.stderr)
	}
}

func (c *Client) read(out io.Reader) {
	defer close(c.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		c.receive(lines.Bytes())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.announce()
	for id, ch := range c.waiting {
		close(ch)
		delete(c.waiting, id)
	}
}

func (c *Client) receive(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		c.fault(fmt.Sprintf("the driver wrote %q", line))
		return
	}
	switch e.Event {
	case "ready":
		if err := json.Unmarshal(line, &c.Ready); err != nil {
			c.fault(err.Error())
		}
		close(c.ready)
	case "closed":
		close(c.gone)
	case "result", "progress", "notification":
		c.record(e, line)
	case "error":
		var fault struct{ Message string }
		_ = json.Unmarshal(line, &fault) // it was JSON above
		c.fault(fault.Message)
	}
}

func (c *Client) record(e event, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	defer c.announce()
	switch e.Event {
	case "result":
		e.seq = c.seq
		if ch := c.waiting[e.ID]; ch != nil {
			delete(c.waiting, e.ID)
			ch <- e
		}
	case "progress":
		var p mcptest.Progress
		if json.Unmarshal(line, &p) == nil {
			p.Seq = c.seq
			c.progress[e.ID] = append(c.progress[e.ID], p)
		}
	case "notification":
		var n Notification
		if json.Unmarshal(line, &n) == nil {
			c.notes = append(c.notes, n)
		}
	}
}

// announce wakes those who wait for an event; c.mu is held.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until a condition holds, which it tests with c.mu held after
// every event.
func (c *Client) await(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	for {
		c.mu.Lock()
		ok, ended, changed := holds(), c.ended, c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("e2e: the awaited event did not come: %w", ctx.Err())
		}
	}
}

// AwaitNotification waits for one that belongs to no call.
func (c *Client) AwaitNotification(ctx context.Context, match func(Notification) bool) error {
	return c.await(ctx, func() bool { return slices.ContainsFunc(c.notes, match) })
}

// AwaitProgress waits until the call has reported progress so many times.
func (r *Running) AwaitProgress(ctx context.Context, times int) error {
	return r.client.await(ctx, func() bool { return len(r.client.progress[r.id]) >= times })
}

func (c *Client) fault(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, message)
}

// Faults returns what the SDK complained of: lines that are no protocol, for
// example.
func (c *Client) Faults() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.faults...)
}

// Notifications returns those that belong to no call, in order of arrival.
func (c *Client) Notifications() []Notification {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Notification(nil), c.notes...)
}

// ServerGone is closed once the SDK noticed that the server has ended.
func (c *Client) ServerGone() <-chan struct{} { return c.gone }

// Running is a command whose result has not been waited for yet.
type Running struct {
	id     int
	client *Client
	ch     chan event
}

// command sends one command to the driver.
func (c *Client) command(op string, fields map[string]any) (*Running, error) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.last++
	r := &Running{id: c.last, client: c, ch: make(chan event, 1)}
	c.waiting[r.id] = r.ch
	c.mu.Unlock()
	line := map[string]any{"id": r.id, "op": op}
	for k, v := range fields {
		line[k] = v
	}
	encoded, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if _, err := c.in.Write(append(encoded, '\n')); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return r, nil
}

func (r *Running) wait(ctx context.Context) (event, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	select {
	case e, ok := <-r.ch:
		switch {
		case !ok:
			return event{}, ErrClosed
		case e.Error != nil:
			return e, e.Error
		}
		return e, nil
	case <-ctx.Done():
		return event{}, fmt.Errorf("e2e: no result: %w", ctx.Err())
	}
}

// Begin starts a tool call and returns at once. timeout is the SDK's own, which
// progress resets; 0 means a minute.
func (c *Client) Begin(tool string, args map[string]any, timeout time.Duration) (*Running, error) {
	fields := map[string]any{"tool": tool, "args": args}
	if timeout > 0 {
		fields["timeout_ms"] = timeout.Milliseconds()
	}
	return c.command("call", fields)
}

// Result waits for the result of a tool call. Seq numbers count the driver's
// events, not lines of the connection.
func (r *Running) Result(ctx context.Context) (mcptest.Result, error) {
	e, err := r.wait(ctx)
	if err != nil {
		return mcptest.Result{Seq: e.seq}, err
	}
	result, err := mcptest.ParseResult(e.Result)
	result.Seq = e.seq
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	result.Progress = append([]mcptest.Progress(nil), r.client.progress[r.id]...)
	return result, err
}

// Cancel aborts the call as SDK users do; its Result is then a CallError.
func (r *Running) Cancel(ctx context.Context) error {
	cancel, err := r.client.command("cancel", map[string]any{"target": r.id})
	if err != nil {
		return err
	}
	_, err = cancel.wait(ctx)
	return err
}

// Call calls a tool and waits for its result.
func (c *Client) Call(ctx context.Context, tool string, args map[string]any) (mcptest.Result, error) {
	r, err := c.Begin(tool, args, 0)
	if err != nil {
		return mcptest.Result{}, err
	}
	return r.Result(ctx)
}

// ListTools returns all tools.
func (c *Client) ListTools(ctx context.Context) ([]mcptest.Tool, error) {
	var list struct {
		Tools []mcptest.Tool `json:"tools"`
	}
	err := c.do(ctx, "listTools", nil, &list)
	return list.Tools, err
}

// Request sends any request and decodes its result.
func (c *Client) Request(ctx context.Context, method string, params map[string]any, result any) error {
	return c.do(ctx, "request", map[string]any{"method": method, "params": params}, result)
}

// Signal sends the server a signal by its name, SIGKILL for example.
func (c *Client) Signal(ctx context.Context, name string) error {
	return c.do(ctx, "kill", map[string]any{"signal": name}, nil)
}

func (c *Client) do(ctx context.Context, op string, fields map[string]any, result any) error {
	r, err := c.command(op, fields)
	if err != nil {
		return err
	}
	e, err := r.wait(ctx)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(e.Result, result)
}
