package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errNoAnswer means that a guard ended before it had executed its command.
var errNoAnswer = errors.New("its guard ended early")

// errGuardLost means that a guard ended without saying how its command did.
var errGuardLost = errors.New("its guard was killed")

// guarded is the tree of a command under a guard, as the server handles it.
type guarded struct {
	child   *child
	cmd     *exec.Cmd // the guard
	control *os.File

	mu sync.Mutex // one command to the guard at a time
}

// startGuarded starts a guard, sends it the order and waits for its first report.
// It owns the guard until watch takes over. Errors: syscall.E2BIG, the errno of
// the failed execution, errNoAnswer, or that of ctx.
func startGuarded(ctx context.Context, c *child, run *launch) error {
	frame, err := order{path: run.path, dir: run.dir, args: run.args, env: run.env, terminal: run.size != nil}.encode()
	if err != nil {
		return syscall.E2BIG
	}
	g, err := newGuard(c, run)
	if err != nil {
		return fmt.Errorf("no guard: %w", err)
	}
	c.root.Store(int64(g.cmd.Process.Pid))
	release := context.AfterFunc(ctx, func() { _ = g.control.SetDeadline(time.Unix(1, 0)) })
	started, err := g.sendOrder(frame)
	if !release() && err == nil {
		err = ctx.Err() // the deadline may be set any time now
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		g.control.Close() // a guard that runs already ends its tree
		g.discard()
		if errors.Is(err, errNoAnswer) {
			err = fmt.Errorf("%w (%v)", err, g.cmd.ProcessState)
		}
		return err
	}
	c.pid, c.startTime, c.tree = int(started.a), started.b, g
	go g.watch()
	return nil
}

// newGuard executes this program again, with the command's pipes and a socket.
func newGuard(c *child, run *launch) (*guarded, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "guard")
	defer theirs.Close()
	_ = unix.SetNonblock(pair[0], true)
	control := os.NewFile(uintptr(pair[0]), "control")
	cmd := &exec.Cmd{
		Path:       "/proc/self/exe", // correct even when the file was replaced
		Args:       guardArgs,
		Dir:        "/",
		Env:        []string{MarkerVar + "=" + run.marker, "GOMAXPROCS=1", "GOTRACEBACK=none"},
		ExtraFiles: []*os.File{theirs, run.stdio[0], run.stdio[1], run.stdio[2]},
		// A session of its own: no signal of a terminal reaches guard or command,
		// and no command can wait for input from the server's terminal.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		control.Close()
		return nil, err
	}
	return &guarded{child: c, cmd: cmd, control: control}, nil
}

// sendOrder writes the order and returns the guard's first report. The error is the
// errno of a failed execution, or wraps errNoAnswer.
func (g *guarded) sendOrder(frame []byte) (report, error) {
	if _, err := g.control.Write(frame); err != nil {
		return report{}, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	r, err := readReport(g.control)
	switch {
	case err != nil:
		return report{}, fmt.Errorf("%w: %w", errNoAnswer, err)
	case r.kind == repFailed:
		return report{}, syscall.Errno(r.a)
	case r.kind != repStarted:
		return report{}, fmt.Errorf("its guard reported %q first", r.kind)
	}
	return r, nil
}

// discard waits for a guard whose start failed. Its socket is closed, so it kills
// its tree and exits; after GuardKillWait it is killed, and the tree by marker.
func (g *guarded) discard() {
	late := time.AfterFunc(GuardKillWait, func() { _ = g.cmd.Process.Kill() })
	_ = g.cmd.Wait()
	if !late.Stop() {
		_ = killMarked(g.child)
	}
}

// watch is the goroutine of a guard: it reads the reports, waits for the guard and
// completes the child. It ends when the tree is gone, or within KillWait of the
// end of a guard that was killed. Order: setExited, then setGone, each once.
func (g *guarded) watch() {
	ended, empty := false, false
	for !empty {
		r, err := readReport(g.control)
		if err != nil {
			break
		}
		switch r.kind {
		case repExited:
			ended = true
			g.child.setExited(exitStatus(syscall.WaitStatus(r.a)), int(r.b))
		case repEmpty:
			empty = true
		}
	}
	_ = g.cmd.Wait()
	g.control.Close()
	left := 0
	if !empty { // the guard was killed: the command died with it, others may live
		_ = proc{pid: g.child.pid, start: g.child.startTime}.signal(syscall.SIGKILL)
		left = killMarked(g.child)
	}
	if !ended {
		g.child.setExited(Exit{Code: -1, Err: errGuardLost}, 0)
	}
	g.child.setGone(left)
}

func (g *guarded) interrupt() { g.send(cmdInterrupt) }
func (g *guarded) terminate() { g.send(cmdTerminate) }
func (g *guarded) kill()      { g.send(cmdKill) }

func (g *guarded) signal(name string) {
	for command, sig := range groupSignals {
		if unix.SignalName(sig) == name {
			g.send(command)
		}
	}
}

// abandon kills the guard. The command dies with it (parent death signal), and
// watch kills the rest by marker.
func (g *guarded) abandon() { _ = g.cmd.Process.Kill() }

// send writes a command to the guard. The write fails when the guard has ended,
// and then there is nothing left to command.
func (g *guarded) send(command byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.control.SetWriteDeadline(time.Now().Add(GuardWriteWait))
	_, _ = g.control.Write([]byte{command})
}
