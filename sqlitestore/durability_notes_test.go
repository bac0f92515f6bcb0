package sqlitestore

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNotesOfLossesLastAsLongAsTheyMatter(t *testing.T) {
	path := t.TempDir() + "/harness.db"
	first := openTest(t, path)
	id := "a name/with: anything"
	if first.LossNoted(first.Instance(), owner, id) {
		t.Error("a note that nobody made")
	}
	for _, id := range []string{id, id, "never stored"} {
		if err := first.NoteLoss(owner, id); err != nil {
			t.Fatal(err)
		}
	}
	dead := first.Instance()
	if err := first.SweepLosses(time.Now().Add(time.Hour)); err != nil || !first.LossNoted(dead, owner, id) {
		t.Errorf("the note of a living server was swept, %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next := openTest(t, path)
	if !next.LossNoted(dead, owner, id) || next.LossNoted(dead, "other", id) || next.LossNoted(next.Instance(), owner, id) {
		t.Error("the next server does not read what the dead one noted, and only that")
	}
	for range 2 {
		if err := next.ForgetLoss(dead, owner, id); err != nil {
			t.Fatal(err)
		}
	}
	if next.LossNoted(dead, owner, id) {
		t.Error("it is not forgotten")
	}
	if err := next.SweepLosses(time.Now().Add(-time.Hour)); err != nil || !next.LossNoted(dead, owner, "never stored") {
		t.Errorf("a young note was swept, %v", err)
	}
	if err := next.SweepLosses(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(path + "-instances/*" + lossSuffix); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if info, err := os.Stat(filepath.Dir(next.note(dead, owner, id))); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
}
