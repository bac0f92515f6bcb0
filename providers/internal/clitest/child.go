package clitest

import (
	"context"
	"io"
	"sync"

	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/ndjson"
)

// Child is a CLI in memory, and the process.Runner that starts it. It ends when
// it is stopped, as a well-behaved one does.
type Child struct {
	Spec   process.Spec   // with which it was started
	In     *ndjson.Reader // what is written to it
	Out    *io.PipeWriter // its stdout; a write waits until it is read
	ErrOut *io.PipeWriter // its stderr, likewise

	// IgnoresStop makes Stop wait until the child is killed. It is set before it is
	// started.
	IgnoresStop bool

	stdin          *io.PipeWriter
	stdout, stderr *io.PipeReader
	once           sync.Once
	done           chan struct{}
	exit           process.Exit

	mu    sync.Mutex
	stops int
}

// NewChild returns a child that nobody has started.
func NewChild() *Child {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	return &Child{In: ndjson.NewReader(inR, 0), stdin: inW, stdout: outR, Out: outW, stderr: errR, ErrOut: errW, done: make(chan struct{})}
}

// Start starts it.
func (c *Child) Start(_ context.Context, spec process.Spec) (process.Child, error) {
	c.Spec = spec
	return c, nil
}

// PID is no process's.
func (c *Child) PID() int { return 4242 }

// Stdin is the other end of In.
func (c *Child) Stdin() io.WriteCloser { return c.stdin }

// Stdout is the other end of Out.
func (c *Child) Stdout() io.Reader { return c.stdout }

// Stderr is the other end of ErrOut.
func (c *Child) Stderr() io.Reader { return c.stderr }

// Done is closed by End.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is what End was given.
func (c *Child) Exit() process.Exit { return c.exit }

// Stop ends it, unless IgnoresStop is set.
func (c *Child) Stop(context.Context) error {
	c.mu.Lock()
	c.stops++
	c.mu.Unlock()
	if !c.IgnoresStop {
		c.End(process.Exit{})
	}
	<-c.done
	return nil
}

// Kill ends it.
func (c *Child) Kill() error {
	c.mu.Lock()
	c.stops++
	c.mu.Unlock()
	c.End(process.Exit{Code: -1, Signal: "SIGKILL"})
	return nil
}

// Stops counts the calls of Stop and Kill.
func (c *Child) Stops() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stops
}

// End ends the process: its pipes break. The first end stays.
func (c *Child) End(exit process.Exit) {
	c.once.Do(func() {
		c.exit = exit
		_ = c.Out.Close()
		_ = c.ErrOut.Close()
		_ = c.stdin.Close()
		close(c.done)
	})
}
