package process

import (
	"path/filepath"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// checkAllowed refuses an executable that no entry of the list allows. An entry
// is a name, which stands for what it is found as, a path, or a directory with
// all below it. Symbolic links are resolved, so one that leads out of an
// allowed directory is refused; but a name is not allowed for being a link to
// the same file as an allowed one, since there are programs that do what their
// name says.
func (s *Supervisor) checkAllowed(path string, allow []string) error {
	if len(allow) == 0 {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		for _, entry := range allow {
			if s.allows(entry, path, real) {
				return nil
			}
		}
	}
	return core.Errorf(core.CodeForbiddenExecutable, "%s is not among the allowed executables", path).
		WithHint("Allowed: %s (--allow-exec).", strings.Join(allow, ", ")).WithDetail("executable", path)
}

func (s *Supervisor) allows(entry, path, real string) bool {
	if found, _, err := LookPath(entry, s.opt.PathDirs); err == nil {
		same, err := filepath.EvalSymlinks(found)
		return filepath.Clean(found) == filepath.Clean(path) ||
			err == nil && same == real && filepath.Base(found) == filepath.Base(path)
	}
	if !filepath.IsAbs(entry) {
		return false
	}
	dir, err := filepath.EvalSymlinks(entry)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
