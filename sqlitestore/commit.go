package sqlitestore

import (
	"cmp"
	"context"
	"sync"

	"github.com/harness-mcp/harness-mcp/core"
)

// Commit implements core.Store. When ctx ends first it returns, though
// the batch may still be written: LastSeq, or the same batch again, shows whether.
func (s *Store) Commit(ctx context.Context, b core.Batch) error {
	c := commits.Get().(*commit)
	if err := c.take(ctx, b); err != nil {
		c.giveBack()
		return err
	}
	answered, err := s.submit(&c.write)
	if answered {
		c.giveBack()
	}
	if err != nil {
		return translate("writing "+b.Resource, err)
	}
	return nil
}

// commit is an encoded batch.
type commit struct {
	write
	core.EncodedBatch
	provider string
	last     uint64
	parts    []part
	block    block // those of all parts, one after another
}

// part is the part of a batch that goes into one row of the log: as many events as
// fit on a page, or one that needs more.
type part struct {
	first, last     uint64
	n               uint32
	eventsTo, rawTo int // where its blocks end
}

// commits is the pool of unused commits, which saves most allocations.
var commits = sync.Pool{New: func() any {
	c := &commit{}
	c.write = write{apply: c.apply, done: make(chan error, 1)}
	return c
}}

// giveBack returns a commit to the pool. The writer no longer uses it.
func (c *commit) giveBack() {
	events, raw, parts := c.block.events[:0], c.block.raw[:0], c.parts[:0]
	if cap(events)+cap(raw) > keepBlock {
		return
	}
	w := write{apply: c.write.apply, done: c.write.done}
	*c = commit{write: w, parts: parts, block: block{events: events, raw: raw}}
	commits.Put(c)
}

// take encodes the batch on the caller's goroutine, so that no memory of the caller is
// read after Commit has returned.
func (c *commit) take(ctx context.Context, b core.Batch) (err error) {
	if c.EncodedBatch, err = b.Encode(); err != nil {
		return err
	}
	c.last = b.ExpectSeq
	if b.Session != nil {
		c.provider = b.Session.Session.Provider
	}
	c.block.grow(b.Events)
	if len(b.Events) == 0 { // its digest is noted
		c.parts = append(c.parts, part{first: c.last, last: c.last})
	}
	for i := range b.Events {
		c.add(&b.Events[i])
	}
	c.Events = nil
	c.ctx, c.events, c.bytes = ctx, 1+len(c.Rows), c.Bytes
	return nil
}

// add puts an event into the last part, or where that has no room into a new one.
func (c *commit) add(ev *core.Event) {
	n, at := len(c.parts), 0
	if n > 1 {
		at = c.parts[n-2].eventsTo + c.parts[n-2].rawTo
	}
	more := len(ev.Data) + frameRoom
	if len(ev.Raw) > 0 {
		more += len(ev.Raw) + frameRoom
	}
	if n == 0 || len(c.block.events)+len(c.block.raw)-at+more+entryBytes > rowBytes {
		c.parts = append(c.parts, part{first: ev.Seq})
		c.block.prev = frame{}
		n++
	}
	c.block.add(ev)
	p := &c.parts[n-1]
	p.last, p.eventsTo, p.rawTo = ev.Seq, len(c.block.events), len(c.block.raw)
	p.n++
	c.last = ev.Seq
}

func (c *commit) apply(tx *tx) error {
	r, err := tx.resource(c.Owner, c.Resource)
	if err != nil {
		return err
	}
	if r != nil && r.digest == c.Digest {
		return nil // the exact same batch again
	}
	if err := c.check(r); err != nil {
		return err
	}
	rows, err := c.checkIDs(tx, r)
	if err != nil {
		return err
	}
	if r, err = c.putResource(tx, r); err != nil {
		return err
	}
	if err := c.putSnapshots(tx, r.key, rows); err != nil {
		return err
	}
	for _, k := range c.Keys {
		if err := putKey(tx, k); err != nil {
			return err
		}
	}
	var from part
	for _, p := range c.parts {
		tx.log(entry{slice: slice{first: p.first, last: p.last, n: p.n}, resource: r.key, digest: c.Digest},
			c.block.events[from.eventsTo:p.eventsTo], c.block.raw[from.rawTo:p.rawTo])
		from = p
	}
	r.lastSeq, r.digest = int64(c.last), c.Digest
	return nil
}

// check compares the batch with the stored resource, nil if there is none.
func (c *commit) check(old *resource) error {
	kept := old != nil && !c.Replace
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

// storedRow holds the indexed columns of a snapshot that is already stored. Its key is
// 0 for a new one.
type storedRow struct{ key, live, created, ended int64 }

// like reports whether no indexed column of r differs.
func (o storedRow) like(r core.Row) bool {
	return (o.live != 0) == r.Live && o.created == nanos(r.Created) && o.ended == nanos(r.Ended)
}

// checkIDs looks the ids of the batch's rows and keys up, and returns the rows that
// are already stored.
func (c *commit) checkIDs(tx *tx, old *resource) (rows []storedRow, err error) {
	if len(c.Rows) > 0 {
		rows = make([]storedRow, len(c.Rows))
	}
	for i, r := range c.Rows {
		var in int64
		stored, err := tx.one(noContext, "SELECT key, live, created, ended, resource FROM snapshot WHERE id = ? AND kind = ? AND owner = ?",
			[]any{r.ID, string(r.Kind), c.Owner}, &rows[i].key, &rows[i].live, &rows[i].created, &rows[i].ended, &in)
		if err != nil {
			return nil, err
		}
		if stored && !(old != nil && in == old.key) {
			return nil, &core.ConflictError{Kind: string(r.Kind) + "_id", ID: r.ID}
		}
		if c.Replace {
			rows[i] = storedRow{} // goes with the old resource
		}
	}
	for _, k := range c.Keys {
		if used, err := tx.keyUsed(k); err != nil || used {
			return nil, failureOr(err, &core.ConflictError{Kind: "key", ID: k.Key})
		}
	}
	return rows, nil
}

// putResource writes the resource's own row, if it has changed.
func (c *commit) putResource(tx *tx, r *resource) (*resource, error) {
	if r != nil && c.Replace {
		if err := dropResource(tx, r.key); err != nil {
			return nil, err
		}
		r = nil
	}
	if r != nil {
		instance, provider := cmp.Or(c.Instance, r.instance), cmp.Or(c.provider, r.provider)
		if r.instance == instance && r.provider == provider {
			return r, nil
		}
		r.instance, r.provider = instance, provider
		_, err := tx.run("UPDATE resource SET instance = ?, provider = ? WHERE key = ?", instance, provider, r.key)
		return r, err
	}
	r = &resource{kind: string(c.Kind), provider: c.provider, instance: c.Instance}
	put, err := tx.exec("INSERT INTO resource (owner, id, kind, provider, instance) VALUES (?, ?, ?, ?, ?)",
		c.Owner, c.Resource, r.kind, r.provider, r.instance)
	if err != nil {
		return nil, err
	}
	if r.key, err = put.LastInsertId(); err != nil {
		return nil, err
	}
	tx.remember(resourceID{c.Owner, c.Resource}, r)
	return r, nil
}

// putSnapshots writes the rows. SQLite takes each column that is set for a new
// value and writes its indexes anew, so most updates leave those columns out.
func (c *commit) putSnapshots(tx *tx, resource int64, rows []storedRow) error {
	for i, r := range c.Rows {
		var err error
		switch o := rows[i]; {
		case o.key != 0 && o.like(r):
			_, err = tx.run("UPDATE snapshot SET turn = ?, status = ?, body = ? WHERE key = ?", r.TurnID, r.Status, r.Body, o.key)
		case o.key != 0:
			_, err = tx.run("UPDATE snapshot SET turn = ?, status = ?, live = ?, created = ?, ended = ?, body = ? WHERE key = ?",
				r.TurnID, r.Status, r.Live, r.Created, r.Ended, r.Body, o.key)
		default:
			_, err = tx.run("INSERT INTO snapshot (resource, kind, owner, id, turn, status, live, created, ended, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				resource, string(r.Kind), c.Owner, r.ID, r.TurnID, r.Status, r.Live, r.Created, r.Ended, r.Body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
