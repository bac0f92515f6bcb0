package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyPlainFilesOfTheWorkspaceAreInside(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"work/sub", "work/.git/hooks", "work/.tool", "other", ".tool/shop"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"work/away": "other", "work/lost": "other/missing", "work/here": "work/sub", // out, to nowhere, within
		"work/hooks": "work/.git/hooks", "work/sub/.git": "work/sub", // to what is guarded, from what is guarded
		"door": "work",
	} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	dirs := []string{filepath.Join(root, "work"), filepath.Join(root, "missing"), filepath.Join(root, ".tool/shop"), filepath.Join(root, "door")}
	for path, want := range map[string]bool{
		"work/a.txt": true, "work/sub/new/deep.txt": true, "work/here/x": true, "work/.github/x": true,
		"door/a.txt": true, ".tool/shop/a.txt": true, // the workspace itself may be anywhere
		"other/x": false, "work/../other/x": false, "work/away/x": false, "work/lost": false, "work-too/x": false,
		"work/.git/hooks/x": false, "work/sub/.GIT/config": false, "work/.tool/x": false, "door/.git/x": false,
		"work/hooks/x": false, "work/sub/.git/x": false,
	} {
		if got := Inside(filepath.Join(root, path), dirs, []string{".git", ".tool"}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, path := range []string{"", "work/a.txt"} {
		if Inside(path, []string{root}, nil) {
			t.Errorf("%q is no absolute path, and inside", path)
		}
	}
}
