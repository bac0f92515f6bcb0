package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// repository is where a repository keeps what a look reads, and those of its
// settings that decide how files compare. No setting that names a command is
// among them.
type repository struct {
	index, objects, info string // absolute paths
	shared               string // the directory of the parts of a split index
	format               string // of object names: sha1 or sha256
	settings             []string
}

// comparing are the settings of core that decide how files compare.
var comparing = []string{
	"attributesfile", "autocrlf", "checkstat", "eol", "excludesfile", "filemode", "ignorecase", "precomposeunicode",
	"protecthfs", "protectntfs", "sparsecheckout", "sparsecheckoutcone", "symlinks", "trustctime",
}

// repository reads what it returns with commands of git that run no helper.
func (g Git) repository(ctx context.Context, root string) (repository, error) {
	out, err := g.run(ctx, root, nil, "rev-parse", "--path-format=absolute", "--show-object-format",
		"--git-path", "index", "--git-path", "objects", "--git-path", "info", "--absolute-git-dir")
	if err != nil {
		return repository{}, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 5 {
		return repository{}, fmt.Errorf("git rev-parse: %d lines, not 5", len(lines))
	}
	r := repository{format: lines[0], index: lines[1], objects: lines[2], info: lines[3], shared: lines[4]}
	out, err = g.run(ctx, root, nil, "config", "-z", "--list")
	if err != nil {
		return repository{}, err
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, value, set := strings.Cut(entry, "\n")
		key, core := strings.CutPrefix(name, "core.")
		if !core || !slices.Contains(comparing, key) {
			continue
		}
		if !set {
			value = "true" // a name alone
		}
		value = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
		r.settings = append(r.settings, fmt.Sprintf("\t%s = \"%s\"\n", key, value))
	}
	return r, nil
}

// private makes a temporary git directory whose configuration is ours, so that
// a configuration that an agent edits during a look is not read. The caller
// removes dir. env makes git use it.
func (r repository) private(root, head string) (dir string, env map[string]string, err error) {
	dir, err = os.MkdirTemp("", "harness-mcp-git-")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	if err = os.MkdirAll(filepath.Join(dir, "refs"), 0o700); err != nil {
		return "", nil, err
	}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tfsmonitor = false\n\tuntrackedCache = false\n" +
		strings.Join(r.settings, "") + "[extensions]\n\tobjectformat = " + r.format + "\n"
	if head == "" {
		head = "ref: refs/heads/none"
	}
	for name, text := range map[string]string{"config": config, "HEAD": head + "\n"} {
		if err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", nil, err
		}
	}
	// git opens these itself: a pipe in their place cannot stop this process.
	parts, _ := filepath.Glob(filepath.Join(escapeGlob(r.shared), "sharedindex.*"))
	for _, name := range []string{"exclude", "attributes", "sparse-checkout"} {
		parts = append(parts, filepath.Join(r.info, name))
	}
	if err = os.Mkdir(filepath.Join(dir, "info"), 0o700); err != nil {
		return "", nil, err
	}
	for _, part := range parts {
		if _, missing := os.Lstat(part); missing != nil {
			continue
		}
		to := filepath.Join(dir, filepath.Base(part))
		if filepath.Dir(part) == r.info {
			to = filepath.Join(dir, "info", filepath.Base(part))
		}
		if os.Symlink(part, to) != nil {
			if err = os.Link(part, to); err != nil {
				return "", nil, err
			}
		}
	}
	return dir, map[string]string{
		"GIT_DIR": dir, "GIT_WORK_TREE": root, "GIT_INDEX_FILE": r.index, "GIT_OBJECT_DIRECTORY": r.objects,
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
	}, nil
}

// escapeGlob returns path as a pattern that matches only itself.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
