//go:build unix && !linux

package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func pipe() (r, w int, err error) {
	syscall.ForkLock.RLock() // no fork between pipe and close-on-exec
	defer syscall.ForkLock.RUnlock()
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return 0, 0, err
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return p[0], p[1], nil
}

// enlarge does nothing: pipes here grow by themselves.
func enlarge(int) {}
