package claude

import (
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/core"
)

// lock keeps a conversation to one process: the CLI lets several write to one,
// and their histories diverge. It is beside the conversation, so that
// servers with different journals share it.
type lock struct{ file *os.File }

// lockConversation takes the lock of a conversation. Where the place of
// conversations is unknown, or nothing may be written there, there is no lock.
//
// The error is CodeSessionInUse.
func lockConversation(env []string, id string) (lock, *core.Error) {
	dir := configDir(func(name string) string { return valueOf(env, name) })
	if dir == "" {
		return lock{}, nil
	}
	dir = filepath.Join(dir, "harness-mcp")
	if os.MkdirAll(dir, 0o700) != nil {
		return lock{}, nil
	}
	path := filepath.Join(dir, id+".lock")
	for range maxLockTries {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return lock{}, nil
		}
		taken, err := tryLock(f)
		if err == nil && taken && named(f, path) {
			return lock{f}, nil
		}
		_ = f.Close()
		if err != nil {
			return lock{}, nil
		}
		if !taken {
			break
		}
	}
	return lock{}, core.Errorf(core.CodeSessionInUse, "the conversation %s is open in another process", id).
		WithHint("Close that session first, or fork the conversation.")
}

// named reports whether an open file is still the one at the path: its last owner
// removes it.
func named(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	return err == nil && os.SameFile(mine, theirs)
}

// release releases the lock and removes its file.
func (l lock) release() {
	if l.file != nil {
		_ = os.Remove(l.file.Name())
		_ = l.file.Close()
	}
}
