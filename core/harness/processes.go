package harness

import (
	"context"
	"slices"
	"strings"

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

// noProcesses is the refusal of a program that runs no processes.
func noProcesses() *core.Error {
	return core.Errorf(core.CodeCapability, "this program runs no processes").WithHint("Use a server of harness-mcp.")
}

// keysFor returns the key of a call, completed with the process that it is about.
func keysFor(k *core.KeyRecord, id string) []core.KeyRecord {
	if k == nil {
		return nil
	}
	rec := *k
	rec.Resource = id
	return []core.KeyRecord{rec}
}

// checkProcess checks what a caller wants to run, and fills in defaults.
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

// checkTerminal checks the size of a terminal.
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

// checkProcessInput checks what a caller sends to a process, before it is looked up.
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

// hostedProcess returns a process, and whether this instance has it. A process that
// another server runs is refused.
func (h *Harness) hostedProcess(ctx context.Context, owner, id string) (core.ProcessSnapshot, bool, error) {
	if p, ok := h.liveProcess(owner, id); ok {
		return p, true, nil
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

// closeProcess stops a process that this instance has. One that has ended is
// returned as it is.
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

// hostsProcess reports whether this instance has a process, or starts it now.
func (h *Harness) hostsProcess(owner, id string) bool {
	if _, starting := h.starting.Load(id); starting {
		return true
	}
	_, ok := h.liveProcess(owner, id)
	return ok
}

// keyedProcess returns what a stored key of StartProcess answers for, as it is now.
func (h *Harness) keyedProcess(ctx context.Context, k core.KeyRecord) (core.ProcessSnapshot, error) {
	res, err := h.getProcess(ctx, k.Owner, k.Resource)
	if err != nil {
		return core.ProcessSnapshot{}, err
	}
	return *res.Process, nil
}

// keyedInput returns what a stored key of SendInput answers for. Where the cursor
// was before the input is not stored: the present one takes its place.
func (h *Harness) keyedInput(ctx context.Context, k core.KeyRecord) (core.InputResult, error) {
	p, err := h.keyedProcess(ctx, k)
	return core.InputResult{Process: p, Before: p.LastSeq}, err
}
