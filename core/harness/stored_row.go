package harness

import (
	"context"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// storedRow is what recovery and pruning need of the row of a session or a
// process.
type storedRow struct {
	kind                core.ResourceKind // KindSession or KindProcess
	owner, id, instance string
	created             time.Time
	live                bool
}

// sessionRow returns the columns of a session that eachPage passes on.
func sessionRow(r core.SessionRecord) storedRow {
	s := r.Session
	return storedRow{core.KindSession, s.Owner, s.ID, r.Instance, s.CreatedAt, s.Status.Live()}
}

// processRow returns the columns of a process that eachPage passes on.
func processRow(r core.ProcessRecord) storedRow {
	p := r.Process
	return storedRow{core.KindProcess, p.Owner, p.ID, r.Instance, p.CreatedAt, !p.Status.Ended()}
}

// eachPage calls do with the rows of q, page by page and newest first, until
// they end or an error comes up. q.Limit is the size of a page.
func (h *Harness) eachPage(ctx context.Context, kind core.ResourceKind, q core.ListQuery, do func([]storedRow) error) error {
	for {
		var rows []storedRow
		var err error
		if kind == core.KindProcess {
			rows, err = storedRows(ctx, q, h.store.Processes, processRow)
		} else {
			rows, err = storedRows(ctx, q, h.store.Sessions, sessionRow)
		}
		if err != nil {
			return err
		}
		if err := do(rows); err != nil || len(rows) < q.Limit {
			return err
		}
		last := rows[len(rows)-1]
		q.Before = core.Cursor(last.created, last.id)
	}
}

// storedRows reads one page of rows.
func storedRows[R any](ctx context.Context, q core.ListQuery, list func(context.Context, core.ListQuery) ([]R, error), row func(R) storedRow) ([]storedRow, error) {
	recs, err := list(ctx, q)
	rows := make([]storedRow, len(recs))
	for i, r := range recs {
		rows[i] = row(r)
	}
	return rows, core.StoreError(err)
}
