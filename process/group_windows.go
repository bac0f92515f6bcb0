package process

import (
	"errors"
	"os"
	"syscall"
)

// ownGroup keeps a Ctrl-C of the server's console from the command.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Windows has no signals: at INT and TERM the stop sequence only waits.
func ownTerminal() *syscall.SysProcAttr { return ownGroup() }
func signalGroup(int, string)           {}

// openTerminal is never called: Start refuses on Windows.
func (c *child) openTerminal(*launch) error { return errors.ErrUnsupported }

func (c *child) signalForeground(string) bool { return false }
func resize(*os.File, Size) error             { return errors.ErrUnsupported }

func interruptGroup(*os.Process) {}
func terminateGroup(*os.Process) {}

// killGroup does nothing: only the command itself is ended, by its handle.
func killGroup(int) {}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	return Exit{Code: state.ExitCode()}
}

func (c *child) openPipes(run *launch) error {
	var ours [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(run.stdio[:])
			return err
		}
		ours[i], run.stdio[i] = r, w
		if i == 0 {
			ours[i], run.stdio[i] = w, r
		}
	}
	c.stdin, c.stdout, c.stderr = ours[0], &output{f: ours[1]}, &output{f: ours[2]}
	return nil
}

// readNow is never called: these pipes have no deadlines.
func readNow(*os.File, []byte) int { return 0 }
