package acp

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/acpscript"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// scripted is the scripted agent as a row of data.
func scripted(t *testing.T, change func(*Agent)) Agent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := Agent{
		Name: "scripted", Title: "Scripted agent", Command: []string{self},
		Modes:  map[core.ApprovalMode]string{core.ApprovalDefault: "ask"},
		Can:    Abilities{Resume: core.Native, Fork: core.Native, MCP: core.Native, Images: core.Native, Model: core.Native},
		Quirks: Quirks{AvoidOptions: []string{"wide"}},
	}
	if change != nil {
		change(&a)
	}
	return a
}

// table is a scripted agent with a directory of its own.
type table struct {
	t        *testing.T
	provider core.Provider
	work     string
	env      map[string]string
}

func newTable(t *testing.T, o acpscript.Options, change func(*Agent)) *table {
	t.Helper()
	o.Dir = t.TempDir()
	how, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var limits process.Options
	if o.StayAlive { // it ignores the end of its input, so the wait for that is short
		limits.EOFWait, limits.StopWait = 100*time.Millisecond, 100*time.Millisecond
	}
	runner := process.NewLocal(limits)
	return &table{
		t: t, provider: New(scripted(t, change), Options{Runner: runner}), work: t.TempDir(),
		env: map[string]string{scriptVar: string(how), "PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "TMPDIR": t.TempDir(),
			"GORACE": "atexit_sleep_ms=0"}, // else the agent takes a second to end
	}
}

// session is a configuration with an environment that knows nothing of the
// machine's.
func (b *table) session() core.SessionConfig {
	return core.SessionConfig{SessionID: "ses_test", CWD: b.work, EnvMode: core.EnvReplace, Env: maps.Clone(b.env), Epoch: 1}
}

func (b *table) try(cfg core.SessionConfig) (core.Conn, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), conntest.MaxWait)
	defer cancel()
	return b.provider.Open(ctx, cfg)
}

func (b *table) open(cfg core.SessionConfig) *conntest.Recorder {
	b.t.Helper()
	conn, err := b.try(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return conntest.Record(b.t, conn)
}

// begin opens a session as it comes and starts a turn with lines of script.
func begin(t *testing.T, script ...string) *conntest.Recorder {
	t.Helper()
	b := newTable(t, acpscript.Options{}, nil)
	r := b.open(b.session())
	r.Start("turn", script...)
	return r
}
