// Package harness_test holds what is true of the module as a whole.
package harness_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/harness-mcp/harness-mcp"

// A rule is a package, by its path in the module, and what its code may import:
// packages of the module by their path in it, others by their import path. A
// name that ends in "/..." stands for itself and all below it. The standard
// library is free, except in the packages of pure.
type rule struct {
	name string
	may  []string
}

// rules are in order: the first that matches a package decides. Imports go down
// only, as docs/architecture.md draws them.
var rules = []rule{
	{"core", []string{"github.com/google/uuid"}},
	{"core/machine", []string{"core"}},
	{"core/redact", []string{"core"}},
	{"core/journal", []string{"core"}},
	{"core/memstore", []string{"core"}},
	{"core/harness", []string{"core", "core/machine", "core/journal", "core/redact"}},
	{"core/storetest", []string{"core", "github.com/google/go-cmp/...", "pgregory.net/rapid"}},
	{"core/providertest", []string{"core", "github.com/google/go-cmp/...", "go.uber.org/goleak"}},
	{"process/...", []string{"core", "core/journal", "core/redact", "process/...", "golang.org/x/sys/...", "github.com/creack/pty"}},
	{"sqlitestore/...", []string{"core", "sqlitestore/...", "modernc.org/sqlite/...", "golang.org/x/sys/...", "github.com/google/uuid", "github.com/klauspost/compress/..."}},
	{"providers/internal/conntest", []string{"core", "core/providertest"}}, // test support
	{"providers/...", []string{"core", "core/redact", "process", "providers/...", "github.com/google/uuid", "golang.org/x/sync/...", "golang.org/x/sys/..."}},
	{"tools/transport", []string{"github.com/mark3labs/mcp-go/...", "golang.org/x/sync/..."}},
	{"tools", []string{"core", "core/harness", "core/redact", "github.com/mark3labs/mcp-go/...", "golang.org/x/sync/..."}},
	{"internal/modelserver/...", nil},
	{"internal/...", []string{"..."}},
	{"examples/...", []string{"..."}},
	{"scripts/...", nil},
	{"cmd/...", []string{"..."}},
}

// testRules are what the tests of a package may import beside what its code may.
// The tests of a package that is not named are free.
var testRules = []rule{
	{"core/machine", []string{"github.com/google/go-cmp/...", "pgregory.net/rapid"}},
	{"core/redact", []string{"github.com/google/go-cmp/...", "pgregory.net/rapid"}},
	{"core", []string{"core/...", "github.com/google/go-cmp/...", "pgregory.net/rapid", "go.uber.org/goleak"}},
	{"core/harness", []string{"core/...", "github.com/google/go-cmp/...", "pgregory.net/rapid", "go.uber.org/goleak"}},
	{"core/journal", []string{"core/...", "github.com/google/go-cmp/...", "pgregory.net/rapid", "go.uber.org/goleak"}},
	{"core/memstore", []string{"core/...", "github.com/google/go-cmp/...", "pgregory.net/rapid", "go.uber.org/goleak"}},
}

// onlyImporters are packages that nobody else may import, however free, except
// in tests.
var onlyImporters = []rule{
	{"core/machine", []string{"core/harness"}},
}

// pure are packages without input, output, clock or goroutine: they may not
// import these parts of the standard library, nor use these names of time.
var pure = []rule{
	{"core/machine", []string{"context", "io/...", "log/...", "net/...", "os/...", "sync/...", "syscall", "math/rand/...", "crypto/rand", "runtime/..."}},
}

// impure are the names of packages that pure ones may import which read a clock,
// wait, or reach the file system or a terminal.
var impure = map[string][]string{
	"time":          {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "LoadLocation"},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"fmt":           {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// pkg is what "go list" reports of a package.
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
		{"core's tests import a provider", pkg{ImportPath: "core/harness", XTestImports: []string{module + "/core", module + "/providers/demo"}}, 1},
		{"a provider speaks MCP", pkg{ImportPath: "providers/demo", Imports: []string{"github.com/mark3labs/mcp-go/mcp"}}, 1},
		{"the transport knows the harness", pkg{ImportPath: "tools/transport", Imports: []string{module + "/core"}}, 1},
		{"tools know a provider and a store", pkg{ImportPath: "tools", Imports: []string{module + "/providers/codex", module + "/sqlitestore"}}, 2},
		{"a product package imports test support", pkg{ImportPath: "tools", Imports: []string{module + "/internal/mcptest"}}, 1},
		{"a package without a rule", pkg{ImportPath: "unknown"}, 1},
		{"a name that only begins like an allowed one", pkg{ImportPath: "process", Imports: []string{module + "/coreutils"}}, 1},
		{"the machine waits", pkg{ImportPath: "core/machine", Imports: []string{"context", "sync/atomic", "strings"}}, 2},
		{"the machine writes a journal", pkg{ImportPath: "core/machine", Imports: []string{module + "/core/journal"}}, 1},
		{"a command steps a machine", pkg{ImportPath: "cmd/harness-mcp", Imports: []string{module + "/core/machine"}}, 1},
		{"tools step a machine", pkg{ImportPath: "tools", Imports: []string{module + "/core/machine"}}, 2},
		{"values know how they are redacted", pkg{ImportPath: "core", Imports: []string{module + "/core/redact"}}, 1},
		{"a store knows the harness", pkg{ImportPath: "sqlitestore", Imports: []string{module + "/core/harness"}}, 1},
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

// breaches returns what p imports that it may not.
func breaches(p pkg) []string {
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if name == "" {
		return nil // this test
	}
	r, ok := find(rules, name)
	if !ok {
		return []string{name + " has no rule in this test: add what it may import"}
	}
	wrong := notAllowed(name, p.Imports, r.may)
	for _, only := range onlyImporters {
		if slices.Contains(p.Imports, module+"/"+only.name) && !slices.Contains(only.may, name) {
			wrong = append(wrong, "only "+strings.Join(only.may, ", ")+" may import "+only.name+", not "+name)
		}
	}
	if no, ok := find(pure, name); ok {
		for _, imp := range p.Imports {
			if slices.ContainsFunc(no.may, func(m string) bool { return within(imp, m) }) {
				wrong = append(wrong, name+" is pure and may not import "+imp)
			}
		}
	}
	if more, ok := find(testRules, name); ok {
		wrong = append(wrong, notAllowed("the tests of "+name, slices.Concat(p.TestImports, p.XTestImports), slices.Concat(r.may, more.may))...)
	}
	return wrong
}

// find returns the first rule for a package.
func find(rules []rule, name string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return within(name, r.name) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

func TestPurePackagesHaveNoClockGoroutineOrChannel(t *testing.T) {
	for _, p := range pure {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(p.name), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", p.name, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range impureUses(t, name, src) {
				t.Error(wrong)
			}
		}
	}
}

func TestAnImpureUseIsSeen(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want int
	}{
		{"package p\nimport \"time\"\nvar t = time.Now()", 1},
		{"package p\nimport \"time\"\nvar now = time.Now", 1},
		{"package p\nimport clock \"time\"\nvar d = clock.Since(clock.Time{})", 1},
		{"package p\nimport . \"time\"\nvar t = Now()", 1},
		{"package p\nimport \"path/filepath\"\nvar p, _ = filepath.Abs(\".\")", 1},
		{"package p\nimport \"path/filepath\"\nvar p = filepath.Join(\"a\", \"b\")", 0},
		{"package p\nfunc f() { go f() }", 1},
		{"package p\nvar c = make(chan int)", 1},
		{"package p\nimport \"time\"\n// time.Now is not read.\nvar d = time.Second", 0},
	} {
		if got := impureUses(t, "p.go", []byte(tt.src)); len(got) != tt.want {
			t.Errorf("%q: %q, want %d", tt.src, got, tt.want)
		}
	}
}

// impureUses returns where a source file reads a clock, reaches outside, starts a
// goroutine or has a channel.
func impureUses(t *testing.T, name string, src []byte) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(n ast.Node, what string) { found = append(found, fset.Position(n.Pos()).String()+": "+what) }
	names := map[string][]string{} // the impure ones, by what the file calls their package
	for _, imp := range f.Imports {
		from := strings.Trim(imp.Path.Value, `"`)
		if impure[from] == nil {
			continue
		}
		name := path.Base(from)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == "." {
			add(imp, "imports "+from+" by a dot")
		}
		names[name] = impure[from]
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(names[x.Name], n.Sel.Name) {
				add(n, x.Name+"."+n.Sel.Name)
			}
		case *ast.GoStmt:
			add(n, "go statement")
		case *ast.ChanType:
			add(n, "channel")
		}
		return true
	})
	return found
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

// within reports whether a path is what a name of a rule stands for.
func within(p, name string) bool {
	above, all := strings.CutSuffix(name, "...")
	if !all {
		return p == name
	}
	return p == strings.TrimSuffix(above, "/") || strings.HasPrefix(p, above)
}

// list returns the packages of the module as they are built for a system.
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

// docPath matches a path of the repository in the documents.
var docPath = regexp.MustCompile("`((?:core|tools|providers|process|sqlitestore|cmd|internal|examples|scripts|docs)/[A-Za-z0-9_./*-]+|arrows_test\\.go)`")

// Every path that the architecture page names exists, so that a file that moves
// takes its name in the page along.
func TestThePathsOfTheArchitecturePageExist(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	found := docPath.FindAllStringSubmatch(string(page), -1)
	if len(found) < 60 {
		t.Fatalf("%d paths found", len(found))
	}
	for _, m := range found {
		name := strings.ReplaceAll(m[1], "NAME", "*") // a family of files
		if files, err := filepath.Glob(filepath.FromSlash(strings.TrimSuffix(name, "/"))); err != nil || len(files) == 0 {
			t.Errorf("docs/architecture.md names %s, which does not exist", m[1])
		}
	}
}
