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

// tree is the power over a running command and all below it. The methods do
// not wait, and do nothing once the tree is gone.
type tree interface {
	interrupt()
	terminate()
	// signal is for the command's process group.
	signal(name string)
	// kill ends every process and goes on until none is left.
	kill()
	// abandon is for a tree that kill did not end in time: end it by other
	// means.
	abandon()
}

// child is a command of a Local. Its tree tells it, in this order and once
// each, that the command ended (exited) and that nothing is left (emptied).
type child struct {
	local     *Local
	tree      tree
	own       segment
	path      string
	pid       int
	startTime uint64
	root      atomic.Int64 // the topmost process of the tree: guard or command
	recorded  chan struct{}

	stdin          *os.File
	stdout, stderr *output
	noEOF          bool     // Stop leaves the end of input out
	terminal       *os.File // our end of the command's terminal, nil for pipes

	exit       Exit
	leftover   int
	left       int           // what could not be ended
	done       chan struct{} // the command has ended
	gone       chan struct{} // nothing of the tree is left
	rowDeleted chan struct{} // and its row was seen to

	stopOnce    sync.Once
	killNowOnce sync.Once
	killOnce    sync.Once
	killNow     chan struct{} // no more politeness
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

// Exit says how the command ended; before Done it is the zero value.
func (c *child) Exit() Exit {
	select {
	case <-c.done:
		return c.exit
	default:
		return Exit{}
	}
}

// Gone is closed when nothing of the tree is left. It comes after Done, and
// later than Done when the command left processes behind.
func (c *child) Gone() <-chan struct{} { return c.gone }

// Leftover says how many processes the command had left behind when it ended;
// 0 before Done.
func (c *child) Leftover() int {
	select {
	case <-c.done:
		return c.leftover
	default:
		return 0
	}
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

// setExited is told by the tree: the command has ended and was reaped.
func (c *child) setExited(e Exit, leftover int) {
	c.exit, c.leftover = e, leftover
	close(c.done)
}

// setGone is told by the tree: nothing is left, but for a number of processes
// that cannot be ended. Their row stays.
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

// Stop ends the tree by the ladder: end of input, EOFWait (both not with
// Spec.NoEOF), INT, StopWait, TERM, StopWait, KILL. When the command itself ends on the way, what it left
// behind gets TERM, LeftoverWait, KILL. The ladder runs once: a second Stop
// joins it. The first ctx to end among those who wait turns to KILL at once.
// Stop returns when nothing is left; the error, CodeInternal, says that
// something could not be ended within KillWait.
func (c *child) Stop(ctx context.Context) error {
	c.beginStop()
	select {
	case <-c.gone:
	case <-ctx.Done():
	case <-c.killNow:
	}
	return c.Kill()
}

// Kill ends the tree at once, also in the middle of a Stop, and returns when
// nothing is left and the row is deleted, so that the store may be closed then.
// A store that stalls delays the return by RowWait, never the kill. The error
// is that of Stop.
func (c *child) Kill() error {
	c.beginKill()
	if c.goneWithin(KillWait) && c.left == 0 {
		<-c.rowDeleted // within RowWait
		return nil
	}
	return core.Errorf(core.CodeInternal, "process %d or a descendant of it could not be ended", c.pid).
		WithHint("It sleeps in the kernel or belongs to another user. Look at it with ps.").
		WithDetail("pid", c.pid)
}

// beginKill ends the tree at once and does not wait for that.
func (c *child) beginKill() {
	c.killNowOnce.Do(func() { close(c.killNow) })
	c.killOnce.Do(func() { go c.killTree() })
}

// beginStop begins the ladder, unless it has begun, and does not wait.
func (c *child) beginStop() { c.stopOnce.Do(func() { go c.stopSequence() }) }

// killTree kills the tree and sees to it that readers of its output end too. It
// lives for at most GuardKillWait and DrainWait beyond KillWait.
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

// stopSequence is the polite part of Stop. It ends when the tree is gone, when
// somebody is in a hurry, or at its last rung, where it kills.
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
	if c.ended() { // and yet not gone: what it left behind
		c.tree.terminate()
		if !c.awaitTree(c.local.opt.LeftoverWait) {
			return
		}
	}
	_ = c.Kill()
}

// awaitCommand waits for the command to end, at most d. It says whether there is more
// to do.
func (c *child) awaitCommand(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.killNow:
		return false
	case <-c.done:
	case <-timer.C:
		return true
	}
	// Most commands leave nothing, and the news of that follows at once.
	return c.awaitTree(emptyReportWait)
}

// awaitTree waits for the tree to be gone, at most d. It says whether there is more
// to do.
func (c *child) awaitTree(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.killNow:
		return false
	case <-c.gone:
		return false
	case <-timer.C:
		return true
	}
}

// goneWithin waits for the tree to be gone, at most d, and says whether it is.
func (c *child) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
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
