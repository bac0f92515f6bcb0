package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

func TestACommandLineIsNoExecutable(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "my program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		executable string
		argv       []string
		hint       string // "" for one that is taken
	}{
		{"nosuchtool run dev", nil, `Give executable "nosuchtool", argv ["run","dev"].`},
		{" sh  -x ", []string{"a b"}, `Give executable "sh", argv ["-x","a b"].`},
		{"/bin/sh -x", nil, `Give executable "/bin/sh", argv ["-x"].`},
		{"npm run dev | tee log", nil, `Give executable "sh", argv ["-c","npm run dev | tee log"].`},
		{"nosuchtool " + strings.Repeat("x", 300), nil, `Give executable "nosuchtool", and the rest as argv.`},
		{"make >log", nil, `Give executable "sh", argv ["-c","make >log"].`},
		{"PORT=1 npm start", nil, `Give executable "sh", argv ["-c","PORT=1 npm start"].`},
		{"npm", []string{"run dev"}, ""},
		{program, nil, ""},
		{filepath.Join(dir, "not there", "program"), nil, ""},
	} {
		err := checkProcess(&core.ProcessSpec{Executable: tt.executable, Argv: tt.argv})
		switch {
		case tt.hint == "" && err != nil:
			t.Errorf("%q is refused: %v", tt.executable, err)
		case tt.hint != "" && (core.CodeOf(err) != core.CodeInvalidArgument || core.AsError(err).Hint != tt.hint):
			t.Errorf("%q: %v, hint %q", tt.executable, err, core.AsError(err).Hint)
		}
	}
}

func TestPruneRefusesAnIDThatIsNotThere(t *testing.T) {
	h := New(Config{Store: memstore.New()})
	defer h.Shutdown(t.Context())
	me := core.Caller{Owner: "o"}
	for _, id := range []string{"ses_0000000000", "prc_0000000000", "typo"} {
		if _, err := h.Prune(t.Context(), me, core.PruneRequest{ID: id}); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("%s: %v", id, err)
		}
		// The first call of this key may have deleted it, and its answer be lost.
		if ids, err := h.Prune(t.Context(), me, core.PruneRequest{ID: id, Once: core.Once{Tool: "prune", Key: "k"}}); err != nil || len(ids) != 0 {
			t.Errorf("%s with a key: %v, %v", id, ids, err)
		}
	}
}
