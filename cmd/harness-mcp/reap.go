package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/harness-mcp/harness-mcp/process"
)

type reapCmd struct{}

// Run ends the processes that dead servers of this journal left behind and prints them.
func (reapCmd) Run(ctx context.Context, c *Common, std stdio) error {
	if _, err := c.journalExists(); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	store, err := openStore(ctx, c, log)
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := process.Reap(ctx, store, store, log)
	if err != nil {
		return fmt.Errorf("looking for leftovers: %w", err)
	}
	if len(r.Instances) == 0 {
		fmt.Fprintln(std.out, "No server of this journal has died with children. Nothing to end.")
		return nil
	}
	fmt.Fprintf(std.out, "Dead servers: %d. Rows of their children: %d deleted.\n", len(r.Instances), r.Rows)
	for _, f := range r.Ended {
		fmt.Fprintf(std.out, "ended  %v\n", f)
	}
	for _, f := range r.Left {
		fmt.Fprintf(std.out, "LEFT   %v\n", f)
	}
	if len(r.Ended)+len(r.Left) == 0 {
		fmt.Fprintln(std.out, "None of them is still there.")
	}
	if len(r.Left) > 0 {
		return errSilent
	}
	return nil
}
