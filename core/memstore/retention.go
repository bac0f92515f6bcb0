package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// DeleteEnded implements Store. It compares and deletes under one hold of the
// mutex: a resource that another instance claimed or wrote since it was listed
// stays.
func (m *Store) DeleteEnded(ctx context.Context, owner, id, instance string, last uint64) (bool, error) {
	return locked(ctx, m, func(d *memData) (bool, error) {
		a := d.aggregates[ownedID{owner, id}]
		if a == nil || a.instance != instance || a.lastSeq != last {
			return false, nil
		}
		if row := d.rows[rowID{a.kind, a.ownedID}]; row == nil || row.Live {
			return false, nil
		}
		d.drop(a)
		return true, nil
	})
}

// Ended implements Store. The oldest end comes first, then the lower id.
func (m *Store) Ended(ctx context.Context, limit int) ([]core.EndedResource, error) {
	return locked(ctx, m, func(d *memData) ([]core.EndedResource, error) {
		var out []core.EndedResource
		for _, a := range d.aggregates {
			if row := d.rows[rowID{a.kind, a.ownedID}]; row != nil && !row.Live {
				out = append(out, core.EndedResource{Owner: a.owner, ID: a.id, Kind: a.kind, Instance: a.instance, LastSeq: a.lastSeq, At: row.Ended})
			}
		}
		slices.SortFunc(out, func(x, y core.EndedResource) int {
			return cmp.Or(x.At.Compare(y.At), strings.Compare(x.ID, y.ID), strings.Compare(x.Owner, y.Owner))
		})
		return out[:min(len(out), pageRows(limit))], nil
	})
}

// Size implements Store. It counts event data and row bodies in bytes, without
// the overhead of maps and without keys, children and answers.
func (m *Store) Size(ctx context.Context) (int64, error) {
	return locked(ctx, m, func(d *memData) (int64, error) {
		n := d.bytes
		for _, r := range d.rows {
			n += len(r.Body)
		}
		return int64(n), nil
	})
}
