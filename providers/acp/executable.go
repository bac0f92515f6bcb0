package acp

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/internal/link"
)

// executable is an agent that was found.
type executable struct {
	link.Executable
	manifest manifest // of the npm package that it came in, if it did
	script   bool     // Path needs Node
}

// manifest is the package.json of an npm package.
type manifest struct {
	Version string `json:"version"`
	Engines struct {
		Node string `json:"node"`
	} `json:"engines"`
}

func (p *provider) installHint() string {
	if p.agent.Install == "" {
		return "Check the command in the provider configuration."
	}
	return "Install it: " + p.agent.Install
}

// find looks for the agent. npm puts launchers into PATH that need Node and
// start a native program; where its path is known, it is started itself.
//
// The error is CodeProviderNotReady.
func (p *provider) find() (executable, error) {
	a := p.agent
	if len(a.Command) == 0 {
		return executable{}, core.Errorf(core.CodeProviderNotReady, "%s has no command", a.Name)
	}
	found, err := p.Find(a.Command[0], p.installHint())
	exe := executable{Executable: found}
	exe.Args = a.Command[1:]
	if err != nil {
		return exe, err
	}
	real, err := filepath.EvalSymlinks(exe.Path)
	if err != nil {
		return exe, nil // it was there a moment ago; its start reports more
	}
	var root string
	exe.manifest, root = readManifest(real)
	exe.script = nodeScript(real)
	if a.Native != "" && root != "" {
		native := filepath.Join(root, filepath.FromSlash(strings.ReplaceAll(a.Native, "%s", npmPlatform())))
		if info, err := os.Stat(native); err == nil && info.Mode().IsRegular() {
			exe.Path, exe.script = native, false
		}
	}
	return exe, nil
}

// npmPlatform is this platform as npm's packages name it.
func npmPlatform() string {
	system, arch := runtime.GOOS, runtime.GOARCH
	if system == "windows" {
		system = "win32"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	return system + "-" + arch
}

// readManifest finds the package.json of the package that a file belongs to, and
// the package's directory.
func readManifest(file string) (m manifest, root string) {
	dir := filepath.Dir(file)
	for range maxManifestDepth {
		f, err := os.Open(filepath.Join(dir, "package.json"))
		if err == nil {
			err = json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&m)
			_ = f.Close()
			if err == nil && m.Version != "" {
				return m, dir
			}
		}
		if parent := filepath.Dir(dir); parent != dir && filepath.Base(dir) != "node_modules" {
			dir = parent
			continue
		}
		break
	}
	return manifest{}, ""
}

// nodeScript reports whether a file is a script for Node.
func nodeScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, maxScriptLine)
	n, _ := io.ReadFull(f, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return strings.HasPrefix(line, "#!") && strings.Contains(line, "node")
}
