package process

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The guard is this program executed again with guardArgs. It inherits its
// socket to the server and the command's ends of the pipes.
const (
	fdControl = 3
	fdStdin   = 4
	fdStdout  = 5
	fdStderr  = 6
)

// guardArgs is the whole argv of a guard. The last word keeps it apart from a
// program's own command of that name.
var guardArgs = []string{"harness-mcp", "guard", "control=3"}

// initialized reports whether the program called Init, so that it can be
// executed again as a guard.
var initialized atomic.Bool

// The guard runs here, not in Init: packages are initialized in the order of their
// import paths, and those after this one (compiled expressions, tables, a
// database) would cost each guard milliseconds and megabytes.
func init() {
	if slices.Equal(os.Args, guardArgs) {
		// Not os.Exit: no exit hook of this program applies to a guard, and the
		// race detector's hook would take a second.
		syscall.Exit(guardMain())
	}
}

// Init allows this program to be executed again as a guard, and so enables
// guards. Call it first in main, before anything that a guard must
// not do; a test binary calls it first in TestMain. Without it commands have no
// guard. In a process that was started as a guard neither main nor Init is ever
// reached.
func Init() { initialized.Store(true) }

// guardReady reports whether commands can have a guard.
func guardReady() bool { return initialized.Load() }

// guard is the state of a guard process. Its main goroutine alone touches it;
// one goroutine reads the server's commands, one waits for children.
type guard struct {
	control  *os.File
	command  int
	commands chan byte               // closed when the server is gone
	exits    chan syscall.WaitStatus // the command's end, once
	empty    chan struct{}           // closed when no child is left
}

func guardMain() int {
	// The command dies with the thread that forked it, so that must be one
	// that lives as long as the guard.
	runtime.LockOSThread()
	// Signals that a group or a terminal sends are not for the guard. They are
	// caught and dropped, not ignored, because a command inherits what is
	// ignored, also from the server's parent.
	signal.Notify(make(chan os.Signal, 1))
	// The command inherits its three pipes and no other file.
	_ = unix.CloseRange(fdControl, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	for fd := fdControl; fd <= fdStderr; fd++ {
		unix.CloseOnExec(fd)
	}
	_ = unix.SetNonblock(fdControl, true) // waiting for the server then takes no thread
	g := &guard{
		control:  os.NewFile(fdControl, "control"),
		commands: make(chan byte),
		exits:    make(chan syscall.WaitStatus, 1),
		empty:    make(chan struct{}),
	}
	o, err := readOrder(g.control)
	if err != nil {
		return 1
	}
	if err := g.start(o); err != nil {
		g.report(report{kind: repFailed, a: errnoOf(err)})
		return 1
	}
	go g.read()
	go g.wait()
	g.run()
	return 0
}

// start makes the guard the reaper of all its descendants, executes the command
// and closes its own copies of the command's pipes.
func (g *guard) start(o order) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	pid, err := syscall.ForkExec(o.path, o.args, &syscall.ProcAttr{
		Dir:   o.dir,
		Env:   o.env,
		Files: []uintptr{fdStdin, fdStdout, fdStderr},
		Sys:   commandAttr(o.terminal),
	})
	for fd := fdStdin; fd <= fdStderr; fd++ {
		unix.Close(fd) // else readers would never see the end of the output
	}
	if err != nil {
		return err
	}
	g.command = pid
	// Nobody waits yet, so the pid is the command's even if it has ended.
	g.report(report{kind: repStarted, a: uint64(pid), b: startTimeOf(pid)})
	return nil
}

// commandAttr makes the command the leader of a group, or, on a terminal, of a
// session with that terminal.
func commandAttr(terminal bool) *syscall.SysProcAttr {
	attr := ownGroup()
	if terminal {
		attr = ownTerminal()
	}
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// read is a goroutine that passes the server's commands to run. It ends when the
// socket closes, which closes commands.
func (g *guard) read() {
	defer close(g.commands)
	var b [1]byte
	for {
		n, err := g.control.Read(b[:])
		if n == 1 {
			g.commands <- b[0]
		}
		if err != nil {
			return
		}
	}
}

// wait is a goroutine that reaps every child until there is none. Then there never
// will be one: a descendant is a child or below one. Before it sends the command's
// end it reaps all that has ended already, so that leftover is mostly zero.
func (g *guard) wait() {
	defer close(g.empty)
	ended, told := false, false
	var last syscall.WaitStatus
	for {
		options := 0
		if ended && !told {
			options = syscall.WNOHANG
		}
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, options, nil)
		none := err != nil && err != syscall.EINTR // ECHILD
		if ended && !told && (none || pid == 0) {
			g.exits <- last
			told = true
		}
		if none {
			return
		}
		if pid == g.command && (status.Exited() || status.Signaled()) {
			ended, last = true, status
		}
	}
}

// run executes the server's commands until the tree is gone. Once it has begun to
// kill it repeats that until nothing is left, since only the guard can.
func (g *guard) run() {
	var again <-chan time.Time
	pause := pollMin
	ended := false
	commands := g.commands
	for {
		select {
		case status := <-g.exits:
			ended = true
			g.report(report{kind: repExited, a: uint64(status), b: g.leftover()})
		case <-g.empty:
			g.lastExit()
			g.report(report{kind: repEmpty})
			return
		case command, ok := <-commands:
			switch {
			case !ok || command == cmdKill:
				g.killTree()
				again = time.After(pause)
			case command == cmdInterrupt:
				g.signalTree(syscall.SIGINT)
			case command == cmdTerminate:
				g.signalTree(syscall.SIGTERM)
			case groupSignals[command] != 0 && !ended:
				_ = syscall.Kill(-g.command, groupSignals[command])
			}
			if !ok {
				commands = nil
			}
		case <-again:
			g.killTree()
			pause = min(2*pause, pollMax)
			again = time.After(pause)
		}
	}
}

// lastExit reports the command's end if run has not received it yet.
func (g *guard) lastExit() {
	select {
	case status := <-g.exits:
		g.report(report{kind: repExited, a: uint64(status)})
	default:
	}
}

// leftover returns how many descendants are alive after the command's end.
func (g *guard) leftover() uint64 {
	select {
	case <-g.empty:
		return 0
	default:
	}
	all, err := processes()
	if err != nil {
		return 0
	}
	n := uint64(0)
	for _, p := range descendants(all, []int{os.Getpid()}, nil) {
		if !p.dead() {
			n++
		}
	}
	return n
}

// signalTree signals every descendant, parents first, so that none sees a
// child die and starts another.
func (g *guard) signalTree(sig syscall.Signal) {
	all, err := processes()
	if err != nil { // no /proc: only the group can be signalled
		_ = syscall.Kill(-g.command, sig)
		return
	}
	for _, p := range descendants(all, []int{os.Getpid()}, nil) {
		if !p.dead() {
			_ = p.signal(sig)
		}
	}
}

// killTree kills all descendants in /proc, then repeats that for its own children,
// at most maxKillRounds times: a process that forks and ends at once is gone before
// a walk over /proc reaches it, but its orphan becomes a child of the guard, and
// the list of children is short.
func (g *guard) killTree() {
	g.signalTree(syscall.SIGKILL)
	seen := make(map[int]bool)
	for range maxKillRounds {
		fresh := false
		for _, pid := range childrenOf(os.Getpid()) {
			if !seen[pid] {
				seen[pid], fresh = true, true
				killChild(pid)
			}
		}
		if !fresh {
			return
		}
	}
}

// report writes a report to the server. The error of a server that is gone is
// ignored.
func (g *guard) report(r report) { _, _ = g.control.Write(r.encode()) }

func errnoOf(err error) uint64 {
	if errno, ok := err.(syscall.Errno); ok {
		return uint64(errno)
	}
	return uint64(syscall.EIO)
}
