package main

import (
	"net"
	"syscall"
)

// lockFile does nothing: Windows refuses to remove the socket of a living
// server.
func lockFile(string) (unlock func(), err error) { return func() {}, nil }

// listenPrivate listens on a socket; the folder says who may open it.
func listenPrivate(path string) (net.Listener, error) { return net.Listen("unix", path) }

// detached are the attributes of a process that outlives this one and its
// console.
func detached() *syscall.SysProcAttr {
	const detachedProcess = 0x00000008
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}

// ownSocket trusts the folder.
func ownSocket(string) error { return nil }
