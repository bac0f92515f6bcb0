//go:build linux

package main_test

import (
	endian "encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// The disk of a server under test fails or dawdles in this process: a filter
// of system calls, which any user may put on programs of his own, hands those
// that write or sync to the test, and the test says what becomes of them.

// faultEnv makes this test program put the filter on itself, hand it over on
// faultFile and become the program that its arguments name.
const (
	faultEnv  = "HARNESS_MCP_TEST_TRAP"
	faultFile = 3
)

// fault is what a disk does instead of its work.
type fault struct {
	calls []uintptr
	file  string        // of which file: "-wal", "db", or "" for all of the journal
	err   syscall.Errno // 0: it does its work
	delay time.Duration // before that
	first int           // the first call that is met, from 1; 0 for all
	step  int           // and each so many behind it
}

var (
	writes     = []uintptr{unix.SYS_PWRITE64}
	syncs      = []uintptr{unix.SYS_FSYNC, unix.SYS_FDATASYNC}
	cuts       = []uintptr{unix.SYS_FTRUNCATE}
	faultCalls = slices.Concat(writes, syncs, cuts)
)

func init() {
	if os.Getenv(faultEnv) == "" {
		return
	}
	err := installFaultFilter()
	_ = unix.Send(faultFile, []byte(err.Error()), 0) // or the end says it
	os.Exit(1)
}

// installFaultFilter is what the test program does where faultEnv is set. It returns only
// if it fails.
func installFaultFilter() error {
	runtime.LockOSThread()                                                             // the filter is the thread's, and the new program's
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the call's number
	for i, nr := range faultCalls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jt: uint8(len(faultCalls) - i)})
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	install := func(flags uintptr) (uintptr, syscall.Errno) {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|flags, uintptr(unsafe.Pointer(&prog)))
		return fd, errno
	}
	// A call that is begun is not begun again for a signal, where Linux can.
	fd, errno := install(unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == unix.EINVAL {
		fd, errno = install(0)
	}
	if errno != 0 {
		return fmt.Errorf("no filter of system calls: %w", errno)
	}
	if err := unix.Sendmsg(faultFile, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(faultFile)
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, faultEnv+"=") })
	return syscall.Exec(os.Args[1], os.Args[1:], env)
}

// faultFilter is where the calls of one server arrive.
type faultFilter struct {
	db string
	fd int

	mu        sync.Mutex
	fault     *fault
	inspected int // calls that the fault is for
	met       int // and those of them that it has hit
}

// startWithFaults starts a server whose disk may be made to fail.
func startWithFaults(t *testing.T, db string, argv ...string) (*killedServer, *faultFilter) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := pair[0], os.NewFile(uintptr(pair[1]), "trap")
	defer unix.Close(ours)
	tr, stop := &faultFilter{db: db}, make(chan struct{})
	var running sync.WaitGroup
	t.Cleanup(func() { close(stop); running.Wait(); _ = unix.Close(tr.fd) }) // when the server has ended
	v := &killedServer{cmd: serveCommand(t, db, argv...)}
	v.cmd.Path, v.cmd.Args = self, append([]string{self}, v.cmd.Args...)
	v.cmd.Env = append(v.cmd.Env, faultEnv+"=1")
	v.cmd.ExtraFiles = []*os.File{theirs} // which is trapFile there
	v.Client = mcptest.Start(t, v.cmd)
	_ = theirs.Close() // it is the server's
	if tr.fd, err = receiveFile(ours); err != nil {
		t.Skipf("this system hands no system calls to another program: %v", err)
	}
	running.Go(func() { tr.run(stop) })
	v.Forgetful = true
	v.Initialize(t.Context())
	return v, tr
}

// receiveFile takes a file from a socket, or fails when the other end is gone.
func receiveFile(socket int) (fd int, err error) {
	text, room := make([]byte, 1024), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(socket, text, room, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(room[:oobn])
	if err != nil || len(messages) == 0 {
		return -1, errors.Join(fmt.Errorf("no file came but %q", text[:n]), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}

// call and answer are the kernel's seccomp_notif and seccomp_notif_resp.
type call struct {
	id         uint64
	tid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// faultTick is how often a fault filter checks whether it is to end.
const faultTick = 50 * time.Millisecond

// run answers calls until it is to stop; calls that come later fail.
func (tr *faultFilter) run(stop <-chan struct{}) {
	var answering sync.WaitGroup
	defer answering.Wait()
	for {
		select {
		case <-stop:
			return
		default:
		}
		poll := []unix.PollFd{{Fd: int32(tr.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(faultTick.Milliseconds())); err != nil || n == 0 {
			continue
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return // nobody is left who could call
		}
		var c call
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(tr.fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&c))); errno != 0 {
			continue // its caller is gone
		}
		answering.Go(func() { tr.answer(c) })
	}
}

// answer lets a call do its work, or not.
func (tr *faultFilter) answer(c call) {
	a := answer{id: c.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if f := tr.hit(c); f != nil {
		time.Sleep(f.delay) // this is what a slow disk does
		if f.err != 0 {
			a.flags, a.err = 0, -int32(f.err)
		}
	}
	// Where this fails the caller is gone.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(tr.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
}

// hit returns the fault that a call meets, if it does.
func (tr *faultFilter) hit(c call) *fault {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	f := tr.fault
	if f == nil || !slices.Contains(f.calls, uintptr(c.nr)) {
		return nil
	}
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.tid, c.args[0]))
	if part, ours := strings.CutPrefix(file, tr.db); err != nil || !ours || f.file != "" && part != strings.TrimPrefix(f.file, "db") {
		return nil
	}
	tr.inspected++
	if f.first != 0 && (tr.inspected < f.first || (tr.inspected-f.first)%f.step != 0) {
		return nil
	}
	tr.met++
	return f
}

// on begins a fault. It returns the way to end it, and the number of calls that
// it has hit.
func (tr *faultFilter) on(f fault) (stop func(), met func() int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.fault, tr.inspected, tr.met = &f, 0, 0
	return func() {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			tr.fault = nil
		}, func() int {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			return tr.met
		}
}

// logIsEmpty means that all of a database's log has been moved, so that the next
// commit begins it anew: SQLite's shared memory has how many pages it has
// (mxFrame), and behind two copies of that header how many are moved (nBackfill).
func logIsEmpty(t *testing.T, db string) bool {
	t.Helper()
	shm, err := os.ReadFile(db + "-shm")
	if err != nil {
		t.Fatal(err)
	}
	return len(shm) > 100 && endian.NativeEndian.Uint32(shm[16:]) == endian.NativeEndian.Uint32(shm[96:])
}

func emptyLog(t *testing.T, db string) {
	t.Helper()
	waitFor(t, "an empty log", func() bool { return logIsEmpty(t, db) })
}

// onEmptyLog begins a fault when nothing is in the log.
func (tr *faultFilter) onEmptyLog(t *testing.T, f fault) (stop func(), met func() int) {
	t.Helper()
	for range 10 {
		emptyLog(t, tr.db)
		if stop, met = tr.on(f); logIsEmpty(t, tr.db) {
			return stop, met
		}
		stop() // something was packed meanwhile
	}
	t.Fatal("the log does not stay empty")
	return nil, nil
}

// TestAFaultHitsTheCallsThatItIsFor keeps the other tests of faults honest.
func TestAFaultHitsTheCallsThatItIsFor(t *testing.T) {
	v, tr := startWithFaults(t, filepath.Join(t.TempDir(), "journal.db"), "--durability", "full")
	id := v.started(t)
	say := func() {
		t.Helper()
		if g, ok := v.ask(t.Context(), "send_message", args{"session_id": id, "prompt": "say x", "wait_ms": 20000}); !ok || g.Status != "completed" {
			t.Fatalf("a turn: %+v", g)
		}
	}
	stop, met := tr.on(fault{calls: syncs, file: "-wal", delay: time.Millisecond})
	say()
	stop()
	hits := met()
	if hits == 0 {
		t.Error("no commit was slow")
	}
	if say(); met() != hits {
		t.Error("it goes on when it is over")
	}
	_, met = tr.on(fault{calls: syncs, file: "-other", err: unix.EIO})
	if say(); met() != 0 || v.durability(t, id) != "durable" {
		t.Error("it hits another file")
	}
}
