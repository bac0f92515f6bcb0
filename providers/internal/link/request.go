package link

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

// ApprovalActions returns the answers to an approval.
func ApprovalActions() []core.Action {
	return []core.Action{core.ActionApprove, core.ActionDeny, core.ActionCancel}
}

// BothScopes returns the scopes of an approval that may hold for the session.
func BothScopes() []core.Scope { return []core.Scope{core.ScopeOnce, core.ScopeSession} }

// ElicitationSpec declares the question of an MCP server: a form, or a page that
// the user is to open.
func ElicitationSpec(server, prompt string, page bool, url string, schema json.RawMessage) core.RequestSpec {
	spec := core.RequestSpec{Kind: core.KindMCPElicitation, Prompt: prompt, Schema: schema,
		Actions: []core.Action{core.ActionAnswer, core.ActionDeny, core.ActionCancel}, Details: &core.RequestDetails{Tool: server}}
	if page {
		spec.Kind, spec.Prompt, spec.Schema, spec.Actions = core.KindConfirmation, prompt+"\n"+url, nil, ApprovalActions()
	}
	return spec
}
