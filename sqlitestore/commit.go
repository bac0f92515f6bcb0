package sqlitestore

import (
	"bytes"
	"context"
	"slices"

	"github.com/harness-mcp/harness-mcp/core"
)

// Commit implements core.Store. When ctx ends before the disk has answered it
// returns, though the batch may still be written: LastSeq, or the same batch
// again, tells.
func (s *Store) Commit(ctx context.Context, b core.Batch) error {
	e, err := b.Encode()
	if err != nil {
		return err
	}
	// The writer may still read the batch when the caller has left and uses
	// its memory again.
	e.Events = slices.Clone(e.Events)
	for i := range e.Events {
		ev := &e.Events[i]
		ev.Data, ev.Raw = bytes.Clone(ev.Data), bytes.Clone(ev.Raw)
	}
	provider := ""
	if e.Session != nil {
		provider = e.Session.Session.Provider
	}
	c := &commit{EncodedBatch: e, provider: provider}
	return s.write(ctx, "writing "+b.Resource, len(e.Events), e.Bytes, c.apply)
}

// commit is a batch on its way into the database.
type commit struct {
	core.EncodedBatch
	provider string
}

func (c *commit) apply(tx *conn) error {
	old, found, err := findResource(tx, c.Owner, c.Resource)
	if err != nil {
		return err
	}
	if found && bytes.Equal(old.lastBatch, c.Digest[:]) {
		return nil // the exact same batch again
	}
	if err := c.check(old, found); err != nil {
		return err
	}
	rows, err := c.checkIDs(tx, old, found)
	if err != nil {
		return err
	}
	key, err := c.putResource(tx, old, found)
	if err != nil {
		return err
	}
	if err := c.putSnapshots(tx, key, rows); err != nil {
		return err
	}
	for _, k := range c.Keys {
		if err := putKey(tx, k); err != nil {
			return err
		}
	}
	return c.putEvents(tx, key)
}

// check compares the batch with the stored resource.
func (c *commit) check(old resource, found bool) error {
	kept := found && !c.Replace
	if kept && (c.Create || c.Kind != "" && string(c.Kind) != old.kind) {
		return &core.ConflictError{Kind: c.IDKind(), ID: c.Resource, Stored: uint64(old.lastSeq)}
	}
	var stored uint64
	if kept {
		stored = uint64(old.lastSeq)
	}
	if stored != c.ExpectSeq {
		return &core.ConflictError{Kind: "seq", ID: c.Resource, Stored: stored}
	}
	if !kept && c.Kind == "" {
		return core.Errorf(core.CodeNotFound, "there is no %s", c.Resource)
	}
	return nil
}

// checkIDs looks the ids of the batch's rows and keys up. It gives the key of
// each row that is already stored, 0 for a new one.
func (c *commit) checkIDs(tx *conn, old resource, found bool) (rows []int64, err error) {
	rows = make([]int64, len(c.Rows))
	for i, r := range c.Rows {
		var in int64
		stored, err := tx.one(noContext, "SELECT key, resource FROM snapshot WHERE id = ? AND kind = ? AND owner = ?",
			[]any{r.ID, string(r.Kind), c.Owner}, &rows[i], &in)
		if err != nil {
			return nil, err
		}
		if stored && !(found && in == old.key) {
			return nil, &core.ConflictError{Kind: string(r.Kind) + "_id", ID: r.ID}
		}
		if c.Replace {
			rows[i] = 0 // goes with the old resource
		}
	}
	for _, k := range c.Keys {
		if old, used, err := findKey(noContext, tx, k); err != nil || used && !k.Completes(old) {
			return nil, failureOr(err, &core.ConflictError{Kind: "key", ID: k.Key})
		}
	}
	return rows, nil
}

// putResource writes the resource's own row and gives its key.
func (c *commit) putResource(tx *conn, old resource, found bool) (int64, error) {
	last := c.ExpectSeq
	if n := len(c.Events); n > 0 {
		last = c.Events[n-1].Seq
	}
	if found && c.Replace {
		if err := dropResource(tx, old.key); err != nil {
			return 0, err
		}
		found = false
	}
	if found {
		_, err := tx.run(`UPDATE resource SET last_seq = ?, last_batch = ?,
			instance = iif(?3 = '', instance, ?3), provider = iif(?4 = '', provider, ?4) WHERE key = ?5`,
			last, c.Digest[:], c.Instance, c.provider, old.key)
		return old.key, err
	}
	r, err := tx.exec("INSERT INTO resource (owner, id, kind, provider, instance, last_seq, last_batch) VALUES (?, ?, ?, ?, ?, ?, ?)",
		c.Owner, c.Resource, string(c.Kind), c.provider, c.Instance, last, c.Digest[:])
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (c *commit) putSnapshots(tx *conn, resource int64, rows []int64) error {
	for i, r := range c.Rows {
		var err error
		if rows[i] != 0 {
			_, err = tx.run("UPDATE snapshot SET turn = ?, status = ?, live = ?, created = ?, ended = ?, body = ? WHERE key = ?",
				r.TurnID, r.Status, r.Live, r.Created, r.Ended, r.Body, rows[i])
		} else {
			_, err = tx.run("INSERT INTO snapshot (resource, kind, owner, id, turn, status, live, created, ended, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				resource, string(r.Kind), c.Owner, r.ID, r.TurnID, r.Status, r.Live, r.Created, r.Ended, r.Body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) putEvents(tx *conn, resource int64) error {
	for _, ev := range c.Events {
		r, err := tx.exec("INSERT INTO event (resource, seq, version, at, type, turn, request, provider, id, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			resource, ev.Seq, ev.SchemaVersion, ev.At, string(ev.Type), orNull(ev.TurnID), orNull(ev.RequestID), orNull(ev.Provider), ev.ID, []byte(ev.Data))
		if err != nil {
			return err
		}
		if len(ev.Raw) == 0 {
			continue
		}
		key, err := r.LastInsertId()
		if err != nil {
			return err
		}
		if _, err := tx.run("INSERT INTO raw_frame (event, frame) VALUES (?, ?)", key, []byte(ev.Raw)); err != nil {
			return err
		}
	}
	return nil
}
