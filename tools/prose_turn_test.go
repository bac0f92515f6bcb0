package tools

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestUnreportedFilesAreListedApart(t *testing.T) {
	files := func(told, untold int) (edits []core.FileEdit) {
		for i := range told {
			edits = append(edits, core.FileEdit{Path: fmt.Sprintf("told%d.go", i), Kind: core.FileModified})
		}
		for i := range untold {
			edits = append(edits, core.FileEdit{Path: fmt.Sprintf("untold%d.go", i), Kind: core.FileAdded, Unreported: true})
		}
		return edits
	}
	for name, c := range map[string]struct {
		told, untold int
		want         string // of the prose
	}{
		"only reported": {2, 0, "2 files changed: told0.go, told1.go;"},
		"only seen":     {0, 1, "git shows 1 changed file that the agent did not report: untold0.go;"},
		"both": {1, 8, "1 file changed: told0.go; " +
			"git shows 8 changed files that the agent did not report: untold0.go, untold1.go, untold2.go and 5 more;"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := doneTurn()
				turn.FilesChanged = files(c.told, c.untold)
				h := &fake{text: turn.Text, await: awaiting(core.OutcomeDone, func() []core.Resource { return []core.Resource{turnResource(turn)} })}
				got := callTool(t, h, Options{}, "await", `{"ids":"x"}`)
				if !strings.Contains(got.Text, c.want) {
					t.Errorf("the prose is %s, want %s", got.Text, c.want)
				}
				if marked := strings.Count(string(got.Structured), `"unreported":true`); marked != c.untold {
					t.Errorf("%d files are marked: %s", marked, got.Structured)
				}
				for _, half := range []string{got.Text, string(got.Structured)} {
					if n := strings.Count(half, "untold0.go"); n != min(c.untold, 1) {
						t.Errorf("a file is named %d times: %s", n, half)
					}
				}
			})
		})
	}
}
