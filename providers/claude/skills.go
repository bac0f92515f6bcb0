package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
	"github.com/harness-mcp/harness-mcp/providers/internal/workspace"
)

// skillFile is what makes a directory a skill, and pluginFile a plugin.
const skillFile = "SKILL.md"

var pluginFile = filepath.Join(".claude-plugin", "plugin.json")

// skillPlugins returns the plugin directories that bring a session's skills. A
// plugin is used where it is; single skills are copied into one plugin made
// for the session, since the CLI has no flag for them.
//
// Errors: CodeInvalidArgument, CodeTooLarge.
func skillPlugins(skills []string, dir link.Workdir) ([]string, *core.Error) {
	var plugins, single []string
	for _, path := range skills {
		switch {
		case workspace.IsFile(filepath.Join(path, pluginFile)):
			plugins = append(plugins, path)
		case filepath.Base(path) == skillFile && workspace.IsFile(path):
			single = append(single, filepath.Dir(path))
		case workspace.IsFile(filepath.Join(path, skillFile)):
			single = append(single, path)
		default:
			return nil, core.Errorf(core.CodeInvalidArgument, "%q is no skill", path).
				WithHint("A skill is a directory with a %s, that file, or the directory of a plugin.", skillFile)
		}
	}
	if len(single) == 0 {
		return plugins, nil
	}
	made := filepath.Join(dir.Path, "skills")
	if err := makePlugin(made, single); err != nil {
		return nil, err
	}
	return append(plugins, made), nil
}

// makePlugin makes a plugin of skills.
func makePlugin(root string, skills []string) *core.Error {
	manifest, err := json.Marshal(map[string]string{"name": "session-skills", "version": "1.0.0", "description": "skills of this session"})
	if err == nil {
		err = os.MkdirAll(filepath.Join(root, filepath.Dir(pluginFile)), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, pluginFile), manifest, 0o600)
	}
	left := budget{maxSkillFiles, maxSkillBytes}
	for _, from := range skills {
		if err == nil {
			err = left.copyDir(from, filepath.Join(root, "skills", filepath.Base(from)))
		}
	}
	var coded *core.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case err != nil:
		return core.Errorf(core.CodeInvalidArgument, "a skill cannot be copied: %w", err)
	}
	return nil
}

// budget is what may still be copied.
type budget struct {
	files int
	bytes int64
}

// copyDir copies the regular files of a directory; links are left out, for they
// may lead anywhere.
func (b *budget) copyDir(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return core.Errorf(core.CodeInvalidArgument, "two skills are called %q", filepath.Base(to))
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if b.files, b.bytes = b.files-1, b.bytes-info.Size(); b.files < 0 || b.bytes < 0 {
			return core.Errorf(core.CodeTooLarge, "the skills have more than %d files or %d bytes", maxSkillFiles, maxSkillBytes)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a file of a skill: %w", err)
		}
		return os.WriteFile(target, data, 0o600|info.Mode().Perm()&0o100)
	})
}
