//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// lockFile waits for the exclusive lock on a file, which it makes if need be.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// listenPrivate listens on a socket with mode 0600 from its first moment.
func listenPrivate(path string) (net.Listener, error) {
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}

// detached are the attributes of a process that outlives this one, its
// terminal and its group.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownSocket refuses a socket of somebody else: whoever was first at a path in a
// folder for everybody would be told the prompts. One that is not there is
// nobody's yet.
func ownSocket(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the socket %s belongs to somebody else (user %d)", path, stat.Uid)
	}
	return nil
}
