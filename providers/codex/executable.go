package codex

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// executable is a Codex that was found.
type executable struct {
	link.Executable
	shim bool // Path is the Node launcher: its native program was not found
}

// find looks for Codex. npm puts a Node launcher into PATH, which starts the
// native program as its child: a kill of the launcher leaves Codex alive, and
// its environment is not the one we gave. So the native program is looked for
// beside the launcher and started itself.
//
// The error is CodeProviderNotReady.
func (p *provider) find() (executable, error) {
	found, err := p.Find("codex", "Install it: "+install)
	exe := executable{Executable: found}
	if err != nil {
		return exe, err
	}
	real, err := filepath.EvalSymlinks(exe.Path)
	if err != nil {
		return exe, nil // it was there a moment ago; its start reports more
	}
	if filepath.Base(real) == "codex.js" {
		native := nativeOf(real)
		if native == "" {
			exe.shim = true
			return exe, nil
		}
		real = native
	}
	exe.Path = real
	return exe, nil
}

// triples are the platforms that the npm package is made for: the suffix of
// the platform's package, and the name of its directory.
var triples = map[string][2]string{
	"linux/amd64":   {"linux-x64", "x86_64-unknown-linux-musl"},
	"linux/arm64":   {"linux-arm64", "aarch64-unknown-linux-musl"},
	"darwin/amd64":  {"darwin-x64", "x86_64-apple-darwin"},
	"darwin/arm64":  {"darwin-arm64", "aarch64-apple-darwin"},
	"windows/amd64": {"win32-x64", "x86_64-pc-windows-msvc"},
	"windows/arm64": {"win32-arm64", "aarch64-pc-windows-msvc"},
}

const thisPlatform = runtime.GOOS + "/" + runtime.GOARCH

// nativeOf finds the native program of a launcher: in the platform's package,
// nested or beside it as package managers lay them out, or in its own.
func nativeOf(launcher string) string {
	triple, ok := triples[thisPlatform]
	if !ok {
		return ""
	}
	name := "codex"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	root := filepath.Dir(filepath.Dir(launcher)) // .../@openai/codex
	pkg := "codex-" + triple[0]
	for _, dir := range []string{
		filepath.Join(root, "node_modules", "@openai", pkg),
		filepath.Join(filepath.Dir(root), pkg),
		root,
	} {
		native := filepath.Join(dir, "vendor", triple[1], "bin", name)
		if info, err := os.Stat(native); err == nil && info.Mode().IsRegular() {
			return native
		}
	}
	return ""
}
