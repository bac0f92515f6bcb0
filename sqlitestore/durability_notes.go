package sqlitestore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

var _ core.LossNotes = (*Store)(nil)

// lossSuffix ends the names of the notes: empty files, beside the lock files,
// that are named by instance and resource. An empty file needs no data block, so a
// note can usually be created on a full disk.
const lossSuffix = ".lost"

// NoteLoss implements core.LossNotes.
func (in *instances) NoteLoss(owner, id string) error {
	f, err := os.OpenFile(in.note(in.id, owner, id), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// ForgetLoss implements core.LossNotes.
func (in *instances) ForgetLoss(instance, owner, id string) error {
	err := os.Remove(in.note(instance, owner, id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// LossNoted implements core.LossNotes.
func (in *instances) LossNoted(instance, owner, id string) bool {
	_, err := os.Stat(in.note(instance, owner, id))
	return err == nil
}

// SweepLosses implements core.LossNotes: notes of resources that were never
// stored are not deleted otherwise.
func (in *instances) SweepLosses(before time.Time) error {
	entries, err := os.ReadDir(in.dir)
	for _, e := range entries {
		name, isNote := strings.CutSuffix(e.Name(), lossSuffix)
		if !isNote {
			continue
		}
		instance, _, _ := strings.Cut(name, "-")
		info, gone := e.Info()
		if gone == nil && info.ModTime().Before(before) && !in.Alive(instance) {
			err = errors.Join(err, os.Remove(filepath.Join(in.dir, e.Name())))
		}
	}
	return err
}

// note is the path of a note. A caller may choose ids, so they are hashed.
func (in *instances) note(instance, owner, id string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + id))
	return filepath.Join(in.dir, filepath.Base(instance)+"-"+hex.EncodeToString(sum[:16])+lossSuffix)
}
