//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openPipes makes the three pipes of a command: ours non-blocking, so that Go
// waits for them without a thread and deadlines work, the command's blocking,
// since many programs cannot deal with anything else.
func (c *child) openPipes(run *launch) error {
	var ours [3]*os.File
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		r, w, err := pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(run.stdio[:])
			return err
		}
		mine, theirs := r, w
		if i == 0 {
			mine, theirs = w, r
		}
		if i == 1 {
			enlarge(r)
		}
		_ = unix.SetNonblock(mine, true)
		ours[i] = os.NewFile(uintptr(mine), name)
		run.stdio[i] = os.NewFile(uintptr(theirs), name)
	}
	c.stdin, c.stdout, c.stderr = ours[0], &output{f: ours[1]}, &output{f: ours[2]}
	return nil
}

// readNow reads what a pipe holds without waiting, past any deadline.
func readNow(f *os.File, p []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		for {
			n, err = unix.Read(int(fd), p)
			if err != syscall.EINTR {
				return
			}
		}
	})
	return max(n, 0)
}
