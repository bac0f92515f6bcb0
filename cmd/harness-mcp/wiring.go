package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/internal/schema"
	"github.com/harness-mcp/harness-mcp/internal/telemetry"
	"github.com/harness-mcp/harness-mcp/internal/worktree"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

// app holds the parts of a serving command.
type app struct {
	store     core.Store
	harness   *harness.Harness
	log       *slog.Logger
	telemetry *telemetry.Telemetry // nil: off
	owner     string               // whose resources a client in this process sees; "" for the local owner's
}

// newApp opens the store, wires providers, processes and harness, and recovers what
// dead servers left.
func newApp(ctx context.Context, c *Common, errw io.Writer) (*app, error) {
	log, err := logger(c, errw)
	if err != nil {
		return nil, err
	}
	if err := c.dirsExist(); err != nil {
		return nil, err
	}
	agents, err := c.agents()
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	a := &app{store: store, log: log}
	if err := a.startTelemetry(c); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	runner := process.NewLocal(process.Options{Log: store, Instance: store.Instance(), PathDirs: c.PathDir, Logger: log})
	limits := c.limits()
	h := harness.New(harness.Config{
		Store: store,
		Processes: process.NewSupervisor(process.SupervisorOptions{
			Local: runner, Store: store, StoreTimeout: limits.StoreTimeout, StopOnStoreFailure: limits.StopOnStoreFailure,
			PathDirs: c.PathDir, Logger: log,
		}),
		Providers: providers.All(providers.Options{Runner: runner, PathDirs: c.PathDir, Logger: log, Config: agents}),
		Limits:    limits, Logger: log, Environ: os.Environ(),
		Telemetry: a.telemetryOrNil(), CheckSchema: schema.Check, Workspace: worktree.Git{Runner: runner, Own: journalFiles(c)},
		Reap: reaper(store, log),
	})
	h.Recover(ctx)
	a.harness = h
	return a, nil
}

// journalFiles returns the files that this program writes while agents work, which
// file changes of a work tree leave out.
func journalFiles(c *Common) []string {
	var files []string
	for _, f := range []string{c.DB, serverLog(c)} {
		if f, err := filepath.Abs(f); err == nil {
			files = append(files, f)
		}
	}
	return files
}

// reaper returns a function that ends the processes of dead servers of this journal.
func reaper(store core.Store, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		report, err := process.Reap(ctx, store, store, log)
		if len(report.Ended) > 0 {
			log.Warn("ended what a dead server left behind", "processes", len(report.Ended))
		}
		return err
	}
}

// agents reads the configuration of the ACP agents.
func (c *Common) agents() (providers.Config, error) {
	agents, err := providers.ReadConfig(c.ProviderConfig)
	if err != nil {
		return agents, &usageError{err, tryHelp}
	}
	return agents, nil
}

// newReadOnlyApp opens the journal to read it as the file's owner, without agents.
func newReadOnlyApp(ctx context.Context, c *Common, errw io.Writer) (*app, error) {
	log, err := logger(c, errw)
	if err != nil {
		return nil, err
	}
	if _, err := c.journalExists(); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	h := harness.New(harness.Config{Store: store, Limits: c.limits(), Logger: log, Environ: os.Environ(), Reap: reaper(store, log)})
	return &app{store: store, harness: h, log: log, owner: core.AllOwners}, nil
}

func logger(c *Common, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fmt.Errorf("reading --log-level: %w", err)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), nil
}

// journalExists reports whether there is a journal to read. Commands that only read
// never create one, since a mistyped path would look like an empty journal.
func (c *Common) journalExists() (bool, error) {
	if c.Durability == "off" {
		return false, usageErrorf("Leave it out.", "with --durability=off there is no journal to read")
	}
	_, err := os.Stat(c.DB)
	if errors.Is(err, os.ErrNotExist) {
		return false, &hintedError{fmt.Errorf("there is no journal at %s", c.DB), "Name the server's with --db. A server makes it when it starts."}
	}
	return err == nil, err
}

func openStore(ctx context.Context, c *Common, log *slog.Logger) (core.Store, error) {
	if c.Durability == "off" {
		return memstore.New(), nil
	}
	if info, err := os.Stat(c.DB); err == nil && info.IsDir() {
		return nil, usageErrorf("Give a file in it: --db "+filepath.Join(c.DB, "journal.db")+".", "--db %s is a folder", c.DB)
	}
	store, err := sqlitestore.Open(ctx, c.DB, sqlitestore.Options{Durability: c.Durability, Log: log})
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return store, nil
}

// close ends every session, then the store.
func (h *app) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := h.harness.Shutdown(ctx); err != nil {
		h.log.Warn("sessions had to be ended by force", "err", err)
	}
	h.closeTelemetry()
	if err := h.store.Close(); err != nil {
		return fmt.Errorf("closing the journal: %w", err)
	}
	return nil
}
