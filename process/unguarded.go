package process

import (
	"context"
	"errors"
	"os/exec"
)

// startUnguarded executes a command without a guard: a process group of its own,
// which is killed when the command ends.
func startUnguarded(_ context.Context, c *child, run *launch) error {
	cmd := &exec.Cmd{
		Path: run.path, Args: run.args, Dir: run.dir, Env: run.env,
		Stdin: run.stdio[0], Stdout: run.stdio[1], Stderr: run.stdio[2],
		SysProcAttr: ownGroup(),
	}
	if run.size != nil {
		cmd.SysProcAttr = ownTerminal()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.pid = cmd.Process.Pid
	c.root.Store(int64(c.pid))
	c.startTime = startTimeOf(c.pid)
	c.tree = &unguarded{child: c, cmd: cmd}
	go c.tree.(*unguarded).watch()
	return nil
}

// unguarded is the tree of a command without a guard.
type unguarded struct {
	child *child
	cmd   *exec.Cmd
}

// watch owns the waiting. It lives as long as the command, and as the ending
// of what it left behind, which is bounded by KillWait.
func (p *unguarded) watch() {
	err := p.cmd.Wait()
	exit := exitOf(p.cmd.ProcessState)
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		exit.Err = err
	}
	killGroup(p.child.pid)
	p.child.setExited(exit, 0)
	p.child.setGone(killMarked(p.child))
}

func (p *unguarded) running() bool { return !p.child.ended() }

func (p *unguarded) interrupt() {
	if p.running() {
		interruptGroup(p.cmd.Process)
	}
}

func (p *unguarded) terminate() {
	if p.running() {
		terminateGroup(p.cmd.Process)
	}
}

func (p *unguarded) kill() {
	if p.running() {
		killGroup(p.child.pid)
		_ = p.cmd.Process.Kill() // the one that cannot hit another process
	}
}

func (p *unguarded) signal(name string) {
	if p.running() {
		signalGroup(p.child.pid, name)
	}
}

func (p *unguarded) abandon() {}
