package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/examples/internal/harness/built"
)

func TestEachAgentWorksForTheOther(t *testing.T) {
	o := options{
		claude: built.CLI(t, "HARNESS_MCP_TEST_CLAUDE"), codex: built.CLI(t, "HARNESS_MCP_TEST_CODEX"), server: built.Server(t),
	}
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	if err := run(t.Context(), &out, o); err != nil {
		t.Fatalf("%v after\n%s", err, out.String())
	}
	rest := out.String()
	for _, want := range []string{ // in this order
		`One server for both: http://127\.0\.0\.1:`,
		`== claude delegates to codex ==`, `you -> claude: call delegate`, `codex waits for claude: .*touch .*made-for-claude.*the file is there: false`,
		`you -> claude: call respond`, `made-for-claude is there`, `claude sees 1, its own`, `turn_accepted`, `request_created`,
		`request_resolved: approve, by its caller claude-code`, `message: The file is made`, `turn_completed`,
		`== codex delegates to claude ==`, `you -> codex: call delegate`, `claude waits for codex: .*touch .*made-for-codex.*the file is there: false`,
		`you -> codex: call respond`, `made-for-codex is there`, `codex sees 1, its own`, `turn_accepted`, `request_created`,
		`request_resolved: approve, by its caller codex-mcp-client`, `message: The file is made`, `turn_completed`,
	} {
		at := regexp.MustCompile(want).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("%q is missing or out of order in:\n%s", want, out.String())
		}
		rest = rest[at[1]:]
	}
}

func TestAMissingCLIIsNamed(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), &out, options{claude: "no-such-program", codex: "no-such-program", server: "no-such-program"})
	if err == nil || !strings.Contains(err.Error(), "claude is not installed, or -claude does not name it") {
		t.Error(err)
	}
}
