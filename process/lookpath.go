package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// LookPath finds an executable: in the directories of PATH, then in extraDirs.
// A name with a path separator is only made absolute and checked. Relative
// directories are not searched, since what they mean depends on where we stand.
//
// searched lists every directory that was looked into, in order and once each,
// also on success. The error is CodeNotFound, wraps [exec.ErrNotFound] or
// [fs.ErrPermission], and names the directories in its hint.
func LookPath(name string, extraDirs []string) (path string, searched []string, err error) {
	return lookPath(name, "", os.Getenv("PATH"), extraDirs)
}

// lookPath is LookPath for a command that will run in dir ("": the present
// directory), from where a relative name counts, with pathList as its PATH.
func lookPath(name, dir, pathList string, extraDirs []string) (path string, searched []string, err error) {
	if name == "" {
		return "", nil, core.Errorf(core.CodeInvalidArgument, "the executable has no name")
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		return lookExact(name, dir)
	}
	var denied string
	for _, dir := range append(splitPath(pathList), extraDirs...) {
		if !filepath.IsAbs(dir) || slices.Contains(searched, filepath.Clean(dir)) {
			continue
		}
		searched = append(searched, filepath.Clean(dir))
		full, err := executable(filepath.Join(dir, name))
		if err == nil {
			return full, searched, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == "" {
			denied = filepath.Join(dir, name)
		}
	}
	return "", searched, notFound(name, denied, searched)
}

// lookExact checks a name that already says where the executable is.
func lookExact(name, dir string) (string, []string, error) {
	located := name
	if !filepath.IsAbs(name) {
		located = filepath.Join(dir, name)
	}
	abs, err := filepath.Abs(located)
	if err != nil {
		return "", nil, core.Errorf(core.CodeNotFound, "the executable %q cannot be located: %w", name, err)
	}
	searched := []string{filepath.Dir(abs)}
	full, err := executable(abs)
	switch {
	case err == nil:
		return full, searched, nil
	case errors.Is(err, fs.ErrPermission):
		return "", searched, notFound(name, abs, searched)
	}
	return "", searched, notFound(name, "", searched)
}

// notFound is the error of a search without result; denied is a file of that
// name that may not be executed, or "".
func notFound(name, denied string, searched []string) error {
	cause, message := exec.ErrNotFound, fmt.Sprintf("the executable %q was not found", name)
	if denied != "" {
		cause, message = fs.ErrPermission, fmt.Sprintf("%s is not an executable file", denied)
	}
	e := &core.Error{Code: core.CodeNotFound, Message: message, Err: cause}
	return e.WithHint("Searched: %s. Install it, give its full path, or add its directory (--path-dir).",
		strings.Join(searched, ", ")).WithDetail("searched", searched)
}

// executable reports whether a file can be executed, trying the extensions that
// Windows adds. The error is fs.ErrPermission for a file that cannot.
func executable(path string) (string, error) {
	if runtime.GOOS == "windows" {
		return exec.LookPath(path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fs.ErrPermission
	}
	return path, nil
}

// DefaultDirs lists the directories in which agent CLIs are often installed and
// which a service or a desktop program does not have in its PATH.
func DefaultDirs() []string {
	dirs := []string{"/opt/homebrew/bin", "/usr/local/bin"}
	home, err := os.UserHomeDir()
	if err != nil {
		return dirs
	}
	mine := []string{".local/bin", ".local/share/mise/shims", ".bun/bin", ".npm-global/bin", ".volta/bin", ".opencode/bin", ".claude/local"}
	for i, dir := range mine {
		mine[i] = filepath.Join(home, filepath.FromSlash(dir))
	}
	return append(mine, dirs...)
}

func splitPath(list string) []string {
	if list == "" {
		return nil
	}
	return filepath.SplitList(list)
}

func joinPath(dirs []string) string { return strings.Join(dirs, string(os.PathListSeparator)) }
