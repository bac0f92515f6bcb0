package worktree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/worktree"
	"github.com/harness-mcp/harness-mcp/process"
)

func TestMain(m *testing.M) {
	process.Init()
	os.Exit(m.Run())
}

// repo is a git repository with one commit.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t: t, dir: dir}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r.git("init", "-q")
	r.write("kept.txt", "kept\n")
	r.write("dirty.txt", "one\n")
	r.write("gone.txt", "gone\n")
	r.commit()
	r.write("dirty.txt", "two\n")
	return r
}

func (r repo) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r repo) commit() { r.t.Helper(); r.git("add", "-A"); r.git("commit", "-qm", "c") }

func (r repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// during says what git sees that do has changed.
func (r repo) during(do func()) string {
	r.t.Helper()
	return r.seen(worktree.Git{}, r.dir, do)
}

// seen says what g sees in dir that do has changed.
func (r repo) seen(g worktree.Git, dir string, do func()) string {
	r.t.Helper()
	g.Runner = process.NewLocal(process.Options{})
	changed, err := g.Watch(r.t.Context(), dir)
	if err != nil || changed == nil {
		r.t.Fatalf("watch: %v", err)
	}
	do()
	edits, err := changed(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, e := range edits {
		rel, err := filepath.Rel(r.dir, e.Path)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s", rel, e.Kind))
	}
	return strings.Join(out, ", ")
}

func TestWhatChangedIsSeenAndWhatWasDirtyBeforeIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r repo)
		want string
	}{
		"nothing":            {func(repo) {}, ""},
		"added":              {func(r repo) { r.write("a b/new.txt", "x") }, "a b/new.txt added"},
		"modified":           {func(r repo) { r.write("kept.txt", "changed\n") }, "kept.txt modified"},
		"deleted":            {func(r repo) { _ = os.Remove(filepath.Join(r.dir, "gone.txt")) }, "gone.txt deleted"},
		"dirty before":       {func(r repo) { r.write("dirty.txt", "three, longer\n") }, "dirty.txt modified"},
		"put back":           {func(r repo) { r.git("checkout", "-q", "dirty.txt") }, "dirty.txt modified"},
		"committed":          {func(r repo) { r.write("new.txt", "x"); r.commit() }, "dirty.txt modified, new.txt added"},
		"committed and more": {func(r repo) { r.commit(); r.write("kept.txt", "again\n") }, "dirty.txt modified, kept.txt modified"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			if got := r.during(func() { c.do(r) }); got != c.want {
				t.Errorf("git saw %q, want %q", got, c.want)
			}
		})
	}
}

func TestOnlyTheFolderThatIsWatchedAndWhatIsBelowItIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		folder string
		do     func(r repo)
		want   string
	}{
		"added":                       {"svc", func(r repo) { r.write("svc/new.txt", "x"); r.write("docs/new.txt", "x") }, "svc/new.txt added"},
		"beside one with its letters": {"svc", func(r repo) { r.write("svc2/new.txt", "x") }, ""},
		"committed":                   {"svc", func(r repo) { r.write("svc/new.txt", "x"); r.write("docs/new.txt", "x"); r.commit() }, "svc/new.txt added"},
		"letters that mean something": {"[a-z]*", func(r repo) { r.write("[a-z]*/new.txt", "x"); r.write("docs/new.txt", "x") }, "[a-z]*/new.txt added"},
		"gone with all in it":         {"svc", func(r repo) { _ = os.RemoveAll(filepath.Join(r.dir, "svc")) }, "svc/kept.txt deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.write(c.folder+"/kept.txt", "kept\n")
			r.git("add", c.folder)
			r.git("commit", "-qm", "c", "--", c.folder)
			if got := r.seen(worktree.Git{}, filepath.Join(r.dir, c.folder), func() { c.do(r) }); got != c.want {
				t.Errorf("git saw %q, want %q", got, c.want)
			}
		})
	}
}

func TestFilesOfTheProgramItselfAreNotSeen(t *testing.T) {
	for name, commit := range map[string]bool{"as they are": false, "in a commit": true} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.git("add", "-A")
			g := worktree.Git{Own: []string{filepath.Join(r.dir, "var/journal.db")}}
			got := r.seen(g, r.dir, func() {
				r.write("var/journal.db", "x")
				r.write("var/journal.db-wal", "x")
				r.write("var/mine.txt", "x")
				if commit {
					r.git("add", "var")
					r.git("commit", "-qm", "c", "--", "var")
				}
			})
			if got != "var/mine.txt added" {
				t.Errorf("git saw %q", got)
			}
		})
	}
}

func TestOutsideOfAWorkTreeNothingIsWatched(t *testing.T) {
	g := worktree.Git{Runner: process.NewLocal(process.Options{})}
	changed, err := g.Watch(context.Background(), t.TempDir())
	if changed != nil || err != nil {
		t.Errorf("watch = %v, %v", changed != nil, err)
	}
}

func TestARepositoryRunsNothingOfItsOwn(t *testing.T) {
	r := newRepo(t)
	trap := filepath.Join(t.TempDir(), "sprung")
	command := "touch " + trap + "; cat"
	names := func() {
		r.write(".gitattributes", "*.txt filter=x diff=x\n")
		for _, name := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process", "credential.helper"} {
			r.git("config", name, command)
		}
	}
	names()
	_ = r.during(func() { r.write("kept.txt", "xxxx\n") })
	if _, err := os.Stat(trap); err == nil {
		t.Error("looking at a repository ran a command of its configuration")
	}
	r = newRepo(t)
	_ = r.during(func() { r.write("kept.txt", "xxxx\n"); names() })
	if _, err := os.Stat(trap); err == nil {
		t.Error("a command that was configured between two looks ran")
	}
}

func TestRepositoriesOfEveryFormAreSeen(t *testing.T) {
	for name, form := range map[string]func(r repo) string{
		"linked work tree": func(r repo) string { r.git("worktree", "add", "-q", "linked"); return "linked/" },
		"split index":      func(r repo) string { r.git("update-index", "--split-index"); return "" },
		"packed":           func(r repo) string { r.git("gc", "-q"); return "" },
		"sparse index": func(r repo) string {
			r.write("out/a.txt", "a\n")
			r.commit()
			r.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			below := form(r)
			got := r.seen(worktree.Git{}, filepath.Join(r.dir, below), func() {
				r.write(below+"kept.txt", "changed\n")
				r.write(below+"new.txt", "x")
			})
			if want := below + "kept.txt modified, " + below + "new.txt added"; got != want {
				t.Errorf("git saw %q, want %q", got, want)
			}
		})
	}
	t.Run("without a commit", func(t *testing.T) {
		r := newRepo(t)
		_ = os.RemoveAll(filepath.Join(r.dir, ".git"))
		r.git("init", "-q")
		if got := r.during(func() { r.write("new.txt", "x") }); got != "new.txt added" {
			t.Errorf("git saw %q", got)
		}
	})
}
