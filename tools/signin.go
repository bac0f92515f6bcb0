package tools

import "fmt"

// logins are the commands with which agents are signed in.
var logins = map[string]string{
	"codex":  "codex login",
	"claude": "claude auth login",
	"pi":     "pi auth login PROVIDER",
}

// signIn says how a provider is signed in.
func signIn(provider string) string {
	how := "Sign in with the agent's own command line"
	if login := logins[provider]; login != "" {
		how = fmt.Sprintf("Sign in with `%s`", login)
	}
	return how + " on the server's machine, or give a key in env, then try again."
}
