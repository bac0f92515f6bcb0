// Package harness_test holds what is true of the module as a whole.
package harness_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/harness-mcp/harness-mcp"

// A room is a part of the house and what its code may import: packages of the
// module by their path in it, others by their import path. A name that ends in
// "/..." stands for all below it as well. The standard library is free.
type room struct {
	name string
	may  []string
}

// rooms are in order: the first that has a package decides. Imports go down
// only: cmd to tools to core; cmd to providers to process to core; cmd to
// sqlitestore to core.
var rooms = []room{
	{"core", []string{"github.com/google/uuid"}},
	{"core/storetest", []string{"core", "github.com/google/go-cmp/...", "pgregory.net/rapid"}},
	{"core/providertest", []string{"core", "github.com/google/go-cmp/...", "go.uber.org/goleak"}},
	{"process/...", []string{"core", "process/...", "golang.org/x/sys/...", "github.com/creack/pty"}},
	{"sqlitestore/...", []string{"core", "sqlitestore/...", "modernc.org/sqlite/...", "golang.org/x/sys/...", "github.com/google/uuid", "github.com/klauspost/compress/..."}},
	{"providers/internal/conntest", []string{"core", "core/providertest"}}, // test support
	{"providers/...", []string{"core", "process", "providers/...", "github.com/google/uuid", "golang.org/x/sync/...", "golang.org/x/sys/..."}},
	{"tools/transport", []string{"github.com/mark3labs/mcp-go/...", "golang.org/x/sync/..."}},
	{"tools", []string{"core", "github.com/mark3labs/mcp-go/...", "golang.org/x/sync/..."}},
	{"internal/modelserver/...", nil},
	{"internal/...", []string{"..."}},
	{"examples/...", []string{"..."}},
	{"scripts/...", nil},
	{"cmd/...", []string{"..."}},
}

// tests are what a room's own tests may import beside what its code may. Where
// a room is not named, its tests are free.
var tests = []room{
	{"core", []string{"core/...", "github.com/google/go-cmp/...", "pgregory.net/rapid", "go.uber.org/goleak"}},
}

// pkg is what "go list" says of a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportsGoDownOnly(t *testing.T) {
	// What is built differs by system, and so may what it imports.
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			for _, p := range list(t, goos) {
				for _, wrong := range breaches(p) {
					t.Error(wrong)
				}
			}
		})
	}
}

func TestABreachOfTheArrowsIsSeen(t *testing.T) {
	for _, tt := range []struct {
		name string
		pkg  pkg
		want int
	}{
		{"core imports a database", pkg{ImportPath: "core", Imports: []string{"context", "modernc.org/sqlite"}}, 1},
		{"core's tests import a provider", pkg{ImportPath: "core", XTestImports: []string{module + "/core", module + "/providers/demo"}}, 1},
		{"a provider speaks MCP", pkg{ImportPath: "providers/demo", Imports: []string{"github.com/mark3labs/mcp-go/mcp"}}, 1},
		{"the transport knows the harness", pkg{ImportPath: "tools/transport", Imports: []string{module + "/core"}}, 1},
		{"tools know a provider and a store", pkg{ImportPath: "tools", Imports: []string{module + "/providers/codex", module + "/sqlitestore"}}, 2},
		{"a product package imports test support", pkg{ImportPath: "tools", Imports: []string{module + "/internal/mcptest"}}, 1},
		{"a part of the house without a rule", pkg{ImportPath: "attic"}, 1},
		{"a name that only begins like an allowed one", pkg{ImportPath: "process", Imports: []string{module + "/coreutils"}}, 1},
		{"what is allowed", pkg{ImportPath: "providers/codex", Imports: []string{"os", "encoding/json/v2", module + "/core", module + "/providers/internal/jsonrpc"}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.pkg.ImportPath = path.Join(module, tt.pkg.ImportPath)
			if got := breaches(tt.pkg); len(got) != tt.want {
				t.Errorf("%d breaches, want %d: %q", len(got), tt.want, got)
			}
		})
	}
}

// breaches says what p imports that it may not.
func breaches(p pkg) []string {
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if name == "" {
		return nil // this test
	}
	i := slices.IndexFunc(rooms, func(r room) bool { return within(name, r.name) })
	if i < 0 {
		return []string{name + " is in no room of this test: say what it may import"}
	}
	wrong := notAllowed(name, p.Imports, rooms[i].may)
	if j := slices.IndexFunc(tests, func(r room) bool { return within(name, r.name) }); j >= 0 {
		may := slices.Concat(rooms[i].may, tests[j].may)
		wrong = append(wrong, notAllowed("the tests of "+name, slices.Concat(p.TestImports, p.XTestImports), may)...)
	}
	return wrong
}

func notAllowed(who string, imports, may []string) []string {
	var wrong []string
	for _, imp := range imports {
		local, ours := strings.CutPrefix(imp, module+"/")
		if !ours && !strings.Contains(strings.Split(imp, "/")[0], ".") {
			continue // the standard library
		}
		if !slices.ContainsFunc(may, func(m string) bool { return within(local, m) }) {
			wrong = append(wrong, who+" may not import "+local)
		}
	}
	return wrong
}

// within says whether a path is what a name of a room or rule stands for.
func within(p, name string) bool {
	above, all := strings.CutSuffix(name, "...")
	if !all {
		return p == name
	}
	return p == strings.TrimSuffix(above, "/") || strings.HasPrefix(p, above)
}

// list gives the packages of the module as they are built for a system.
func list(t *testing.T, goos string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", goos, err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if !slices.ContainsFunc(all, func(p pkg) bool { return p.ImportPath == module+"/core" }) {
		t.Fatalf("go list did not find core among %d packages", len(all))
	}
	return all
}
