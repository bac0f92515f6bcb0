package codex

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/workspace"
)

// skillFile is what makes a directory a skill.
const skillFile = "SKILL.md"

// skillRoots returns the directories in which Codex looks for the skills of a
// session: those that were given, which are skills or hold some.
//
// Errors: CodeInvalidArgument.
func skillRoots(skills []string) ([]string, *core.Error) {
	var roots []string
	for _, path := range skills {
		root := filepath.Clean(path)
		if filepath.Base(root) == skillFile && workspace.IsFile(root) {
			root = filepath.Dir(root)
		}
		if !holdsSkills(root) {
			return nil, core.Errorf(core.CodeInvalidArgument, "%q is no skill", path).
				WithHint("A skill is a directory with a %s, that file, or a directory of such directories.", skillFile)
		}
		if !filepath.IsAbs(root) {
			return nil, core.Errorf(core.CodeInvalidArgument, "%q is not an absolute path", path).
				WithHint("Give the whole path of the skill.")
		}
		roots = append(roots, root)
	}
	return roots, nil
}

func holdsSkills(dir string) bool {
	if workspace.IsFile(filepath.Join(dir, skillFile)) {
		return true
	}
	inner, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(inner, func(e os.DirEntry) bool {
		return workspace.IsFile(filepath.Join(dir, e.Name(), skillFile))
	})
}
