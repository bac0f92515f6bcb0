package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// tree controls a running command and all its descendants. The methods do not wait,
// do nothing once the tree is gone, and may be called concurrently.
type tree interface {
	interrupt()
	terminate()
	// signal is for the command's process group.
	signal(name string)
	// kill ends every process and goes on until none is left.
	kill()
	// abandon ends a tree by other means, where kill did not in time.
	abandon()
}

// child is a command of a Local. Its tree calls, in this order and once each,
// setExited when the command has ended and setGone when nothing is left.
type child struct {
	local     *Local
	tree      tree
	own       segment
	path      string
	pid       int
	startTime uint64
	root      atomic.Int64 // pid of the root of the tree: guard or command
	recorded  chan struct{}

	stdin          *os.File
	stdout, stderr *output
	noEOF          bool     // Stop leaves the end of input out
	terminal       *os.File // the master side of the command's terminal, nil for pipes

	exit       Exit
	leftover   int
	left       int           // processes that could not be ended
	done       chan struct{} // the command has ended
	gone       chan struct{} // nothing of the tree is left
	rowDeleted chan struct{} // and its row is deleted, or that has failed

	stopOnce    sync.Once
	killNowOnce sync.Once
	killOnce    sync.Once
	killNow     chan struct{} // closed by Kill: the stop sequence ends
}

var _ Child = (*child)(nil)

func newChild(l *Local, run *launch) *child {
	return &child{
		local:      l,
		own:        run.own,
		noEOF:      run.noEOF,
		path:       run.path,
		recorded:   make(chan struct{}),
		done:       make(chan struct{}),
		gone:       make(chan struct{}),
		rowDeleted: make(chan struct{}),
		killNow:    make(chan struct{}),
	}
}

// PID is the command's process id; its guard is another process.
func (c *child) PID() int { return c.pid }

func (c *child) Stdin() io.WriteCloser { return c.stdin }
func (c *child) Stdout() io.Reader     { return c.stdout }
func (c *child) Stderr() io.Reader     { return c.stderr }
func (c *child) Done() <-chan struct{} { return c.done }

// Exit returns how the command ended; before Done it is the zero value.
func (c *child) Exit() Exit {
	if !c.ended() {
		return Exit{}
	}
	return c.exit
}

// Gone is closed when nothing of the tree is left. It comes after Done, and
// later than Done when the command left processes behind.
func (c *child) Gone() <-chan struct{} { return c.gone }

// Leftover returns how many processes the command had left behind when it ended;
// 0 before Done.
func (c *child) Leftover() int {
	if !c.ended() {
		return 0
	}
	return c.leftover
}

// Signal sends one of core.ProcessSignals to the command's group, or, on a
// terminal, to the group in its foreground. It does nothing once the command
// has ended.
func (c *child) Signal(name string) {
	if c.ended() || c.signalForeground(name) {
		return
	}
	c.tree.signal(name)
}

// Resize changes the size of the command's terminal; with pipes it does
// nothing.
func (c *child) Resize(s Size) error {
	if c.terminal == nil {
		return nil
	}
	return resize(c.terminal, s)
}

// setExited is called by the tree when the command has ended and was reaped.
func (c *child) setExited(e Exit, leftover int) {
	c.exit, c.leftover = e, leftover
	close(c.done)
}

// setGone is called by the tree when nothing is left, except left processes that
// cannot be ended; their row stays.
func (c *child) setGone(left int) {
	c.left = left
	c.local.removeLive(c)
	c.stdin.Close()
	if c.terminal != nil {
		c.terminal.Close()
	}
	close(c.gone)
	if left == 0 {
		c.local.deleteRow(c)
	}
	close(c.rowDeleted)
}

// Stop ends the tree by the stop sequence: end of input, EOFWait (both not with
// Spec.NoEOF), INT, StopWait, TERM, StopWait, KILL. When the command itself ends
// before KILL, its leftover processes get TERM, LeftoverWait, KILL. The sequence runs
// once: a second Stop joins it. When ctx of any caller ends, the tree is killed.
// Stop returns when nothing is left; the error, CodeInternal, means that something
// could not be ended within KillWait.
func (c *child) Stop(ctx context.Context) error {
	c.beginStop()
	select {
	case <-c.gone:
	case <-ctx.Done():
	case <-c.killNow:
	}
	return c.Kill()
}

// Kill kills the tree at once, also during a Stop. It returns when nothing is left
// and the row is deleted, so that the store may be closed. A store that stalls delays
// the return by RowWait, but not the kill. The error is that of Stop.
func (c *child) Kill() error {
	c.beginKill()
	if c.goneWithin(KillWait) && c.left == 0 {
		<-c.rowDeleted // within RowWait
		return nil
	}
	return core.Errorf(core.CodeInternal, "process %d or a descendant of it could not be ended", c.pid).
		WithHint("It waits in the kernel or belongs to another user. Look at it with ps.").
		WithDetail("pid", c.pid)
}

// beginKill begins to kill the tree and does not wait.
func (c *child) beginKill() {
	c.killNowOnce.Do(func() { close(c.killNow) })
	c.killOnce.Do(func() { go c.killTree() })
}

// beginStop starts the stop sequence, unless it runs already, and does not wait.
func (c *child) beginStop() { c.stopOnce.Do(func() { go c.stopSequence() }) }

// killTree is the goroutine of a kill. It kills the tree and then bounds the reads
// of its output. It ends within GuardKillWait and KillWait.
func (c *child) killTree() {
	select {
	case <-c.gone:
	default:
		c.tree.kill()
	}
	if !c.goneWithin(GuardKillWait) {
		c.tree.abandon()
	}
	if c.goneWithin(KillWait) {
		c.stdout.finish()
		c.stderr.finish()
	}
}

// stopSequence is the goroutine of Stop, in the order described there. It ends when
// the tree is gone, when killNow is closed, or after it has called Kill.
func (c *child) stopSequence() {
	if !c.noEOF {
		c.stdin.Close()
		if !c.awaitCommand(c.local.opt.EOFWait) {
			return
		}
	}
	if !c.ended() {
		c.tree.interrupt()
		if !c.awaitCommand(c.local.opt.StopWait) {
			return
		}
	}
	if !c.ended() {
		c.tree.terminate()
		if !c.awaitCommand(c.local.opt.StopWait) {
			return
		}
	}
	if c.ended() { // but the tree is not gone: leftover processes
		c.tree.terminate()
		if !c.awaitTree(c.local.opt.LeftoverWait) {
			return
		}
	}
	_ = c.Kill()
}

// awaitCommand waits for the command to end, at most d. It reports whether there
// is more to end. Most commands leave nothing, and the report of that follows
// within emptyReportWait.
func (c *child) awaitCommand(d time.Duration) bool {
	return expires(d, c.done, c.killNow) || c.awaitTree(emptyReportWait)
}

// awaitTree waits for the tree to be gone or for killNow, at most d. It reports
// whether d has passed.
func (c *child) awaitTree(d time.Duration) bool { return expires(d, c.gone, c.killNow) }

// goneWithin waits for the tree to be gone, at most d, and reports whether it is.
func (c *child) goneWithin(d time.Duration) bool { return !expires(d, c.gone, nil) }

// expires waits until a or b is closed, at most d. It reports whether d has
// passed.
func expires(d time.Duration, a, b <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a:
		return false
	case <-b:
		return false
	case <-timer.C:
		return true
	}
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// String names the child in logs.
func (c *child) String() string { return fmt.Sprintf("%s (pid %d)", c.path, c.pid) }
