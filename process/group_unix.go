//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup starts a process as leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownTerminal starts a process as leader of a session whose terminal is its
// stdin.
func ownTerminal() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

// signalGroup sends a signal to the group that pid leads.
func signalGroup(pid int, name string) { _ = syscall.Kill(-pid, unix.SignalNum(name)) }

func interruptGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) }
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup kills the group that pid leads, or led a moment ago.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// exitOf reads how a command ended.
func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return Exit{Code: state.ExitCode()}
	}
	return exitStatus(status)
}

func exitStatus(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}
