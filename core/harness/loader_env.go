package harness

import (
	"maps"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// loaderVars are variables that have a program load or run something else than
// it is asked to, by what reads them; a * matches any end of a name. No such
// list is whole, as every program may read what it likes: it has what programs
// of every kind obey.
var loaderVars = []string{
	// The system: which program a name is, and what is loaded into each.
	"PATH", "PATHEXT", "COMSPEC", "LD_*", "DYLD_*", "GCONV_PATH", "LOCPATH", "GLIBC_TUNABLES", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES",
	// Shells.
	"BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "ZDOTDIR",
	// Interpreters and their virtual machines.
	"PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONBREAKPOINT", "PYTHONINSPECT", "PYTHONWARNINGS", "PYTHONPYCACHEPREFIX",
	"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "NPM_CONFIG_*", "BUN_OPTIONS",
	"PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "LUA_INIT*", "PHPRC", "PHP_INI_SCAN_DIR",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "CORECLR_*", "COR_*",
	// Helpers that programs run.
	"GIT_SSH*", "GIT_CONFIG*", "GIT_EXEC_PATH", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS",
	"GIT_PROXY_COMMAND", "GIT_TEMPLATE_DIR", "SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE",
}

// loads reports whether a variable is among loaderVars. The case of a name does
// not count, as it does not everywhere.
func loads(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(loaderVars, func(v string) bool {
		prefix, open := strings.CutSuffix(v, "*")
		return name == v || open && strings.HasPrefix(name, prefix)
	})
}

// checkLoaderEnv refuses variables by which an allowed program would run
// another one, where only some are allowed.
func (h *Harness) checkLoaderEnv(env map[string]string) error {
	if len(h.limits.AllowExec) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if loads(name) {
			return core.Errorf(core.CodeInvalidArgument, "env has %s, by which a program runs or loads another one; this server allows only some programs (--allow-exec)", name).
				WithHint("Leave %s out, or have the server started with it.", name).WithDetail("field", "env")
		}
	}
	return nil
}
