package tools

import "fmt"

// signIn says how a provider is signed in: by its own command, "" where it has
// none.
func signIn(login string) string {
	how := "Sign in with the agent's own command line"
	if login != "" {
		how = fmt.Sprintf("Sign in with `%s`", login)
	}
	return how + " on the server's machine, or give a key in env, then try again."
}
