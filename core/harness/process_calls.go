package harness

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// StartProcess runs a command and returns when its start is stored. One that
// cannot be run is a failed process, and no error. An idempotency key that the
// store does not take is kept in memory, and the process starts degraded: a
// repeated call to this server finds it, one to another server, or after a crash
// of this one, does not. With StopOnStoreFailure it is CodeStoreFailed instead.
//
// Errors: CodeInvalidArgument, CodeForbiddenPath, CodeForbiddenExecutable,
// CodeCapacity, CodeDepth, CodeCapability where this program runs no processes,
// CodeIdempotency, CodeStoreFailed, CodeShuttingDown.
func (h *Harness) StartProcess(ctx context.Context, c core.Caller, r core.StartProcessRequest) (core.ProcessSnapshot, error) {
	return once(ctx, h, c, r.Once, h.keyedProcess, func(ctx context.Context, k *core.KeyRecord) (core.ProcessSnapshot, error) {
		if h.processes == nil {
			return core.ProcessSnapshot{}, noProcesses()
		}
		if err := h.refuseIfDown(); err != nil {
			return core.ProcessSnapshot{}, err
		}
		spec := r.Spec
		if err := checkProcess(&spec); err != nil {
			return core.ProcessSnapshot{}, err
		}
		if err := h.checkLoaderEnv(spec.Env); err != nil {
			return core.ProcessSnapshot{}, err
		}
		cwd, err := h.dir(c, "cwd", spec.CWD)
		if err != nil {
			return core.ProcessSnapshot{}, err
		}
		spec.CWD = cwd
		start := core.ProcessStart{
			ID: core.NewID(core.PrefixProcess), Owner: c.Owner, Spec: spec, Secrets: h.secrets(core.SessionConfig{Env: spec.Env}),
			AllowExec: h.limits.AllowExec, MaxLive: h.limits.MaxProcesses, MaxLivePerOwner: h.limits.MaxProcessesPerOwner,
		}
		start.Keys = keysFor(k, start.ID)
		// Before the command runs: two servers with one journal run it once.
		if err := h.claimKey(ctx, k); err != nil {
			return core.ProcessSnapshot{}, err
		}
		h.telemetry.Count(core.Signal{Name: core.ProcessWasStarted})
		h.starting.Store(start.ID, true)
		defer h.starting.Delete(start.ID)
		p, err := h.processes.Start(ctx, start)
		h.freeKey(k, err, start.Keys...)
		return p, err
	})
}

func noProcesses() *core.Error {
	return core.Errorf(core.CodeCapability, "this program runs no processes").WithHint("Use a server of harness-mcp.")
}

// keysFor completes the key of a call with the process that it is about.
func keysFor(k *core.KeyRecord, id string) []core.KeyRecord {
	if k == nil {
		return nil
	}
	rec := *k
	rec.Resource = id
	return []core.KeyRecord{rec}
}

func checkProcess(s *core.ProcessSpec) error {
	bad := func(field, format string, args ...any) error {
		return core.Errorf(core.CodeInvalidArgument, format, args...).WithDetail("field", field)
	}
	if s.EnvMode == "" {
		s.EnvMode = core.EnvOverlay
	}
	switch {
	case strings.TrimSpace(s.Executable) == "":
		return bad("executable", "executable is empty")
	case isCommandLine(s.Executable):
		return refuseCommandLine(*s)
	case s.EnvMode != core.EnvOverlay && s.EnvMode != core.EnvReplace:
		return bad("env_mode", "env_mode is overlay or replace, not %q", s.EnvMode)
	case s.RuntimeTimeout < 0 || s.IdleTimeout < 0:
		return bad("runtime_timeout_ms", "a timeout is negative")
	case !s.PTY && (s.Cols != 0 || s.Rows != 0):
		return bad("cols", "cols and rows are for a process with pty")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return bad("env", "env has the name %q, which no variable can have", name)
		}
	}
	if !s.PTY {
		return nil
	}
	s.Stdin = true
	if s.Cols == 0 {
		s.Cols = 80
	}
	if s.Rows == 0 {
		s.Rows = 24
	}
	return checkTerminal(s.Cols, s.Rows)
}

func checkTerminal(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > core.MaxTerminal || rows > core.MaxTerminal {
		return core.Errorf(core.CodeInvalidArgument, "a terminal has 1 to %d cols and rows, not %d and %d", core.MaxTerminal, cols, rows).WithDetail("field", "cols")
	}
	return nil
}

// SendInput writes to a process, signals it or resizes its terminal, and
// returns when the input is held for it.
//
// Errors: CodeInvalidArgument, CodeTooLarge, CodeNotFound,
// CodeProcessNotRunning, CodeStdinClosed, CodeStdinBusy, CodeOtherInstance,
// CodeIdempotency, CodeStoreFailed, CodeResponseUncertain for a key whose call
// was cut off.
func (h *Harness) SendInput(ctx context.Context, c core.Caller, r core.InputRequest) (core.InputResult, error) {
	return once(ctx, h, c, r.Once, h.keyedInput, func(ctx context.Context, k *core.KeyRecord) (core.InputResult, error) {
		if err := checkProcessInput(r.Input); err != nil {
			return core.InputResult{}, err
		}
		p, hosted, err := h.hostedProcess(ctx, c.Owner, r.ProcessID)
		if err != nil {
			return core.InputResult{}, err
		}
		if !hosted {
			return core.InputResult{}, core.NotRunning(p)
		}
		if err := h.claimKey(ctx, k); err != nil {
			return core.InputResult{}, err
		}
		in := r.Input
		in.Keys = keysFor(k, r.ProcessID)
		res, err := h.processes.Input(ctx, c.Owner, r.ProcessID, in)
		h.freeKey(k, err, in.Keys...)
		return res, err
	})
}

func checkProcessInput(in core.ProcessInput) error {
	switch {
	case len(in.Data) > core.MaxInput:
		return core.Errorf(core.CodeTooLarge, "the input has %d bytes; at most %d are taken at a time", len(in.Data), core.MaxInput).
			WithHint("Write it in pieces, or to a file that the process reads.").WithDetail("bytes", len(in.Data)).WithDetail("limit", core.MaxInput)
	case in.Signal != "" && !slices.Contains(core.ProcessSignals, in.Signal):
		return core.Errorf(core.CodeInvalidArgument, "there is no signal %q to send", in.Signal).
			WithHint("Signals: %s. close ends a process.", strings.Join(core.ProcessSignals, ", ")).WithDetail("field", "signal")
	case len(in.Data) == 0 && !in.EOF && in.Signal == "" && in.Cols == 0 && in.Rows == 0:
		return core.Errorf(core.CodeInvalidArgument, "there is nothing to send").WithHint("Give data, data_base64, eof, signal, or cols and rows.")
	case in.Cols != 0 || in.Rows != 0:
		return checkTerminal(in.Cols, in.Rows)
	}
	return nil
}

// hostedProcess gives a process and whether this instance has it. One that
// another server runs is refused.
func (h *Harness) hostedProcess(ctx context.Context, owner, id string) (core.ProcessSnapshot, bool, error) {
	if h.processes != nil {
		if p, ok := h.processes.Get(owner, id); ok {
			return p, true, nil
		}
	}
	res, err := h.Get(ctx, owner, id)
	switch {
	case core.CodeOf(err) == core.CodeNotFound:
		return core.ProcessSnapshot{}, false, notFound("process", id)
	case err != nil:
		return core.ProcessSnapshot{}, false, err
	case res.Kind != core.KindProcess:
		return core.ProcessSnapshot{}, false, core.Errorf(core.CodeInvalidArgument, "%s is a %s, not a process", id, res.Kind).WithHint("Use the process_id of start_process.")
	case !res.Process.Status.Ended():
		return *res.Process, false, core.Errorf(core.CodeOtherInstance, "process %s is run by another server on this machine", id).
			WithHint("Reading works here (await, inspect, replay); send commands to the server that started it.")
	}
	return *res.Process, false, nil
}

func (h *Harness) closeProcess(ctx context.Context, c core.Caller, r core.CloseRequest, k *core.KeyRecord) (core.Resource, error) {
	p, hosted, err := h.hostedProcess(ctx, c.Owner, r.ID)
	if err != nil {
		return core.Resource{}, err
	}
	if hosted {
		stop := core.ProcessStop{Force: r.Force, Note: r.Reason, Keys: keysFor(k, r.ID)}
		if r.Force {
			stop.Reason = core.ReasonForcedStop
		}
		if p, err = h.processes.Stop(ctx, c.Owner, r.ID, stop); err != nil {
			return core.Resource{}, err
		}
	}
	return core.Resource{Kind: core.KindProcess, ID: r.ID, Process: &p}, nil
}

// endProcesses stops all processes at the end of the server.
func (h *Harness) endProcesses(ctx context.Context) error {
	if h.processes == nil {
		return nil
	}
	return h.processes.Shutdown(ctx)
}

func (h *Harness) getProcess(ctx context.Context, owner, id string) (core.Resource, error) {
	if h.processes != nil {
		if p, ok := h.processes.Get(owner, id); ok {
			return core.Resource{Kind: core.KindProcess, ID: id, Process: &p}, nil
		}
	}
	sctx, cancel := h.short(ctx)
	defer cancel()
	rec, err := h.store.Process(sctx, owner, id)
	if err != nil {
		if core.CodeOf(err) == core.CodeNotFound {
			return core.Resource{}, notFound("process", id)
		}
		return core.Resource{}, core.StoreError(err)
	}
	if h.orphanedProcess(rec) && h.failOrphan(ctx, rec) == nil {
		if again, err := h.store.Process(sctx, owner, id); err == nil {
			rec = again
		}
	}
	return core.Resource{Kind: core.KindProcess, ID: id, Process: &rec.Process}, nil
}

func (h *Harness) listProcesses(ctx context.Context, q core.ListQuery) ([]core.Resource, []string, error) {
	recs, err := settled(func() ([]core.ProcessRecord, error) { return h.store.Processes(ctx, q) },
		func(r core.ProcessRecord) bool { return h.orphanedProcess(r) && h.failOrphan(ctx, r) == nil })
	var items []core.Resource
	var cursors []string
	have := map[string]bool{}
	for _, r := range recs {
		p := r.Process
		if h.processes != nil {
			if now, ok := h.processes.Get(p.Owner, p.ID); ok {
				p = now
			}
		}
		have[p.ID] = true
		items = append(items, core.Resource{Kind: core.KindProcess, ID: p.ID, Process: &p})
		cursors = append(cursors, core.Cursor(r.Process.CreatedAt, r.Process.ID))
	}
	if err != nil || q.Before != "" || h.processes == nil {
		return items, cursors, err
	}
	var extra []core.Resource // those that the store failed to take
	for _, p := range h.processes.All(q.Owner) {
		if !have[p.ID] && p.Durability == core.DurabilityDegraded && (len(q.Status) == 0 || slices.Contains(q.Status, string(p.Status))) &&
			(q.Live == nil || *q.Live != p.Status.Ended()) {
			extra = append(extra, core.Resource{Kind: core.KindProcess, ID: p.ID, Process: &p})
		}
	}
	slices.SortFunc(extra, func(x, y core.Resource) int { return y.Process.CreatedAt.Compare(x.Process.CreatedAt) })
	return append(extra, items...), append(make([]string, len(extra)), cursors...), nil
}

// orphanedProcess says that the server of a live process is gone, or that this
// one does not have it: it took it over and was kept from finishing, or gave it
// up and its row came to the disk after that.
func (h *Harness) orphanedProcess(rec core.ProcessRecord) bool {
	switch {
	case rec.Process.Status.Ended():
		return false
	case rec.Instance == h.store.Instance():
		// The row was read before this look: a process that has ended between
		// the two has left a row that failOrphan finds at rest.
		return !h.hostsProcess(rec.Process.Owner, rec.Process.ID)
	}
	return !h.store.Alive(rec.Instance)
}

func (h *Harness) hostsProcess(owner, id string) bool {
	if _, starting := h.starting.Load(id); starting {
		return true
	}
	if h.processes == nil {
		return false
	}
	_, ok := h.processes.Get(owner, id)
	return ok
}

// recoverProcesses fails the live processes of dead servers.
func (h *Harness) recoverProcesses(ctx context.Context) {
	live := true
	before := ""
	for {
		recs, err := h.store.Processes(ctx, core.ListQuery{Owner: core.AllOwners, Live: &live, Before: before, Limit: core.DefaultPage})
		if err != nil {
			if ctx.Err() == nil {
				h.log.Warn("looking for processes of dead servers", "err", err)
			}
			return
		}
		for _, rec := range recs {
			if h.orphanedProcess(rec) {
				if err := h.failOrphan(ctx, rec); err != nil && core.CodeOf(err) != core.CodeOtherInstance {
					h.log.Warn("reconciling a process", "process", rec.Process.ID, "err", err)
				}
			}
			before = core.Cursor(rec.Process.CreatedAt, rec.Process.ID)
		}
		if len(recs) < core.DefaultPage {
			return
		}
	}
}

// failOrphan ends in the journal what a dead server ran: its guards, or the
// reaper, have ended it in fact. Only the server that wins the row does it.
func (h *Harness) failOrphan(ctx context.Context, rec core.ProcessRecord) error {
	p := rec.Process
	unlock, err := h.takeOver(ctx, p.Owner, p.ID, rec.Instance)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err = h.store.Process(ctx, p.Owner, p.ID)
	if err != nil {
		return core.StoreError(err)
	}
	if p = rec.Process; p.Status.Ended() {
		h.atRest(p.Owner, p.ID)
		return nil
	}
	seq, err := h.store.LastSeq(ctx, p.Owner, p.ID)
	if err != nil {
		return core.StoreError(err)
	}
	now := time.Now().UTC()
	ended, err := h.lastHeard(ctx, p, now)
	if err != nil {
		return core.StoreError(err)
	}
	p.Status, p.Reason, p.FinishedAt, p.LastSeq = core.ProcessDoneFailed, h.recoveryReason(p.Owner, p.ID, p.Durability), ended, seq+1
	b := core.Batch{Owner: p.Owner, Resource: p.ID, Instance: h.store.Instance(), ExpectSeq: seq,
		Process: &core.ProcessRecord{Process: p, Launch: rec.Launch},
		Events: []core.Event{{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: p.ID, Seq: seq + 1, Type: core.ProcessFailed, At: now,
			Data: p.TerminalData()}}}
	return h.putToRest(ctx, b)
}

// lastHeard is when a process of a dead server wrote its last event: it ended
// with its server, and how long it lay until somebody looked is not its time.
func (h *Harness) lastHeard(ctx context.Context, p core.ProcessSnapshot, now time.Time) (time.Time, error) {
	events, err := h.store.Events(ctx, core.EventQuery{Owner: p.Owner, Resource: p.ID, Tail: true, Limit: 1})
	if err != nil || len(events) == 0 {
		return now, err
	}
	return events[0].At.UTC(), nil
}

// pruneProcess deletes one ended process, and ends what it left behind.
func (h *Harness) pruneProcess(ctx context.Context, c core.Caller, p core.ProcessSnapshot, dry bool) ([]string, error) {
	if !p.Status.Ended() {
		return nil, core.Errorf(core.CodeResourceActive, "process %s is %s", p.ID, p.Status).WithHint("close {id: %q} ends it first.", p.ID)
	}
	if dry {
		return []string{p.ID}, nil
	}
	if h.processes != nil {
		if _, ok := h.processes.Get(p.Owner, p.ID); ok {
			if _, err := h.processes.Stop(ctx, p.Owner, p.ID, core.ProcessStop{Force: true}); err != nil {
				return nil, err
			}
		}
	}
	if err := h.store.Delete(ctx, p.Owner, p.ID); err != nil {
		return nil, core.StoreError(err)
	}
	return []string{p.ID}, nil
}

func (h *Harness) pruneProcesses(ctx context.Context, owner string, before time.Time, dry bool) ([]string, error) {
	live := false
	var ids []string
	for cursor := ""; ; {
		recs, err := h.store.Processes(ctx, core.ListQuery{Owner: owner, Live: &live, EndedBefore: before, Before: cursor, Limit: core.DefaultPage})
		if err != nil {
			return ids, core.StoreError(err)
		}
		for _, rec := range recs {
			p := rec.Process
			cursor = core.Cursor(p.CreatedAt, p.ID)
			one, err := h.pruneProcess(ctx, core.Caller{Owner: p.Owner}, p, dry)
			if err != nil {
				return ids, err
			}
			ids = append(ids, one...)
		}
		if len(recs) < core.DefaultPage {
			return ids, nil
		}
	}
}

func (h *Harness) keyedProcess(ctx context.Context, k core.KeyRecord) (core.ProcessSnapshot, error) {
	res, err := h.getProcess(ctx, k.Owner, k.Resource)
	if err != nil {
		return core.ProcessSnapshot{}, err
	}
	return *res.Process, nil
}

func (h *Harness) keyedInput(ctx context.Context, k core.KeyRecord) (core.InputResult, error) {
	p, err := h.keyedProcess(ctx, k)
	return core.InputResult{Process: p, Before: p.LastSeq}, err
}
