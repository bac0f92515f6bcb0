package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/harness-mcp/harness-mcp/core"
)

// A conversation's folder is named folderPrefix and its provider session id,
// which begins with idPrefix. Inside it are the memory and the work folder.
const (
	folderPrefix = "harness-mcp-"
	idPrefix     = "demo-"
	memoryFile   = "memory.json"
	workDir      = "work"
)

// memory is what a conversation knows of its earlier turns, oldest first.
type memory struct {
	Prompts []string `json:"prompts"`
}

// folder is the private folder of one conversation. Its methods are called by
// the conversation's goroutine only, but for the final close.
type folder struct {
	id     string
	path   string
	root   *os.Root
	memory memory
}

// openFolder makes the folder of a new conversation, finds that of one to
// resume, or makes one that remembers what the forked one does.
func openFolder(dir string, cfg core.SessionConfig) (*folder, error) {
	if cfg.ProviderSesID == "" {
		return makeFolder(dir)
	}
	old, err := findFolder(dir, cfg.ProviderSesID)
	if err != nil {
		return nil, err
	}
	if !cfg.Fork {
		return old, nil
	}
	defer old.root.Close()
	f, err := makeFolder(dir)
	if err != nil {
		return nil, err
	}
	f.memory = old.memory
	if err := f.save(); err != nil {
		f.remove()
		return nil, core.Errorf(core.CodeStartFailed, "the fork could not be written: %w", err)
	}
	return f, nil
}

func makeFolder(dir string) (*folder, error) {
	f := &folder{id: core.NewID(idPrefix)}
	f.path = filepath.Join(dir, folderPrefix+f.id)
	if err := os.Mkdir(f.path, 0o700); err != nil {
		return nil, core.Errorf(core.CodeStartFailed, "the demo agent could not make its folder: %w", err)
	}
	if err := f.open(); err != nil {
		os.Remove(f.path)
		return nil, err
	}
	return f, nil
}

func findFolder(dir, id string) (*folder, error) {
	gone := core.Errorf(core.CodeStartFailed, "the demo agent knows no conversation %q", id).
		WithHint("It may be older than %d days or was begun with another temporary directory. Start a new session.",
			int(Retention/(24*time.Hour)))
	if !validID(id) {
		return nil, gone
	}
	f := &folder{id: id, path: filepath.Join(dir, folderPrefix+id)}
	// Lstat: a link that someone else put in a shared directory is not ours.
	if st, err := os.Lstat(f.path); err != nil || !st.IsDir() {
		return nil, gone
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := f.load(); err != nil {
		f.root.Close()
		return nil, core.Errorf(core.CodeStartFailed, "the conversation %q cannot be read: %w", id, err)
	}
	return f, nil
}

// validID keeps anything but an id of ours out of a path.
func validID(id string) bool {
	rest, ok := strings.CutPrefix(id, idPrefix)
	return ok && rest != "" && len(rest) < 64 &&
		strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func (f *folder) open() error {
	root, err := os.OpenRoot(f.path)
	if err == nil {
		if err = root.Mkdir(workDir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			f.root = root
			return nil
		}
		root.Close()
	}
	return core.Errorf(core.CodeStartFailed, "the demo agent could not open its folder: %w", err)
}

// work is the absolute path of the folder that the agent works in.
func (f *folder) work() string { return filepath.Join(f.path, workDir) }

// remember adds a prompt and writes the memory down.
func (f *folder) remember(prompt string) error {
	f.memory.Prompts = append(f.memory.Prompts, clip(prompt, maxRememberedBytes))
	if n := len(f.memory.Prompts) - maxRemembered; n > 0 {
		f.memory.Prompts = append([]string(nil), f.memory.Prompts[n:]...)
	}
	return f.save()
}

// save replaces the memory file as a whole, so that a crash leaves the old or
// the new one.
func (f *folder) save() error {
	data, err := json.Marshal(f.memory)
	if err != nil {
		return err
	}
	const next = memoryFile + ".new"
	if err := f.root.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return f.root.Rename(next, memoryFile)
}

func (f *folder) load() error {
	data, err := readSmall(f.root, memoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // never had a turn
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &f.memory); err != nil {
		return fmt.Errorf("%s: %w", memoryFile, err)
	}
	return nil
}

// readSmall reads the beginning of a file, which is all of any file of ours.
func readSmall(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSmallFile))
}

// close closes the folder. One without memory has nothing to resume and is
// removed at once.
func (f *folder) close() {
	if len(f.memory.Prompts) == 0 {
		f.remove()
		return
	}
	f.root.Close()
}

func (f *folder) remove() {
	f.root.Close()
	os.RemoveAll(f.path)
}

// removeStale removes the folders of conversations that were not used since
// before. It is best effort: what cannot be removed now is tried again later.
func removeStale(dir string, before time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		id, ours := strings.CutPrefix(e.Name(), folderPrefix)
		if !ours || !validID(id) || !e.IsDir() {
			continue
		}
		if st, err := e.Info(); err == nil && st.ModTime().Before(before) {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// clip cuts s to at most n bytes at the end of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
