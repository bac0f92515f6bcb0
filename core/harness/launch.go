package harness

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// checkConfig completes a configuration and refuses what cannot be had, before
// anything is opened.
func (h *Harness) checkConfig(c core.Caller, cfg *core.SessionConfig) (core.Provider, core.Capabilities, error) {
	var none core.Capabilities
	p, ok := h.providers[cfg.Provider]
	if !ok {
		return nil, none, core.Errorf(core.CodeProviderUnknown, "there is no provider %q", cfg.Provider).
			WithHint("Providers: %s. list_providers shows which are ready.", strings.Join(h.names, ", ")).WithDetail("providers", h.names)
	}
	t, ok := p.Spec().Transport(cfg.Transport)
	if !ok {
		return nil, none, core.Errorf(core.CodeOption, "provider %s has no transport %q", cfg.Provider, cfg.Transport).
			WithHint("list_providers {provider: %q} shows them.", cfg.Provider)
	}
	cfg.Transport = t.Name
	cfg.SetDefaults()
	if h.limits.AnswerByUser {
		cfg.AnswerBy = core.AnswerByUser
	}
	if err := checkModes(*cfg, t); err != nil {
		return nil, none, err
	}
	if err := core.CheckCapabilities(*cfg, t.Capabilities); err != nil {
		return nil, none, err
	}
	if err := checkOptions(*cfg, p.Spec()); err != nil {
		return nil, none, err
	}
	if err := h.checkLoaderEnv(cfg.Env); err != nil {
		return nil, none, err
	}
	if err := h.checkSchema(cfg.OutputSchema); err != nil {
		return nil, none, err
	}
	if err := h.checkDirs(c, cfg); err != nil {
		return nil, none, err
	}
	cfg.NameUnstored()
	return p, t.Capabilities, nil
}

// checkModes checks the modes against what the transport lists.
//
// Errors: CodeOption for a mode that it does not have; CodeInvalidArgument for a
// value that no transport has.
func checkModes(cfg core.SessionConfig, t core.TransportSpec) error {
	bad := func(what, got string, have string) error {
		return core.Errorf(core.CodeOption, "provider %s cannot do %s %q", cfg.Provider, what, got).WithHint("It can do: %s.", have)
	}
	if cfg.ApprovalMode != core.ApprovalDefault && !slices.Contains(t.Approval, cfg.ApprovalMode) {
		return bad("approval_mode", string(cfg.ApprovalMode), core.JoinList(t.Approval))
	}
	if cfg.SandboxMode != core.SandboxDefault && !slices.Contains(t.Sandbox, cfg.SandboxMode) {
		return bad("sandbox_mode", string(cfg.SandboxMode), core.JoinList(t.Sandbox))
	}
	if cfg.ReasoningEffort != "" && !slices.Contains(t.Efforts, cfg.ReasoningEffort) {
		return bad("reasoning_effort", cfg.ReasoningEffort, cmp.Or(core.JoinList(t.Efforts), "none"))
	}
	if cfg.EnvMode != core.EnvOverlay && cfg.EnvMode != core.EnvReplace {
		return core.Errorf(core.CodeInvalidArgument, "env_mode is overlay or replace, not %q", cfg.EnvMode)
	}
	if cfg.AnswerBy != core.AnswerByCaller && cfg.AnswerBy != core.AnswerByUser {
		return core.Errorf(core.CodeInvalidArgument, "answer_by is caller or user, not %q", cfg.AnswerBy)
	}
	return nil
}

// checkOptions checks the names of provider_options, not their values.
//
// Errors: CodeOption with all unknown names in order.
func checkOptions(cfg core.SessionConfig, spec core.Spec) error {
	var unknown, known []string
	for _, o := range spec.Options {
		known = append(known, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.ProviderOptions)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return core.Errorf(core.CodeOption, "provider %s has no provider_options %s", cfg.Provider, strings.Join(unknown, ", ")).
		WithHint("It has: %s.", cmp.Or(strings.Join(known, ", "), "none"))
}

// checkDirs makes the directories absolute, checks that they exist and keeps
// them inside the allowed ones, symbolic links resolved.
func (h *Harness) checkDirs(c core.Caller, cfg *core.SessionConfig) error {
	cwd, err := h.dir(c, "cwd", cfg.CWD)
	if err != nil {
		return err
	}
	cfg.CWD = cwd
	dirs := make([]string, len(cfg.AddDirs))
	for i, d := range cfg.AddDirs {
		if dirs[i], err = h.dir(c, "add_dirs", d); err != nil {
			return err
		}
	}
	if len(dirs) > 0 {
		cfg.AddDirs = dirs
	}
	return nil
}

// dir returns the absolute path of an existing directory. With AllowDirs the path
// is compared after its symbolic links are resolved, so that a link does not lead
// outside.
//
// Errors: CodeInvalidArgument; CodeForbiddenPath outside of AllowDirs.
func (h *Harness) dir(c core.Caller, field, path string) (string, error) {
	path, err := resolveDir(c, field, path)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path) // "" is this process's own directory
	if err == nil {
		var st os.FileInfo
		if st, err = os.Stat(abs); err == nil && !st.IsDir() {
			err = errors.New("it is not a directory")
		}
	}
	if err != nil {
		return "", core.Errorf(core.CodeInvalidArgument, "%s %q cannot be used: %w", field, path, plainPathError(err)).
			WithHint("Give the absolute path of a directory that exists on the server's machine.").WithDetail("field", field)
	}
	if len(h.limits.AllowDirs) == 0 {
		return abs, nil
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil && slices.ContainsFunc(h.limits.AllowDirs, func(allowed string) bool { return within(allowed, real) }) {
		return abs, nil
	}
	return "", core.Errorf(core.CodeForbiddenPath, "%s %q is outside the allowed directories", field, path).
		WithHint("Allowed: %s (--allow-dir).", strings.Join(h.limits.AllowDirs, ", "))
}

// resolveDir returns a directory of a call relative to the caller's own.
func resolveDir(c core.Caller, field, path string) (string, error) {
	switch {
	case filepath.IsAbs(path):
		return path, nil
	case c.Directory != "":
		return filepath.Join(c.Directory, path), nil
	case path == "" || !c.Elsewhere: // the directory of this process
		return path, nil
	}
	return "", core.Errorf(core.CodeInvalidArgument, "%s %q is relative, and this client has not said where it works", field, path).
		WithHint("Give the absolute path of a directory that exists on the server's machine.").WithDetail("field", field)
}

// worksNowhere reports whether work that names no directory is done in the
// server's own, which means nothing to the caller.
func worksNowhere(c core.Caller, cwd string) bool {
	return cwd == "" && c.Elsewhere && c.Directory == ""
}

// plainPathError returns the reason of a path error without the system call.
func plainPathError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// within reports whether path is inside dir, symbolic links of dir resolved.
func within(dir, path string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(real, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
