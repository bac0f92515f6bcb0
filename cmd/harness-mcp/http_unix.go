//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// lockFile waits for the exclusive lock on a file, which it creates if needed.
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

// listenPrivate listens on a socket that is created with mode 0600.
func listenPrivate(path string) (net.Listener, error) {
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}

// detached returns the attributes of a process that outlives this one, its terminal and
// its group.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// ownSocket returns an error for a socket of another user: in a shared folder another
// user could create the socket first and receive the prompts. A missing socket is no
// error.
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
