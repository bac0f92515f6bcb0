package process

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/harness-mcp/harness-mcp/core"
)

// Found is a process that Reap ended, or could not end.
type Found struct {
	PID int
	// Marker is its MarkerVar, "" when only its row matched.
	Marker string
	// ByRow reports whether it matched a row by pid, start time and boot id.
	ByRow bool
}

// Report is what Reap did.
type Report struct {
	// Instances lists the dead instances whose children were looked for.
	Instances []string
	// Ended lists what was ended; Left what is still there after ReapWait.
	Ended, Left []Found
	// Rows is how many rows were deleted.
	Rows int
}

// Reap kills the processes that dead servers of this database left behind, and deletes their
// rows. A server is dead when it has rows and its instance's lock is free. What
// is killed carries the marker of a dead instance with no live one further in,
// or matches a row of one by pid, start time and boot id, or descends from such
// a process; nothing else ever is. This process, its ancestors and its
// descendants are never killed. Rows of an instance of which something is left are kept.
//
// ctx bounds the whole. Call it at boot, and again whenever an instance is
// found dead. On systems other than Linux it deletes rows only.
func Reap(ctx context.Context, log core.ChildLog, inst core.Instances, logger *slog.Logger) (Report, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	rows, err := log.Children(ctx, "")
	if err != nil {
		return Report{}, fmt.Errorf("process: reap: %w", err)
	}
	alive := func(instance string) bool { return instance == inst.Instance() || inst.Alive(instance) }
	dead, orphans := make(map[string]bool), make([]core.Child, 0, len(rows))
	var names []string
	for _, row := range rows {
		if !dead[row.Instance] && !alive(row.Instance) {
			dead[row.Instance] = true
			names = append(names, row.Instance)
		}
		if dead[row.Instance] {
			orphans = append(orphans, row)
		}
	}
	if len(dead) == 0 {
		return Report{}, nil
	}
	report, err := reap(ctx, dead, alive, orphans)
	report.Instances = names
	for _, f := range report.Ended {
		logger.Info("ended a process of a dead server", "pid", f.PID, "marker", f.Marker, "by_row", f.ByRow)
	}
	for _, f := range report.Left {
		logger.Warn("a process of a dead server could not be ended", "pid", f.PID, "marker", f.Marker)
	}
	if err != nil || len(report.Left) > 0 {
		return report, err
	}
	for _, row := range orphans {
		if err := log.DeleteChild(ctx, row.Instance, row.PID); err != nil {
			return report, fmt.Errorf("process: reap: %w", err)
		}
		report.Rows++
	}
	return report, nil
}
