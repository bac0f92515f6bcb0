//go:build unix

package process

import (
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal for a command in place of pipes. Our end is
// opened twice, for writing and for reading, so that each side can be closed
// for itself; the command's end is all of its stdio.
func (c *child) openTerminal(run *launch) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	// The library's file blocks a thread in each read.
	defer master.Close()
	var ours [3]*os.File
	for i := range ours {
		if ours[i], err = nonBlocking(master); err != nil {
			break
		}
	}
	if err == nil {
		err = resize(ours[0], *run.size)
	}
	r, w, perr := pipe() // its stderr, which nobody writes to
	if err == nil {
		err = perr
	}
	if err != nil {
		closeAll(append(ours[:], slave))
		return err
	}
	unix.Close(w)
	_ = unix.SetNonblock(r, true)
	c.stdin, c.terminal = ours[0], ours[2]
	c.stdout, c.stderr = &output{f: ours[1]}, &output{f: os.NewFile(uintptr(r), "stderr")}
	run.stdio = [3]*os.File{slave, slave, slave}
	return nil
}

// nonBlocking opens a file's description once more, for Go to wait on without
// a thread.
func nonBlocking(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// resize sets the size of a terminal, of which the group in its foreground is
// told.
func resize(terminal *os.File, s Size) error {
	raw, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	size := &unix.Winsize{Col: uint16(s.Cols), Row: uint16(s.Rows)}
	if cerr := raw.Control(func(fd uintptr) { err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) }); cerr != nil {
		return cerr
	}
	return err
}

// signalForeground sends a signal to the group in the foreground of the
// command's terminal, as a key there would, and reports whether there is one.
func (c *child) signalForeground(name string) bool {
	if c.terminal == nil {
		return false
	}
	raw, err := c.terminal.SyscallConn()
	if err != nil {
		return false
	}
	group := 0
	_ = raw.Control(func(fd uintptr) { group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	if err != nil || group <= 1 {
		return false
	}
	return unix.Kill(-group, unix.SignalNum(name)) == nil
}
