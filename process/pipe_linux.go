package process

import "golang.org/x/sys/unix"

func pipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// enlarge sets the capacity of a pipe to PipeSize. The kernel refuses when the
// user has too much already, and then the pipe stays as it is.
func enlarge(fd int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, PipeSize) }
