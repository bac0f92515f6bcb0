// Package worktree asks git what has changed in a work tree between two
// moments, so that an agent's own report can be checked. It only reads: no
// hook, file-system monitor or other helper that a repository may name is run,
// and no lock is taken.
package worktree

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
)

// Git implements core.Workspace with the git on the PATH.
type Git struct {
	Runner process.Runner
	// Own are files of this program, as absolute paths. Changes of these files and
	// of their companions, as a journal.db-wal, are left out: no agent made them.
	Own []string
}

// tree is the part of a work tree that is watched.
type tree struct {
	root   string
	folder string   // below the root, with a slash at its end; "" is all of it
	own    []string // below the root
	repo   repository
}

// state is git's report of a tree at one moment.
type state struct {
	head  string
	files map[string]file // dirty ones, by path below the root
}

// file is how a dirty file looks.
type file struct {
	code string // git's two letters
	size int64
	mod  time.Time
}

// Watch records the state of dir and all below it. changed then returns what is
// different, with absolute paths; it is nil outside of any work tree. What lies
// elsewhere in the work tree is not looked at. ctx bounds the look.
func (g Git) Watch(ctx context.Context, dir string) (changed func(context.Context) ([]core.FileEdit, error), err error) {
	t, err := g.tree(ctx, dir)
	if err != nil || t.root == "" {
		return nil, err
	}
	before, err := g.look(ctx, t)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]core.FileEdit, error) {
		after, err := g.look(ctx, t)
		if err != nil {
			return nil, err
		}
		edits := compare(before, after)
		if before.head != after.head && before.head != "" && after.head != "" {
			committed, err := g.committed(ctx, t, before, after)
			if err != nil {
				return nil, err
			}
			edits = merge(edits, committed)
		}
		for i := range edits {
			edits[i].Path = t.path(edits[i].Path)
		}
		return edits, nil
	}, nil
}

// tree returns dir's place in its work tree; the root is "" when there is none.
// It does not start git where nothing looks like a repository.
func (g Git) tree(ctx context.Context, dir string) (tree, error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			break
		}
		if d == filepath.Dir(d) {
			return tree{}, nil
		}
	}
	out, err := g.run(ctx, dir, nil, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		if ctx.Err() != nil {
			return tree{}, ctx.Err()
		}
		return tree{}, nil // a .git that is none, a bare repository, another user's: nothing to compare with
	}
	var t tree
	t.root, t.folder, _ = strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if t.repo, err = g.repository(ctx, t.root); err != nil {
		return tree{}, err
	}
	for _, file := range g.Own {
		if folder, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
			file = filepath.Join(folder, filepath.Base(file))
		}
		if below, err := filepath.Rel(t.root, file); err == nil && filepath.IsLocal(below) {
			t.own = append(t.own, filepath.ToSlash(below))
		}
	}
	return t, nil
}

// path is the absolute path of what git calls name.
func (t tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// mine reports whether a file is one of this program.
func (t tree) mine(name string) bool {
	return slices.ContainsFunc(t.own, func(own string) bool {
		rest, ok := strings.CutPrefix(name, own)
		return ok && (rest == "" || rest[0] == '-' || rest[0] == '.')
	})
}

// limited ends the arguments of a git command that is about the tree.
func (t tree) limited(args ...string) []string {
	if t.folder == "" {
		return args
	}
	return append(args, "--", ":(literal)"+t.folder)
}

// look reads the present state.
func (g Git) look(ctx context.Context, t tree) (state, error) {
	s := state{files: map[string]file{}}
	if head, err := g.run(ctx, t.root, nil, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		s.head = strings.TrimSpace(string(head))
	} // a repository without a commit has none
	out, err := g.read(ctx, t, s.head, t.limited("status", "--porcelain=v1", "-z", "--ignore-submodules=all", "--untracked-files=all", "--no-renames")...)
	if err != nil {
		return s, err
	}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if len(entry) < 4 || t.mine(string(entry[3:])) {
			continue
		}
		if len(s.files) == MaxFiles {
			return s, fmt.Errorf("the work tree has more than %d changed files", MaxFiles)
		}
		path := string(entry[3:])
		f := file{code: string(entry[:2])}
		if st, err := os.Lstat(t.path(path)); err == nil {
			f.size, f.mod = st.Size(), st.ModTime()
		}
		s.files[path] = f
	}
	return s, nil
}

// compare returns the files that differ between two states.
func compare(before, after state) []core.FileEdit {
	var out []core.FileEdit
	for path, f := range after.files {
		if before.files[path] != f {
			out = append(out, core.FileEdit{Path: path, Kind: kind(f.code)})
		}
	}
	for path, f := range before.files {
		if _, still := after.files[path]; !still && before.head == after.head {
			// It is as in the commit again: a new file is gone, a changed one
			// was put back.
			k := core.FileModified
			if kind(f.code) == core.FileAdded {
				k = core.FileDeleted
			}
			out = append(out, core.FileEdit{Path: path, Kind: k})
		}
	}
	sortEdits(out)
	return out
}

// kind reads git's two letters.
func kind(code string) core.ChangeKind {
	switch {
	case code == "??" || strings.Contains(code, "A"):
		return core.FileAdded
	case strings.Contains(code, "D"):
		return core.FileDeleted
	}
	return core.FileModified
}

// committed returns the files that commits between the two moments changed, as
// far as they were not dirty before.
func (g Git) committed(ctx context.Context, t tree, before, after state) ([]core.FileEdit, error) {
	out, err := g.read(ctx, t, after.head, t.limited("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames", "--name-status", "-z", before.head, after.head)...)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(out), "\x00")
	var edits []core.FileEdit
	for i := 0; i+1 < len(fields); i += 2 {
		if !t.mine(fields[i+1]) {
			edits = append(edits, core.FileEdit{Path: fields[i+1], Kind: kind(fields[i] + " ")})
		}
	}
	return edits, nil
}

// merge joins two lists; of two entries for a path the first is kept.
func merge(a, b []core.FileEdit) []core.FileEdit {
	for _, e := range b {
		if !slices.ContainsFunc(a, func(x core.FileEdit) bool { return x.Path == e.Path }) {
			a = append(a, e)
		}
	}
	sortEdits(a)
	return a
}

func sortEdits(e []core.FileEdit) {
	slices.SortFunc(e, func(x, y core.FileEdit) int { return strings.Compare(x.Path, y.Path) })
}

// read executes git in the tree with a git directory of our own.
func (g Git) read(ctx context.Context, t tree, head string, args ...string) ([]byte, error) {
	dir, env, err := t.repo.private(t.root, head)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return g.run(ctx, t.root, env, args...)
}

// run executes git in dir and returns its output. Without the env of a private
// git directory only commands that run no helper are allowed: rev-parse, config.
func (g Git) run(ctx context.Context, dir string, private map[string]string, args ...string) ([]byte, error) {
	args = append([]string{"-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}, args...)
	vars := map[string]string{"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
	maps.Copy(vars, private)
	base := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "GIT_CONFIG_")
	})
	unset := []string{"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"}
	env := process.Environ(base, vars, unset, false)
	child, err := g.Runner.Start(ctx, process.Spec{Path: "git", Args: args, Dir: dir, Env: env, Resource: "worktree"})
	if err != nil {
		return nil, fmt.Errorf("starting git: %w", err)
	}
	defer func() { _ = child.Kill() }()
	stop := context.AfterFunc(ctx, func() { _ = child.Kill() })
	defer stop()
	_ = child.Stdin().Close()
	var out, errs bytes.Buffer
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(&errs, io.LimitReader(child.Stderr(), 4<<10))
		_, _ = io.Copy(io.Discard, child.Stderr())
	}()
	_, err = io.Copy(&out, io.LimitReader(child.Stdout(), maxOutput+1))
	if err == nil && out.Len() > maxOutput {
		_ = child.Kill()
		err = fmt.Errorf("git said more than %d bytes", maxOutput)
	}
	<-drained
	<-child.Done()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case child.Exit().Code != 0:
		return nil, fmt.Errorf("git %s: exit code %d: %s", args[4], child.Exit().Code, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}
