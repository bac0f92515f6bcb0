package sqlitestore

import (
	"bytes"
	"context"
	"encoding/json"
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
	e.Keys = slices.Clone(e.Keys)
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

// resource is a row of that table.
type resource struct {
	key       int64
	kind      string
	lastSeq   int64
	lastBatch []byte
}

// noContext is for reads within a transaction of the writer: they are point
// look-ups, and an interrupt would break the writes of others.
var noContext = context.Background()

func findResource(tx *conn, owner, id string) (r resource, found bool, err error) {
	found, err = tx.one(noContext, "SELECT key, kind, last_seq, last_batch FROM resource WHERE id = ? AND owner = ?",
		[]any{id, owner}, &r.key, &r.kind, &r.lastSeq, &r.lastBatch)
	return r, found, err
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
		if err := insertKey(tx, k); err != nil {
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
		if used, err := keyExists(tx, k); err != nil || used {
			return nil, cmpErr(err, &core.ConflictError{Kind: "key", ID: k.Key})
		}
	}
	return rows, nil
}

// cmpErr is the failure if there is one, else the refusal.
func cmpErr(failure, refusal error) error {
	if failure != nil {
		return failure
	}
	return refusal
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

// dropResource deletes a resource and its snapshots and dooms its events.
func dropResource(tx *conn, key int64) error {
	for _, sql := range []string{
		"DELETE FROM snapshot WHERE resource = ?",
		"DELETE FROM resource WHERE key = ?",
		"INSERT INTO doomed (resource) VALUES (?)",
	} {
		if _, err := tx.run(sql, key); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements core.Store. The resource is gone at once and as a whole;
// its events, which nothing finds any more, are deleted portion by portion
// before Delete returns, or later should ctx end.
func (s *Store) Delete(ctx context.Context, owner, id string) error {
	const doing = "deleting"
	found := false
	err := s.write(ctx, doing, 1, 0, func(tx *conn) error {
		r, ok, err := findResource(tx, owner, id)
		if err != nil || !ok {
			return err
		}
		found = true
		return dropResource(tx, r.key)
	})
	if err != nil || !found {
		return err
	}
	for more := true; err == nil && more; {
		err = s.write(ctx, doing, sweepRows, 0, func(tx *conn) (err error) {
			if more, err = tx.one(noContext, "SELECT 1 FROM doomed LIMIT 1", nil); err != nil {
				return err
			}
			return sweepStep(tx)
		})
	}
	return nil // the rest of the sweeping is the checkpointer's
}

// Trim implements core.Store. It deletes portion by portion, so that a reader
// may meanwhile see a journal that begins earlier.
func (s *Store) Trim(ctx context.Context, owner, resource string, before uint64) error {
	for {
		var n int64
		err := s.write(ctx, "trimming "+resource, sweepRows, 0, func(tx *conn) error {
			n = 0
			r, found, err := findResource(tx, owner, resource)
			if err == nil && found {
				n, err = dropEvents(tx, r.key, min(before, maxSeq))
			}
			return err
		})
		if err != nil || n < sweepRows {
			return err
		}
	}
}

// Claim implements core.Store.
func (s *Store) Claim(ctx context.Context, owner, id, from, to string) (claimed bool, err error) {
	var n int64
	err = s.write(ctx, "claiming "+id, 1, 0, func(tx *conn) (err error) {
		n, err = tx.run("UPDATE resource SET instance = ? WHERE id = ? AND owner = ? AND instance = ?", to, id, owner, from)
		return err
	})
	return err == nil && n == 1, err
}

// decode reads a stored body.
func decode(body []byte, into any) error { return json.Unmarshal(body, into) }
