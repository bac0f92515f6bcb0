package codex

import (
	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
)

// approvals are Codex's settings for when to ask. "on-request" is Codex's own
// default: the sandbox is the limit, and the model asks to leave it.
// "untrusted" asks for every command and every patch.
var approvals = map[core.ApprovalMode]string{
	core.ApprovalDefault:  "on-request",
	core.ApprovalPrompt:   "untrusted",
	core.ApprovalAutoEdit: "untrusted", // and this adapter accepts edits
	core.ApprovalAuto:     "never",
}

// sandboxes is the sandbox of thread/start (its name) and of turn/start (the
// type of its policy).
var sandboxes = map[core.SandboxMode]struct{ name, policy string }{
	core.SandboxDefault:        {"workspace-write", "workspaceWrite"},
	core.SandboxReadOnly:       {"read-only", "readOnly"},
	core.SandboxWorkspaceWrite: {"workspace-write", "workspaceWrite"},
	core.SandboxUnrestricted:   {"danger-full-access", "dangerFullAccess"},
}

// modes are the settings for what the agent may do without asking.
type modes struct {
	approval core.ApprovalMode
	sandbox  core.SandboxMode
}

// normal fills in the defaults.
func (m modes) normal() modes {
	if m.approval == "" {
		m.approval = core.ApprovalDefault
	}
	if m.sandbox == "" {
		m.sandbox = core.SandboxDefault
	}
	return m
}

// check returns an error for modes that Codex cannot combine. Edits cannot pass
// where nothing may be written.
func (m modes) check() *core.Error {
	if _, ok := approvals[m.approval]; !ok {
		return core.Errorf(core.CodeOption, "codex has no approval mode %q", m.approval).
			WithHint("Use default, prompt, auto_edit or auto_approve.")
	}
	if _, ok := sandboxes[m.sandbox]; !ok {
		return core.Errorf(core.CodeOption, "codex has no sandbox mode %q", m.sandbox).
			WithHint("Use default, read_only, workspace_write or unrestricted.")
	}
	if m.approval == core.ApprovalAutoEdit && m.sandbox == core.SandboxReadOnly {
		return core.Errorf(core.CodeOption, "approval mode auto_edit lets edits pass, and sandbox mode read_only forbids them").
			WithHint("Use workspace_write with auto_edit, or prompt with read_only.")
	}
	return nil
}

// policy returns the sandbox as turn/start takes it. known is the policy that
// the thread began with: where the kind is the same, its details stay.
func (m modes) policy(known *wire.SandboxPolicy, addDirs []string) *wire.SandboxPolicy {
	kind := sandboxes[m.sandbox].policy
	if known != nil && known.Type == kind {
		return known
	}
	no := false
	switch kind {
	case "workspaceWrite":
		return &wire.SandboxPolicy{Type: kind, WritableRoots: addDirs, NetworkAccess: &no, ExcludeTmpdirEnvVar: &no, ExcludeSlashTmp: &no}
	case "readOnly":
		return &wire.SandboxPolicy{Type: kind, NetworkAccess: &no}
	}
	return &wire.SandboxPolicy{Type: kind}
}
