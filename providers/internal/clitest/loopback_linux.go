package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// loopbackVar is how the tests run: in a network of their own, or without one.
const loopbackVar = "HARNESS_MCP_TEST_LOOPBACK"

// EnterLoopback runs the test binary again in a network namespace with nothing
// but a loopback device, where the machine allows one: what a real CLI does there
// cannot leave the machine. Elsewhere the tests run plainly. TestMain calls it
// first.
func EnterLoopback() error {
	switch os.Getenv(loopbackVar) {
	case "":
		unshare, err := exec.LookPath("unshare")
		if err != nil || exec.Command(unshare, "-n", "true").Run() != nil {
			return os.Setenv(loopbackVar, "no")
		}
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the test binary: %w", err)
		}
		if err := os.Setenv(loopbackVar, "yes"); err != nil {
			return err
		}
		argv := append([]string{unshare, "-n", self}, os.Args[1:]...)
		return syscall.Exec(unshare, argv, os.Environ())
	case "yes":
		return loopbackUp()
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loopback socket: %w", err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}
