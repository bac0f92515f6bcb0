package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/harness-mcp/harness-mcp/process"
)

// Start starts an agent. name is the agent's in sentences, hint the next step
// when it cannot be started at all.
//
// secrets are what the agent knows besides its environment and what must not be logged.
//
// Errors: CodeProviderNotReady, or the runner's error of something that is not the
// agent's fault, such as a wrong directory.
func Start(ctx context.Context, r process.Runner, spec process.Spec, name, hint string, secrets ...string) (process.Child, error) {
	child, err := r.Start(ctx, spec)
	switch core.CodeOf(err) {
	case core.CodeNotFound, core.CodeInternal:
		return nil, core.Errorf(core.CodeProviderNotReady, "%s could not be started: %w", name, err).WithHint("%s", hint)
	}
	if err != nil {
		return nil, err
	}
	return started{child, append(redact.SecretsOf(spec.Env), secrets...)}, nil
}

// started is a child whose secrets are known.
type started struct {
	process.Child
	secrets []string
}

// Secrets returns the secrets of what a session configures: its MCP servers, and
// the options of its provider.
func Secrets(cfg core.SessionConfig) (secrets []string) {
	for _, raw := range cfg.MCPServers {
		secrets = append(secrets, redact.SecretsIn(raw)...)
	}
	for _, raw := range cfg.ProviderOptions {
		secrets = append(secrets, redact.SecretsIn(raw)...)
	}
	return secrets
}

// Abandon ends a Conn that did not open, by force: there is nothing to save yet.
func Abandon(c core.Conn) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Close(gone)
}

// Child is the process behind a Conn. It keeps the end of what the process writes
// to stderr, explains the end of its output, and ends it once. Any goroutine may
// use it.
type Child struct {
	process.Child
	name string
	log  *slog.Logger

	readers  sync.WaitGroup
	once     sync.Once
	closing  chan struct{} // closed when Close began
	finished chan struct{} // closed when nothing is left
	stopErr  error         // of stop; valid after finished
	stderr   chan struct{} // closed when stderr has been read to its end

	mu   sync.Mutex
	tail []byte // the end of stderr
}

// NewChild returns the Child of a process that was just started, and begins to
// read its stderr. name is the agent's in sentences. Close has to be called.
func NewChild(child process.Child, name string, log *slog.Logger) *Child {
	c := &Child{Child: child, name: name, log: log, closing: make(chan struct{}), finished: make(chan struct{}), stderr: make(chan struct{})}
	var secrets []string
	if s, ok := child.(started); ok {
		secrets = s.secrets
	}
	c.Go(func() {
		defer close(c.stderr)
		c.readStderr(secrets)
	})
	return c
}

// Go runs a reader of the process's output, which ends with it; Wait waits for
// all of them. When it panics, the process is killed.
func (c *Child) Go(read func()) {
	c.readers.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				core.Panicked(c.log, "the reading of "+c.name+"'s output", v)
				_ = c.Kill()
			}
		}()
		read()
	})
}

// Wait waits for the readers.
func (c *Child) Wait() { c.readers.Wait() }

// Closing is closed when Close has begun.
func (c *Child) Closing() <-chan struct{} { return c.closing }

// Drain reads the rest of stdout and drops it, so that the agent can end
// normally.
func (c *Child) Drain() { _, _ = io.Copy(io.Discard, c.Stdout()) }

// readStderr keeps the end of stderr. It may quote the environment, so it goes
// to the log only, and without its secrets. Those are taken out of the stream
// and not of its end, which may begin in the middle of one.
func (c *Child) readStderr(secrets []string) {
	var filter *redact.TextFilter // nil when nobody reads it
	if c.log.Enabled(context.Background(), slog.LevelDebug) {
		filter = redact.New(secrets).TextFilter()
	}
	var logged []byte
	buf := make([]byte, stderrRead)
	for {
		n, err := c.Child.Stderr().Read(buf)
		c.mu.Lock()
		c.tail = keepEnd(append(c.tail, buf[:n]...))
		c.mu.Unlock()
		if filter != nil {
			logged = keepEnd(append(logged, filter.Write(buf[:n])...))
		}
		if err == nil {
			continue
		}
		if filter != nil {
			c.log.Debug("the agent ended", "stderr", string(keepEnd(append(logged, filter.Flush()...))))
		}
		return
	}
}

// keepEnd cuts what is kept of stderr to its last maxStderr bytes.
func keepEnd(tail []byte) []byte {
	if over := len(tail) - maxStderr; over > 0 {
		return append([]byte(nil), tail[over:]...)
	}
	return tail
}

// StderrEnd returns the end of what the process has written to stderr so far. It
// may quote the environment: it is to be searched, not shown.
func (c *Child) StderrEnd() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.tail)
}

// firstLineWith returns the first line of stderr that has one of the phrases.
func (c *Child) firstLineWith(phrases []string) string {
	for l := range strings.Lines(c.StderrEnd()) {
		for _, p := range phrases {
			if strings.Contains(l, p) {
				return ": " + strings.TrimSpace(l)
			}
		}
	}
	return ""
}

// HasEnded reports whether the process has ended.
func (c *Child) HasEnded() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// Ended returns how the process ended; it is valid after Done.
func (c *Child) Ended() error { return fmt.Errorf("it ended: %s", ExitText(c.Exit())) }

// Lost explains an error of stdout: by the exit status, and by the line of
// stderr that has one of the phrases that may be repeated to callers. It waits a
// moment for the process to end, and returns nil when Close has begun.
//
// Errors: CodeSessionUnavailable.
func (c *Child) Lost(err error, phrases ...string) error {
	wait := time.NewTimer(exitWait)
	defer wait.Stop()
	select {
	case <-c.closing:
	case <-c.Done():
		select { // the last line may still be under way
		case <-c.stderr:
		case <-c.closing:
		case <-wait.C:
		}
		err = fmt.Errorf("%w%s", c.Ended(), c.firstLineWith(phrases))
	case <-wait.C:
		if errors.Is(err, io.EOF) {
			err = errors.New("it closed its output")
		}
	}
	select { // it may have ended because we are closing
	case <-c.closing:
		return nil
	default:
		return core.Errorf(core.CodeSessionUnavailable, "the connection to %s was lost: %w", c.name, err)
	}
}

// ExitText returns how a process ended.
func ExitText(e process.Exit) string {
	switch {
	case e.Signal != "":
		return "signal " + e.Signal
	case e.Err != nil:
		return e.Err.Error()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Close runs stop, once however often it is called, and waits for it. stop ends
// the process and everything around it: it calls Stop, then Wait. When ctx ends
// first the process is killed, which lets stop return.
//
// Errors: CodeInternal, with that of stop.
func (c *Child) Close(ctx context.Context, stop func(context.Context) error) error {
	c.once.Do(func() {
		close(c.closing)
		go func() {
			defer close(c.finished)
			defer func() {
				if v := recover(); v != nil {
					c.stopErr = core.Panicked(c.log, "the end of "+c.name, v)
					_ = c.Kill()
				}
			}()
			c.stopErr = stop(ctx)
		}()
	})
	select {
	case <-c.finished:
	case <-ctx.Done():
		_ = c.Kill() // may run beside Stop, which then returns
		<-c.finished
	}
	if c.stopErr != nil {
		return core.Errorf(core.CodeInternal, "%s could not be stopped: %w", c.name, c.stopErr)
	}
	return nil
}
