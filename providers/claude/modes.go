package claude

import (
	"encoding/json"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/core"
)

// permissionModes are the CLI's modes for when to ask. Its own default asks for
// whatever is not read-only, and so do default and prompt. Its "auto" mode,
// where a model decides, is not offered.
var permissionModes = map[core.ApprovalMode]string{
	core.ApprovalDefault:  "default",
	core.ApprovalPrompt:   "default",
	core.ApprovalAutoEdit: "acceptEdits",
	core.ApprovalAuto:     "bypassPermissions",
}

// planMode is the CLI's mode in which it may only read and plan.
const planMode = "plan"

// sandboxSettings returns the CLI's settings of a sandbox mode, nil for none. The
// sandbox is that of commands and is the operating system's; where it is not
// available the CLI refuses to start instead of running without it. Approvals stay what
// approval_mode demands: a sandbox does not answer them.
func sandboxSettings(mode core.SandboxMode, addDirs []string) map[string]any {
	on := map[string]any{
		"enabled": true, "failIfUnavailable": true, "allowUnsandboxedCommands": false, "autoAllowBashIfSandboxed": false,
	}
	switch mode {
	case core.SandboxWorkspaceWrite:
		if len(addDirs) > 0 {
			on["filesystem"] = map[string]any{"allowWrite": rootedPaths(addDirs)}
		}
		return on
	case core.SandboxReadOnly:
		on["filesystem"] = map[string]any{"allowWrite": []string{}, "denyWrite": []string{"//"}}
		return on
	case core.SandboxUnrestricted:
		return map[string]any{"enabled": false}
	}
	return nil
}

// rootedPaths writes absolute paths as the CLI's settings do.
func rootedPaths(dirs []string) []string {
	list := make([]string, len(dirs))
	for i, d := range dirs {
		list[i] = "/" + filepath.ToSlash(d)
	}
	return list
}

// writers are the CLI's own tools that write files without a command. The
// sandbox does not cover them, so read_only removes them.
var writers = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}

// settingsOf returns the settings of a session: the caller's, and the sandbox's
// over them.
func settingsOf(o options, mode core.SandboxMode, addDirs []string) (json.RawMessage, *core.Error) {
	sandbox := sandboxSettings(mode, addDirs)
	if sandbox == nil {
		return o.Settings, nil
	}
	all := map[string]any{}
	if len(o.Settings) > 0 {
		if json.Unmarshal(o.Settings, &all) != nil {
			return nil, core.Errorf(core.CodeInvalidArgument, "provider option %s is not an object", optionSettings)
		}
		if _, both := all["sandbox"]; both {
			return nil, core.Errorf(core.CodeOption, "provider option settings cannot set sandbox together with sandbox_mode").
				WithHint("Use one of them.")
		}
	}
	all["sandbox"] = sandbox
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalidArgument, "provider option settings cannot be written: %w", err)
	}
	return raw, nil
}
