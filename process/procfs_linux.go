package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// proc is a process as /proc/PID/stat shows it.
type proc struct {
	pid, ppid, pgrp int
	state           byte
	start           uint64 // clock ticks since boot; pid and start identify a process
}

// dead reports whether the process has ended and is not reaped yet.
func (p proc) dead() bool { return p.state == 'Z' || p.state == 'X' }

// readProc reads one process.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	return parseStat(b)
}

// parseStat reads the line of /proc/PID/stat. The command name in it may hold
// anything, so the fields are counted from its last parenthesis.
func parseStat(b []byte) (proc, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return proc{}, false
	}
	fields := bytes.Fields(b[end+1:])
	const startField = 19 // field 22, counted from the state, field 3
	if len(fields) <= startField || len(fields[0]) != 1 {
		return proc{}, false
	}
	pid, err1 := strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	ppid, err2 := strconv.Atoi(string(fields[1]))
	pgrp, err3 := strconv.Atoi(string(fields[2]))
	start, err4 := strconv.ParseUint(string(fields[startField]), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return proc{}, false
	}
	return proc{pid: pid, ppid: ppid, pgrp: pgrp, state: fields[0][0], start: start}, true
}

// processes reads all processes that we may see.
func processes() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]proc, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// descendants returns those of all that are below one of roots, parents before
// children, without the roots. It does not look below a pid in except.
func descendants(all []proc, roots []int, except map[int]bool) []proc {
	children := make(map[int][]proc, len(all))
	for _, p := range all {
		children[p.ppid] = append(children[p.ppid], p)
	}
	var out []proc
	seen := make(map[int]bool)
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			if !seen[p.pid] && !except[p.pid] {
				seen[p.pid] = true
				out = append(out, p)
				queue = append(queue, p.pid)
			}
		}
	}
	return out
}

// signal sends sig to exactly this process: a pidfd is opened first and the
// start time compared after, so that a new process with the same pid is not signalled.
func (p proc) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && err != unix.ENOSYS {
		return err
	}
	now, ok := readProc(p.pid)
	if err == unix.ENOSYS { // a kernel before 5.3: compare, then signal at once
		if !ok || now.start != p.start {
			return syscall.ESRCH
		}
		return syscall.Kill(p.pid, sig)
	}
	defer unix.Close(fd)
	if !ok || now.start != p.start {
		return syscall.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// childrenOf lists the children of a process, all its threads', dead ones
// included. A kernel may lack the file; then there are none.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []int
	for _, thread := range threads {
		b, err := os.ReadFile(dir + thread.Name() + "/children")
		if err != nil {
			continue
		}
		for field := range bytes.FieldsSeq(b) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// killChild kills a process if it is a child of ours. A pid that was reused
// since it was read has another parent.
func killChild(pid int) {
	if p, ok := readProc(pid); ok && p.ppid == os.Getpid() {
		_ = p.signal(syscall.SIGKILL)
	}
}

// environMarker reads the marker of a running process, "" when it has none or
// we may not look.
func environMarker(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, []byte(MarkerVar+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// ownedByUs reports whether a process runs as our user.
func ownedByUs(pid int) bool {
	var st unix.Stat_t
	err := unix.Stat("/proc/"+strconv.Itoa(pid), &st)
	return err == nil && int(st.Uid) == os.Geteuid()
}

// startTimeOf returns a process's start time in clock ticks since boot, 0 when
// it is not there.
func startTimeOf(pid int) uint64 {
	p, _ := readProc(pid)
	return p.start
}

// bootID names this run of the kernel, "" when it cannot be read.
var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})
