package main

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// defaultTokenEnv is the variable with the token when none is named.
const defaultTokenEnv = "HARNESS_MCP_TOKEN"

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// overHTTP prints the entry of a server that is reached over HTTP. The token is
// read from the client's environment and is not in the entry, since entries are
// copied, shown and committed.
func (k *configCmd) overHTTP(w io.Writer, flags []string) error {
	at, err := k.url(flags)
	if err != nil {
		return err
	}
	name := k.TokenEnv
	if name == "" {
		name = defaultTokenEnv
	}
	if !variableName.MatchString(name) {
		return usageErrorf("Give the variable's name, not the token.", "--token-env is no name of an environment variable")
	}
	fmt.Fprintf(w, "%s Start the client with %s set to the token.\n", map[bool]string{true: "#", false: "//"}[k.Client == "claude" || k.Client == "codex"], name)
	header := func(value string) map[string]any {
		return map[string]any{"type": "http", "url": at, "headers": map[string]any{"Authorization": "Bearer " + value}}
	}
	switch k.Client {
	case "codex":
		_, err := fmt.Fprintf(w, codexOverHTTP, quoted(at), quoted(name))
		return err
	case "claude":
		add := []string{"claude", "mcp", "add", "--scope", "user", "--transport", "http", "harness", at, "--header", "Authorization: Bearer ${" + name + "}"}
		fmt.Fprintf(w, "# Run this once; it holds in every folder of yours:\n%s\n\n# or put this into .mcp.json of one project:\n", shellWords(add))
		return jsonEntry(w, "mcpServers", header("${"+name+"}"))
	case "vscode":
		fmt.Fprintln(w, "// .vscode/mcp.json")
		return jsonEntry(w, "servers", header("${env:"+name+"}"))
	}
	fmt.Fprintln(w, "// ~/.cursor/mcp.json")
	entry := header("${env:" + name + "}")
	delete(entry, "type")
	return jsonEntry(w, "mcpServers", entry)
}

const codexOverHTTP = `# ~/.codex/config.toml
[mcp_servers.harness]
url = %s
bearer_token_env_var = %s
# A call may wait for an agent: longer than our own 45 s.
tool_timeout_sec = 120
# Without a person to ask, Codex fails tools that it may not approve by itself.
default_tools_approval_mode = "approve"
`

// url returns the server's URL with the path of its MCP endpoint.
func (k *configCmd) url(flags []string) (string, error) {
	switch {
	case k.HTTP == "":
		return "", usageErrorf("Give --http URL too.", "--token-env is for --http")
	case k.Background || k.Address != "":
		return "", usageErrorf("Give --background for a server of your own, or --http for one that runs.", "--http goes with neither --background nor --address")
	case len(flags) > 0:
		return "", usageErrorf("Give them to harness-mcp serve.", "%s is for the server, which this entry does not start", strings.SplitN(flags[0], "=", 2)[0])
	}
	at, err := url.Parse(k.HTTP)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return "", usageErrorf("Give it as the server prints it: http://127.0.0.1:7333/mcp.", "--http is no URL of a server")
	}
	if at.Path == "" || at.Path == "/" {
		at.Path = transport.PathMCP
	}
	return at.String(), nil
}
