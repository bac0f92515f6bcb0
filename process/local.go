package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// GuardMode reports whether commands run under a guard.
type GuardMode int

const (
	// GuardAuto uses a guard where there is one: on Linux, when [Init] was
	// called.
	GuardAuto GuardMode = iota
	// GuardOff uses the portable layers only.
	GuardOff
	// GuardRequired refuses to start a command without a guard.
	GuardRequired
)

// Options configure a [Local]. The zero value works: no rows, no extra
// directories, the waits of this package.
type Options struct {
	// Log stores a row for each child, for Reap; nil stores none. A row that cannot
	// be written is logged and the command runs on, since its guard ends it
	// anyway.
	Log core.ChildLog
	// Instance is the id of this server's instance, for markers and rows. No
	// two running servers may have the same, since what carries its marker may
	// be ended with it. "" stands for a new id.
	Instance string
	// PathDirs are searched after PATH for a Spec.Path without separator.
	PathDirs []string
	Guard    GuardMode
	// Logger receives failures that no caller can be told of; nil drops them.
	Logger *slog.Logger
	// EOFWait, StopWait and LeftoverWait replace the constants of these names
	// where they are above zero.
	EOFWait, StopWait, LeftoverWait time.Duration
}

// Local runs commands on this machine. It is safe for concurrent use.
type Local struct {
	opt       Options
	log       *slog.Logger
	inherited string // the marker of this process

	mu   sync.Mutex
	live map[*child]struct{}

	rootMu         sync.Mutex // held while the instance's own row is written
	rows           int        // children that have, or are to have, a row
	hasInstanceRow bool       // the instance's own row is there
}

var _ Runner = (*Local)(nil)

// NewLocal returns a new Local. It starts nothing.
func NewLocal(opt Options) *Local {
	if opt.EOFWait <= 0 {
		opt.EOFWait = EOFWait
	}
	if opt.StopWait <= 0 {
		opt.StopWait = StopWait
	}
	if opt.LeftoverWait <= 0 {
		opt.LeftoverWait = LeftoverWait
	}
	if opt.Instance == "" {
		opt.Instance = core.NewID("ins_")
	}
	log := opt.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Local{opt: opt, log: log, inherited: os.Getenv(MarkerVar), live: make(map[*child]struct{})}
}

// Start runs the command of spec. When it returns without error the command
// has been executed, and its row is in the log. ctx bounds the starting only;
// if it ends first nothing is left running.
//
// Read Stdout and Stderr of the child to their end, also when the content does
// not matter: that frees their pipes.
//
// Errors: CodeDepth for too many harnesses inside each other,
// CodeInvalidArgument for a cwd that is no directory or a text with a NUL,
// CodeNotFound for an executable that is not there, CodeTooLarge for arguments
// that the system refuses, CodeStartTimeout when ctx ran out, CodeStartFailed
// for the rest with the system's reason.
func (l *Local) Start(ctx context.Context, spec Spec) (Child, error) {
	if err := ctx.Err(); err != nil {
		return nil, startEnded(spec.Path, err)
	}
	if err := checkDepth(l.inherited); err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" {
		return nil, core.Errorf(core.CodeStartFailed, "commands are not run on Windows, since nothing there would end what they leave behind").
			WithHint("Run the server in WSL.")
	}
	run, err := l.prepare(spec)
	if err != nil {
		return nil, err
	}
	l.putInstanceRow(ctx)
	c, err := l.launch(ctx, run)
	if err != nil {
		l.releaseInstanceRow()
		return nil, err
	}
	if err := l.putRow(ctx, c); err != nil {
		_ = c.Kill()
		return nil, err
	}
	return c, nil
}

// launch is a checked command, ready to be executed.
type launch struct {
	path   string // absolute
	args   []string
	dir    string
	env    []string // with the marker
	marker string
	own    segment // our segment of the marker
	noEOF  bool
	size   *Size // of its terminal; nil for pipes
	stdio  [3]*os.File
}

// prepare checks a spec and returns what is to be executed.
func (l *Local) prepare(spec Spec) (*launch, error) {
	for _, text := range append(append([]string{spec.Path, spec.Dir}, spec.Args...), spec.Env...) {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, core.Errorf(core.CodeInvalidArgument,
				"a path, argument or environment variable contains a NUL byte")
		}
	}
	if err := checkDir(spec.Dir); err != nil {
		return nil, err
	}
	path, _, err := LookPath(spec.Path, l.opt.PathDirs)
	if err != nil {
		return nil, err
	}
	own := segment{l.opt.Instance, spec.Resource}
	marker := joinMarker(l.inherited, own)
	return &launch{
		path:   path,
		args:   append([]string{path}, spec.Args...),
		dir:    spec.Dir,
		env:    withMarker(spec.Env, marker),
		marker: marker,
		own:    own,
		noEOF:  spec.NoEOF,
		size:   spec.Terminal,
	}, nil
}

// launch executes a prepared command with pipes, under a guard or not.
func (l *Local) launch(ctx context.Context, run *launch) (*child, error) {
	guarded := guardReady()
	if l.opt.Guard == GuardRequired && !guarded {
		return nil, core.Errorf(core.CodeStartFailed, "no guard is available for %s", run.path).
			WithHint("Guards need Linux and a program that calls process.Init first in main.")
	}
	c := newChild(l, run)
	open := c.openPipes
	if run.size != nil {
		open = c.openTerminal
	}
	if err := open(run); err != nil {
		return nil, core.Errorf(core.CodeStartFailed, "no pipes or terminal for %s: %w", run.path, err)
	}
	start := startUnguarded
	if guarded && l.opt.Guard != GuardOff {
		start = startGuarded
	}
	l.addLive(c)
	err := start(ctx, c, run)
	closeAll(run.stdio[:])
	if err != nil {
		l.removeLive(c)
		c.closePipes()
		return nil, startError(run, err)
	}
	return c, nil
}

// putInstanceRow writes a row without pid before the first child is executed. It
// means that this instance may have children: if server and guard are killed between
// the execution of a child and the commit of its row, Reap finds by it which markers
// to search for. releaseInstanceRow deletes it with the last child.
func (l *Local) putInstanceRow(ctx context.Context) {
	if l.opt.Log == nil {
		return
	}
	l.rootMu.Lock()
	defer l.rootMu.Unlock()
	l.rows++
	if l.hasInstanceRow {
		return
	}
	err := l.opt.Log.PutChild(ctx, core.Child{Instance: l.opt.Instance, BootID: bootID(), At: time.Now().UTC()})
	if err != nil {
		l.log.Warn("the instance has no row of its own, so a later boot may not look for its children", "error", err)
	}
	l.hasInstanceRow = err == nil
}

// releaseInstanceRow undoes one putInstanceRow.
func (l *Local) releaseInstanceRow() {
	if l.opt.Log == nil {
		return
	}
	l.rootMu.Lock()
	defer l.rootMu.Unlock()
	if l.rows--; l.rows > 0 || !l.hasInstanceRow {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), RowWait)
	defer cancel()
	if err := l.opt.Log.DeleteChild(ctx, l.opt.Instance, 0); err != nil {
		l.log.Warn("the row of an instance without children stays until the next boot", "error", err)
		return
	}
	l.hasInstanceRow = false
}

// putRow writes the child's row. Only the end of ctx fails the start.
func (l *Local) putRow(ctx context.Context, c *child) error {
	if l.opt.Log == nil {
		return nil
	}
	err := l.opt.Log.PutChild(ctx, core.Child{
		PID:       c.pid,
		StartTime: c.startTime,
		BootID:    bootID(),
		Instance:  l.opt.Instance,
		Resource:  c.own.resource,
		Path:      c.path,
		At:        time.Now().UTC(),
	})
	if err != nil && ctx.Err() != nil {
		close(c.recorded)
		return startEnded(c.path, ctx.Err())
	}
	if err != nil {
		l.log.Warn("a child has no row, so a later boot cannot end it by its row",
			"pid", c.pid, "resource", c.own.resource, "error", err)
	}
	close(c.recorded)
	return nil
}

// deleteRow deletes the row of a child whose tree is gone.
func (l *Local) deleteRow(c *child) {
	if l.opt.Log == nil {
		return
	}
	<-c.recorded // closed by Start once the row is written, or that has failed
	ctx, cancel := context.WithTimeout(context.Background(), RowWait)
	defer cancel()
	if err := l.opt.Log.DeleteChild(ctx, l.opt.Instance, c.pid); err != nil {
		l.log.Warn("the row of a reaped child stays until the next boot",
			"pid", c.pid, "resource", c.own.resource, "error", err)
	}
	l.releaseInstanceRow()
}

// addLive and forget keep the set of children whose tree may be alive.
func (l *Local) addLive(c *child) {
	l.mu.Lock()
	l.live[c] = struct{}{}
	l.mu.Unlock()
}

func (l *Local) removeLive(c *child) {
	l.mu.Lock()
	delete(l.live, c)
	l.mu.Unlock()
}

// otherRoots returns the pids of the tree roots of all live children but c that
// have started.
func (l *Local) otherRoots(c *child) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var pids []int
	for o := range l.live {
		if pid := int(o.root.Load()); o != c && pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// checkDir returns CodeInvalidArgument if dir cannot be a working directory. "" is
// the server's own.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return core.Errorf(core.CodeInvalidArgument, "cwd %s does not exist", dir).
			WithHint("Give an absolute path to an existing directory.")
	case err != nil:
		return core.Errorf(core.CodeInvalidArgument, "cwd %s cannot be used: %w", dir, err)
	case !info.IsDir():
		return core.Errorf(core.CodeInvalidArgument, "cwd %s is not a directory", dir)
	}
	return nil
}
