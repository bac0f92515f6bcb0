package process

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
)

// SupervisorOptions configure a Supervisor. Local and Store are required.
type SupervisorOptions struct {
	Local *Local
	Store core.Store
	// StoreTimeout bounds one commit; 0 for core's default.
	StoreTimeout time.Duration
	// StopOnStoreFailure ends a process whose journal cannot be written, instead
	// of going on without durability.
	StopOnStoreFailure bool
	// PathDirs are searched after PATH, and are added to what children search.
	PathDirs []string
	// OutputCap replaces the constant of this name where it is above zero.
	OutputCap int64
	Logger    *slog.Logger // nil drops it
}

// Supervisor runs managed processes over a [Local] and keeps a journal of each.
// It implements core.Processes and is safe for concurrent use.
type Supervisor struct {
	opt SupervisorOptions
	log *slog.Logger

	outage journal.Outage // of the store

	mu       sync.Mutex
	procs    map[string]*managed
	starting map[string]string // owners of processes that are starting, by id
	down     bool
	quitting bool
	quit     chan struct{}  // closed when events that cannot be stored are dropped
	wg       sync.WaitGroup // the loops

	ctx    context.Context // ends when Shutdown no longer waits for the store
	cancel context.CancelFunc
}

var _ core.Processes = (*Supervisor)(nil)

// NewSupervisor returns a new Supervisor. It starts no goroutine; Shutdown ends
// it.
func NewSupervisor(opt SupervisorOptions) *Supervisor {
	if opt.OutputCap <= 0 {
		opt.OutputCap = OutputCap
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Supervisor{opt: opt, log: opt.Logger, procs: make(map[string]*managed), starting: make(map[string]string), quit: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Start implements core.Processes. The end of ctx does not undo it.
func (s *Supervisor) Start(ctx context.Context, r core.ProcessStart) (core.ProcessSnapshot, error) {
	if err := s.reserve(r); err != nil {
		return core.ProcessSnapshot{}, err
	}
	defer s.release(r.ID)
	return s.start(ctx, r)
}

func (s *Supervisor) start(ctx context.Context, r core.ProcessStart) (core.ProcessSnapshot, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SpawnWait)
	defer cancel()
	m := newManaged(s, r)
	// The command's own directory and PATH decide, as in a shell that runs there.
	path, _, err := lookPath(r.Spec.Executable, r.Spec.CWD, lookup(s.environ(r.Spec), "PATH"), s.opt.PathDirs)
	if err == nil {
		m.state.path = path
		err = s.checkAllowed(path, r.AllowExec)
	}
	if err == nil {
		var c Child
		if c, err = s.opt.Local.Start(ctx, m.command(r.Spec, path)); err == nil {
			return m.begin(c.(*child), r.Keys)
		}
	}
	switch core.CodeOf(err) {
	case core.CodeForbiddenExecutable, core.CodeInvalidArgument, core.CodeDepth:
		return core.ProcessSnapshot{}, err // the call is wrong, not the command
	}
	return m.fail(err, r.Keys)
}

// reserve counts a process that is to start among the live ones. Errors:
// CodeShuttingDown, CodeCapacity.
func (s *Supervisor) reserve(r core.ProcessStart) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live, own := s.live(r.Owner)
	switch {
	case s.down:
		return core.Errorf(core.CodeShuttingDown, "the server is shutting down").WithHint("Connect again and retry.").Retry()
	case r.MaxLivePerOwner > 0 && own >= r.MaxLivePerOwner:
		return core.Errorf(core.CodeCapacity, "you have %d live processes here, as many as one caller may (max_processes_per_owner)", r.MaxLivePerOwner).
			WithHint("Close one (list {kind: \"processes\", live: true}).").
			WithDetail("limit", "max_processes_per_owner").Retry()
	case r.MaxLive > 0 && live >= r.MaxLive:
		return core.Errorf(core.CodeCapacity, "this server runs its %d processes (max_processes)", r.MaxLive).
			WithHint("Close one (list {kind: \"processes\", live: true}), or raise --max-processes.").
			WithDetail("limit", "max_processes").Retry()
	}
	s.starting[r.ID] = r.Owner
	return nil
}

// live returns how many processes live or are starting: in all, and of an owner.
// s.mu is held.
func (s *Supervisor) live(owner string) (all, own int) {
	count := func(whose string) {
		all++
		if whose == owner {
			own++
		}
	}
	for _, whose := range s.starting {
		count(whose)
	}
	for id, m := range s.procs {
		if _, counted := s.starting[id]; !counted && !m.snapshot().Status.Ended() {
			count(m.owner)
		}
	}
	return all, own
}

func (s *Supervisor) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.starting, id)
}

// register adds a process that runs. It reports false during a shutdown: the caller
// then ends the process.
func (s *Supervisor) register(m *managed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.procs[m.id] = m
	s.wg.Add(1)
	return !s.down
}

// unregister removes a process of which only the journal is left.
func (s *Supervisor) unregister(m *managed) {
	s.mu.Lock()
	delete(s.procs, m.id)
	s.mu.Unlock()
	s.wg.Done()
}

func (s *Supervisor) find(owner, id string) *managed {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.procs[id]
	if m == nil || owner != m.owner && owner != core.AllOwners {
		return nil
	}
	return m
}

// Get implements core.Processes.
func (s *Supervisor) Get(owner, id string) (core.ProcessSnapshot, bool) {
	m := s.find(owner, id)
	if m == nil {
		return core.ProcessSnapshot{}, false
	}
	return m.snapshot(), true
}

// All implements core.Processes, newest first.
func (s *Supervisor) All(owner string) []core.ProcessSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []core.ProcessSnapshot
	for _, m := range s.procs {
		if owner == m.owner || owner == core.AllOwners {
			out = append(out, m.snapshot())
		}
	}
	slices.SortFunc(out, func(x, y core.ProcessSnapshot) int {
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return out
}

// Watch implements core.Processes.
func (s *Supervisor) Watch(owner, id string, ch chan<- struct{}) (stop func(), ok bool) {
	m := s.find(owner, id)
	if m == nil {
		return nil, false
	}
	return m.journal.Watch(ch), true
}

// Events implements core.Processes.
func (s *Supervisor) Events(ctx context.Context, q core.EventQuery) ([]core.Event, bool, error) {
	m := s.find(q.Owner, q.Resource)
	if m == nil {
		return nil, false, nil
	}
	events, err := m.journal.Events(ctx, q)
	return events, true, err
}

// Input implements core.Processes.
func (s *Supervisor) Input(ctx context.Context, owner, id string, in core.ProcessInput) (core.InputResult, error) {
	m := s.find(owner, id)
	if m == nil {
		return core.InputResult{}, core.Errorf(core.CodeNotFound, "there is no process %q", id)
	}
	return m.input(ctx, in)
}

// Stop implements core.Processes. The end of ctx does not undo it.
func (s *Supervisor) Stop(ctx context.Context, owner, id string, r core.ProcessStop) (core.ProcessSnapshot, error) {
	m := s.find(owner, id)
	if m == nil {
		return core.ProcessSnapshot{}, core.Errorf(core.CodeNotFound, "there is no process %q", id)
	}
	m.end(stopRequest{cause: causeClosed, reason: r.Reason, note: r.Note, force: r.Force}, r.Keys)
	late := time.NewTimer(maxStopWait)
	defer late.Stop()
	select {
	case <-m.treeGone:
		return m.snapshot(), nil
	case <-late.C:
		return m.snapshot(), core.Errorf(core.CodeInternal, "process %s, or one that it started, could not be ended", id)
	case <-ctx.Done():
		return m.snapshot(), ctx.Err()
	}
}

// Shutdown implements core.Processes. Processes have ShutdownWait to end,
// then they are killed. It waits for a store that stalls until ctx ends. Errors:
// CodeStoreFailed, CodeInternal, or that of ctx.
func (s *Supervisor) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.down = true
	procs := make([]*managed, 0, len(s.procs))
	for _, m := range s.procs {
		procs = append(procs, m)
	}
	s.mu.Unlock()
	for _, m := range procs {
		m.end(stopRequest{cause: causeShutdown, reason: core.ReasonSessionShutdown}, nil)
	}
	polite, cancel := context.WithTimeout(ctx, ShutdownWait)
	defer cancel()
	for _, m := range procs {
		select {
		case <-m.treeGone:
		case <-polite.Done():
			m.kill()
		}
	}
	s.mu.Lock()
	if !s.quitting {
		s.quitting = true
		close(s.quit) // from here on, events that the store did not accept are dropped
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() { s.wg.Wait(); close(ended) }()
	late := time.NewTimer(KillWait) // for processes that the kernel cannot end
	defer late.Stop()
	defer s.cancel()
	select {
	case <-ended:
		return ctx.Err()
	case <-ctx.Done():
		s.cancel()
	case <-late.C:
		s.cancel()
		late.Reset(KillWait)
	}
	select {
	case <-ended:
		return core.Errorf(core.CodeStoreFailed, "the journals of processes could not all be written in time")
	case <-late.C:
		return core.Errorf(core.CodeInternal, "a process could not be ended in time")
	}
}

// environ returns the whole environment of a process.
func (s *Supervisor) environ(spec core.ProcessSpec) []string {
	replace := spec.EnvMode == core.EnvReplace
	env := Environ(os.Environ(), spec.Env, spec.UnsetEnv, replace)
	if replace {
		return env
	}
	if spec.PTY && lookup(env, "TERM") == "" {
		env = append(env, "TERM=xterm-256color")
	}
	return AddPath(env, s.opt.PathDirs...)
}
