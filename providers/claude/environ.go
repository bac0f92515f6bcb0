package claude

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// environ builds the CLI's environment. tmp is the session's own directory for
// temporary files: in a shared one the CLI's sessions of one user can send
// messages to each other.
func environ(base []string, cfg core.SessionConfig, o options, tmp string) []string {
	env := process.Environ(base, cfg.Env, cfg.UnsetEnv, cfg.EnvMode == core.EnvReplace)
	if o.Auth == authSubscription {
		env = slices.DeleteFunc(env, func(kv string) bool { return rerouting(nameOf(kv)) })
	}
	for name, value := range map[string]string{
		"TMPDIR":              tmp, // the caller's own, if there is one, stays
		"DISABLE_AUTOUPDATER": "1", // the executable must not be replaced during a session
	} {
		if _, given := cfg.Env[name]; given {
			continue
		}
		env = slices.DeleteFunc(env, func(kv string) bool { return nameOf(kv) == name })
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func nameOf(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

func valueOf(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// reroutes are variables that send model calls elsewhere or have them billed
// elsewhere; a trailing * stands for whatever follows.
var reroutes = []string{
	"ANTHROPIC_*", "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_AGENT_OAUTH_TOKEN", "CLAUDE_CODE_API_*", "CLAUDE_CODE_CUSTOM_OAUTH_URL",
	"CLAUDE_CODE_CLIENT_*", "CLAUDE_CODE_HOST_*", "CLAUDE_CODE_OAUTH_*", "CLAUDE_CODE_PROVIDER_*", "CLAUDE_CODE_SIMPLE",
	"CLAUDE_CODE_SKIP_*", "CLAUDE_CODE_USE_*", "CLOUD_ML_REGION", "USE_LOCAL_OAUTH", "USE_STAGING_OAUTH", "VERTEX_*",
}

// rerouting reports whether a variable would bypass the subscription.
func rerouting(name string) bool {
	for _, r := range reroutes {
		prefix, wild := strings.CutSuffix(r, "*")
		if name == r || wild && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// checkRoot refuses what the CLI refuses: to bypass permissions as root, unless
// the caller declares the machine a sandbox.
func checkRoot(mode string, env []string) *core.Error {
	if mode != permissionModes[core.ApprovalAuto] || runtime.GOOS == "windows" || os.Geteuid() != 0 || valueOf(env, "IS_SANDBOX") == "1" {
		return nil
	}
	return rootError()
}

func rootError() *core.Error {
	return core.Errorf(core.CodeOption, "Claude Code does not run as root with approval_mode auto_approve").
		WithHint("Run the server as another user, use approval_mode auto_edit or default, or, if this machine is a sandbox, pass env {\"IS_SANDBOX\": \"1\"}.")
}
