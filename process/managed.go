package process

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/journal"
	"github.com/harness-mcp/harness-mcp/core/redact"
)

// managed is one process of a Supervisor. Only its loop writes the journal. Other
// goroutines change state and keys under the mutex and then signal changed, so a
// stop does not wait for the loop, and a store that stalls delays no kill.
type managed struct {
	s       *Supervisor
	id      string
	owner   string
	journal *journal.Journal
	child   *child
	stdin   *stdinWriter // nil without input
	redact  *redact.Redactor

	events    chan outputEvent
	assembler *outputAssembler
	changed   chan struct{}
	exited    chan struct{} // closed when state holds how the command ended
	treeGone  chan struct{} // closed when it has ended and nothing of its tree is left
	runtime   *time.Timer
	idle      *time.Timer

	mu         sync.Mutex // guards state and keys
	state      state
	keys       []core.KeyRecord
	keysStored chan struct{} // closed and replaced when keys were stored

	latest      atomic.Pointer[core.ProcessSnapshot]
	marks       []mark // of the kept output, oldest first
	bytes       int64  // of all of them
	stopWritten bool   // process_stopping is in the journal
}

// mark is a part of the kept output: the seq of its last event and its size.
type mark struct {
	seq   uint64
	bytes int64
}

func newManaged(s *Supervisor, r core.ProcessStart) *managed {
	red := redact.New(r.Secrets)
	spec := r.Spec
	spec.Argv = append([]string{}, red.Strings(spec.Argv)...)
	spec.Title, spec.CWD = red.String(spec.Title), red.String(spec.CWD)
	spec.Metadata = red.Metadata(spec.Metadata)
	m := &managed{
		s: s, id: r.ID, owner: r.Owner, redact: red,
		state: state{spec: spec, path: red.String(r.Spec.Executable), id: r.ID, owner: r.Owner, created: time.Now().UTC()},
		journal: journal.New(journal.Options{Store: s.opt.Store, Owner: r.Owner, Resource: r.ID,
			Timeout: s.opt.StoreTimeout, Stop: s.opt.StopOnStoreFailure, Logger: s.log, Outage: &s.outage}),
		events: make(chan outputEvent, eventBuffer), changed: make(chan struct{}, 1),
		exited: make(chan struct{}), treeGone: make(chan struct{}), keysStored: make(chan struct{}),
	}
	return m
}

// command returns the Spec of the process.
func (m *managed) command(spec core.ProcessSpec, path string) Spec {
	run := Spec{Path: path, Args: spec.Argv, Dir: spec.CWD, Env: m.s.environ(spec), Resource: m.id, NoEOF: true}
	if spec.PTY {
		run.Terminal = &Size{Cols: spec.Cols, Rows: spec.Rows}
	}
	return run
}

// dataStarted is the data of process_started.
type dataStarted struct {
	PID        int      `json:"pid"`
	Executable string   `json:"executable"`
	Argv       []string `json:"argv"`
	CWD        string   `json:"cwd"`
	PTY        bool     `json:"pty,omitempty"`
}

// dataStopping is the data of process_stopping.
type dataStopping struct {
	Cause  stopCause   `json:"cause"`
	Reason core.Reason `json:"reason,omitempty"`
	Note   string      `json:"note,omitempty"`
	Force  bool        `json:"force,omitempty"`
}

// begin takes over a command that runs. It returns when process_started is stored.
// It starts the goroutines of the process: two readers, the assembler, awaitExit
// and loop; all end with the process. Where the store fails and StopOnStoreFailure
// is set, it kills the command and returns the error.
func (m *managed) begin(c *child, keys []core.KeyRecord) (core.ProcessSnapshot, error) {
	m.child = c
	spec := m.state.spec
	m.state.pid, m.state.started = c.pid, time.Now().UTC()
	if !spec.Stdin {
		c.stdin.Close()
	}
	snap, err := m.write(keys, journal.Entry{Type: core.ProcessStarted, At: m.state.started,
		Data: encode(dataStarted{c.pid, m.state.path, spec.Argv, spec.CWD, spec.PTY})})
	if err != nil { // StopOnStoreFailure: it may not run without a journal
		_ = c.Kill()
		c.closePipes()
		return core.ProcessSnapshot{}, err
	}
	if spec.Stdin {
		m.stdin = newStdinWriter(c.stdin, spec.PTY)
	}
	reads := make(chan streamRead, readBuffer)
	m.assembler = newOutputAssembler(m.redact, m.events)
	go readStream(c.stdout, core.TypeStdout, reads)
	go readStream(c.stderr, core.TypeStderr, reads)
	go m.assembler.run(reads)
	m.arm(spec)
	go m.awaitExit()
	accepting := m.s.register(m)
	go m.loop()
	if !accepting {
		m.end(stopRequest{cause: causeShutdown, reason: core.ReasonSessionShutdown, force: true}, nil)
	}
	return snap, nil
}

// fail stores a process that could not start, with the code and message of err.
func (m *managed) fail(err error, keys []core.KeyRecord) (core.ProcessSnapshot, error) {
	e := core.AsError(m.redact.Error(core.AsError(err)))
	message := e.Message
	if e.Hint != "" {
		message += ". " + e.Hint
	}
	m.state.failure = &core.TurnError{Code: e.Code, Message: message}
	m.state.exited, m.state.finished = true, time.Now().UTC()
	snap := m.state.snapshot(0, "")
	snap, err = m.write(keys, journal.Entry{Type: core.ProcessFailed, At: m.state.finished, Data: snap.TerminalData()})
	if err == nil && m.journal.Lost() { // until it is stored it exists in memory only
		close(m.treeGone)
		m.s.register(m)
		go func() {
			defer m.s.unregister(m)
			m.finishStoring(nil)
		}()
	}
	return snap, err
}

// arm starts the runtime and idle timers. awaitExit stops them.
func (m *managed) arm(spec core.ProcessSpec) {
	if spec.RuntimeTimeout > 0 {
		m.runtime = time.AfterFunc(spec.RuntimeTimeout, func() { m.end(stopRequest{cause: causeRuntime}, nil) })
	}
	if spec.IdleTimeout > 0 {
		m.idle = time.AfterFunc(spec.IdleTimeout, func() {
			m.end(stopRequest{cause: causeIdle, reason: core.ReasonIdleTimeout}, nil)
		})
	}
}

// awaitExit is a goroutine that waits for the command's end, records it, and bounds
// the rest of the output: SettleMost while leftover processes hold the pipes, and
// DrainWait once the tree is gone.
func (m *managed) awaitExit() {
	c := m.child
	<-c.done
	m.mu.Lock()
	m.state.exited, m.state.exit, m.state.leftover = true, c.exit, c.leftover
	for _, t := range []*time.Timer{m.runtime, m.idle} {
		if t != nil {
			t.Stop()
		}
	}
	m.mu.Unlock()
	close(m.exited)
	if c.leftover > 0 {
		c.stdout.settle(SettleQuiet, SettleMost)
		c.stderr.settle(SettleQuiet, SettleMost)
	}
	<-c.gone
	c.stdout.finish()
	c.stderr.finish()
	if m.stdin != nil {
		m.stdin.end()
	}
}

// end begins to stop the process; with force it kills it. The first request is the
// one that is recorded, and none is after the command's end. It does not wait.
func (m *managed) end(why stopRequest, keys []core.KeyRecord) {
	m.mu.Lock()
	if m.state.stop == nil && !m.state.exited {
		why.note = m.redact.String(why.note)
		m.state.stop = &why
	}
	m.keys = append(m.keys, keys...)
	m.mu.Unlock()
	m.signalChange()
	if m.child == nil { // it could not start
		return
	}
	if why.force {
		m.kill()
		return
	}
	m.child.beginStop()
}

// kill begins to kill the tree and does not wait.
func (m *managed) kill() { m.child.beginKill() }

func (m *managed) signalChange() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// input writes input, sends a signal or resizes the terminal, and stores the keys of
// the call. Errors: CodeProcessNotRunning, CodeStdinClosed, CodeStdinBusy.
func (m *managed) input(ctx context.Context, in core.ProcessInput) (core.InputResult, error) {
	m.mu.Lock()
	snap, now := m.snapshot(), m.state
	m.mu.Unlock()
	if now.exited {
		now.drained = true
		snap.Status = now.status()
		return core.InputResult{}, core.NotRunning(snap)
	}
	wants := len(in.Data) > 0 || in.EOF
	if wants && m.stdin == nil {
		return core.InputResult{}, core.Errorf(core.CodeStdinClosed, "process %s was started without input", m.id).
			WithHint("Start it with stdin: true, or pty: true.").WithDetail("process_id", m.id)
	}
	if in.Signal != "" {
		m.child.Signal(in.Signal)
	}
	if in.Cols > 0 {
		if err := m.child.Resize(Size{Cols: in.Cols, Rows: in.Rows}); err != nil {
			return core.InputResult{}, core.NotRunning(snap)
		}
	}
	if wants {
		if err := m.stdin.put(in.Data, in.EOF); err != nil {
			return core.InputResult{}, err
		}
	}
	if len(in.Keys) > 0 {
		m.storeKeys(ctx, in.Keys)
	}
	return core.InputResult{Process: m.snapshot(), Before: snap.LastSeq}, nil
}

// storeKeys queues keys for the loop and waits until they are stored, the tree is
// gone or ctx ends.
func (m *managed) storeKeys(ctx context.Context, keys []core.KeyRecord) {
	m.mu.Lock()
	m.keys = append(m.keys, keys...)
	stored := m.keysStored
	m.mu.Unlock()
	m.signalChange()
	select {
	case <-stored:
	case <-m.treeGone:
	case <-ctx.Done():
	}
}

func (m *managed) snapshot() core.ProcessSnapshot {
	if p := m.latest.Load(); p != nil {
		return *p
	}
	return core.ProcessSnapshot{ID: m.id, Owner: m.owner, Status: core.ProcessIsStarting}
}

// loop is the goroutine that writes the journal. It ends when the process has ended,
// nothing is left of its tree and all of its journal is stored, or at shutdown.
// Order: output, then the terminal event, then nothing.
func (m *managed) loop() {
	defer m.s.unregister(m)
	events := m.events
	for events != nil {
		select {
		case c, ok := <-events:
			if !ok {
				events = nil
				break
			}
			if !m.output(c) {
				events = nil
			}
		case <-m.changed:
			m.writeStop()
		case <-m.retryDue():
			m.retry()
		case <-m.journal.Trying():
			m.retry()
		}
	}
	<-m.exited
	m.finish()
	m.finishStoring(m.child.rowDeleted)
}

// finishStoring waits until nothing is left of a process that has ended, and all of
// its journal is stored. Leftover processes keep running until they are closed.
func (m *managed) finishStoring(gone <-chan struct{}) {
	for gone != nil || m.journal.Lost() {
		quit := m.s.quit
		if gone != nil {
			quit = nil // its tree first
		}
		select {
		case <-gone:
			gone = nil
			close(m.treeGone)
		case <-m.changed:
			m.writeStop()
		case <-m.retryDue():
			m.retry()
		case <-m.journal.Trying():
			m.retry()
		case <-quit:
			m.lastTry()
			return
		}
	}
}

// lastTry waits for one attempt to store what is only in memory. The supervisor's
// ctx bounds it.
func (m *managed) lastTry() {
	if m.journal.Trying() == nil {
		m.retry()
	}
	if done := m.journal.Trying(); done != nil {
		<-done
		m.retry()
	}
}

// output stores an output event with those that are queued behind it, up to
// commitBytes. It reports whether there may be more.
func (m *managed) output(c outputEvent) (more bool) {
	var entries []journal.Entry
	var bytes int64
	more = true
	for {
		m.count(c)
		entries = append(entries, journal.Entry{Type: c.stream, At: c.at, Data: c.data})
		if bytes += int64(len(c.data)); bytes >= commitBytes {
			break
		}
		var ok bool
		select {
		case c, ok = <-m.events:
			if ok {
				continue
			}
			more = false
		default:
		}
		break
	}
	m.write(m.takeKeys(), m.stopping(entries)...)
	m.trim(bytes)
	return more
}

// count records the stream's size after an event, and restarts the idle timer.
func (m *managed) count(c outputEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.idle != nil && !m.state.exited {
		m.idle.Reset(m.state.spec.IdleTimeout)
	}
	if c.stream == core.TypeStdout {
		m.state.stdout = c.total
	} else {
		m.state.stderr = c.total
	}
}

// stopping adds process_stopping to entries, once, when there is a stop.
func (m *managed) stopping(entries []journal.Entry) []journal.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if stop := m.state.stop; stop != nil && !m.stopWritten {
		m.stopWritten = true
		entries = append(entries, journal.Entry{Type: core.ProcessStopping, At: time.Now().UTC(),
			Data: encode(dataStopping{stop.cause, stop.reason, stop.note, stop.force})})
	}
	return entries
}

// writeStop stores process_stopping and keys, where they are not stored yet.
func (m *managed) writeStop() {
	entries, keys := m.stopping(nil), m.takeKeys()
	if m.snapshot().Status.Ended() {
		entries = nil
	}
	if len(entries) > 0 || len(keys) > 0 {
		m.write(keys, entries...)
	}
}

func (m *managed) takeKeys() []core.KeyRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.keys
	m.keys = nil
	return keys
}

// finish writes the terminal event, which is the last one.
func (m *managed) finish() {
	m.mu.Lock()
	m.state.drained, m.state.finished = true, time.Now().UTC()
	m.state.stdout, m.state.stderr = m.assembler.total[core.TypeStdout], m.assembler.total[core.TypeStderr]
	p := m.state.snapshot(0, "")
	m.mu.Unlock()
	entries := append(m.stopping(nil), journal.Entry{Type: p.Status.Terminal(), At: p.FinishedAt, Data: p.TerminalData()})
	m.write(m.takeKeys(), entries...)
}

// write commits entries with the snapshot and shows it. Where the server is to
// stop when the store fails, that ends the process.
func (m *managed) write(keys []core.KeyRecord, entries ...journal.Entry) (core.ProcessSnapshot, error) {
	snap, err := m.journal.Write(m.s.ctx, journal.Write{Entries: entries, Keys: keys, Snapshot: func(seq uint64, d core.Durability) core.ProcessRecord {
		m.mu.Lock()
		defer m.mu.Unlock()
		return core.ProcessRecord{Process: m.state.snapshot(seq, d)}
	}})
	m.show(snap, len(keys) > 0)
	if err != nil && m.assembler != nil { // nil: the command is not taken over yet
		m.end(stopRequest{cause: causeStore, force: true}, nil)
	}
	return snap, err
}

// show publishes a snapshot and wakes watchers. keys reports that keys were stored.
func (m *managed) show(snap core.ProcessSnapshot, keys bool) {
	m.latest.Store(&snap)
	m.journal.Wake()
	if keys {
		m.mu.Lock()
		close(m.keysStored)
		m.keysStored = make(chan struct{})
		m.mu.Unlock()
	}
}

// retryDue returns a channel that is ready at the next attempt to store, nil while
// the store works.
func (m *managed) retryDue() <-chan time.Time {
	at := m.journal.RetryAt()
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// retry begins an attempt to store what is only in memory, or completes the one
// that has ended.
func (m *managed) retry() {
	if snap, ok := m.journal.Retry(m.s.ctx); ok {
		m.show(snap, false)
	}
}

// trim deletes the oldest part of the output beyond OutputCap. n is the size of what
// was just stored.
func (m *managed) trim(n int64) {
	part := m.s.opt.OutputCap / capParts
	if k := len(m.marks); k > 0 && m.marks[k-1].bytes < part {
		m.marks[k-1].seq, m.marks[k-1].bytes = m.journal.Seq(), m.marks[k-1].bytes+n
	} else {
		m.marks = append(m.marks, mark{m.journal.Seq(), n})
	}
	m.bytes += n
	before := uint64(0)
	for m.bytes > m.s.opt.OutputCap && len(m.marks) > 1 {
		before, m.bytes = m.marks[0].seq+1, m.bytes-m.marks[0].bytes
		m.marks = slices.Delete(m.marks, 0, 1)
	}
	if before == 0 {
		return
	}
	if err := m.journal.Trim(m.s.ctx, before); err != nil {
		m.s.log.Warn("dropping a process's oldest output", "process", m.id, "err", err)
	}
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("process: " + err.Error()) // structs of strings and numbers always marshal
	}
	return b
}
