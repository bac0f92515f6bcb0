package claude

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/claude/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// Values in `claude auth status` for a login at claude.ai.
const (
	subscriptionMethod = "claude.ai"
	firstParty         = "firstParty"
)

// rerouteSettings are settings that bring another credential or another
// address; a session on the subscription cannot have them.
var rerouteSettings = []string{"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "env", "forceLoginMethod", "gcpAuthRefresh", "proxyAuthHelper"}

// checkSubscription reports whether the session would be billed to a claude.ai
// login and to nothing else. Whatever cannot be read is refused.
//
// Errors: CodeOption for a session that asks for both, CodeProviderNotReady.
func (p *provider) checkSubscription(ctx context.Context, exe link.Executable, cfg core.SessionConfig, o options, env []string) error {
	for name := range cfg.Env {
		if rerouting(name) {
			return core.Errorf(core.CodeOption, "env sets %s, which does not go with auth subscription", name).
				WithHint("Leave it out, or use auth inherit.")
		}
	}
	var given map[string]json.RawMessage
	if len(o.Settings) > 0 && json.Unmarshal(o.Settings, &given) != nil {
		return core.Errorf(core.CodeInvalidArgument, "provider option settings is not an object")
	}
	for name := range given {
		if slices.Contains(rerouteSettings, name) {
			return core.Errorf(core.CodeOption, "provider option settings sets %s, which does not go with auth subscription", name).
				WithHint("Leave it out, or use auth inherit.")
		}
	}
	out, err := link.Run(ctx, p.Runner, process.Spec{
		Path: exe.Path, Args: []string{"auth", "status", "--json"}, Dir: cfg.CWD, Env: env,
	})
	if err != nil {
		return core.Errorf(core.CodeProviderNotReady, "claude auth status failed: %w", err)
	}
	var s struct {
		LoggedIn    bool   `json:"loggedIn"`
		AuthMethod  string `json:"authMethod"`
		APIProvider string `json:"apiProvider"`
	}
	switch {
	case json.Unmarshal([]byte(out.Stdout), &s) != nil:
		return notSubscribed("claude auth status cannot be read")
	case !s.LoggedIn:
		return notSubscribed("nobody is signed in")
	case s.AuthMethod != subscriptionMethod:
		return notSubscribed("the credential is " + s.AuthMethod)
	case s.APIProvider != firstParty:
		return notSubscribed("the models are those of " + s.APIProvider)
	}
	return nil
}

func notSubscribed(why string) *core.Error {
	return core.Errorf(core.CodeProviderNotReady, "Claude Code is not on a subscription: %s", why).
		WithHint("Sign in with `" + login + "`, or use auth inherit.")
}

// checkAccount checks again once the CLI has read all of its settings.
func checkAccount(r wire.Initialized) error {
	a := r.Account
	switch {
	case a.APIKeySource != "" && a.APIKeySource != "none":
		return notSubscribed("Claude Code took an API key from " + a.APIKeySource)
	case a.APIProvider != "" && a.APIProvider != firstParty:
		return notSubscribed("the models are those of " + a.APIProvider)
	}
	return nil
}
