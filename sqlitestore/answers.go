package sqlitestore

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

// PutAnswer implements core.AnswerStore.
func (s *Store) PutAnswer(ctx context.Context, a core.Answer) error {
	a.At = a.At.Round(0).UTC()
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return s.write(ctx, "leaving an answer", 1, len(body), func(tx *tx) error {
		r, err := tx.resource(a.Owner, a.SessionID)
		if err != nil || r == nil || r.kind != string(core.KindSession) {
			return failureOr(err, core.Errorf(core.CodeNotFound, "there is no session %s", a.SessionID))
		}
		n, err := tx.run("INSERT OR IGNORE INTO answer (id, resource, at, settled, body) VALUES (?, ?, ?, 0, ?)", a.ID, r.key, a.At, body)
		if err == nil && n == 0 {
			err = &core.ConflictError{Kind: "answer", ID: a.ID}
		}
		return err
	})
}

// Answers implements core.AnswerStore.
func (s *Store) Answers(ctx context.Context, instance string) (answers []core.Answer, err error) {
	err = s.read(ctx, "looking for answers", func(c *conn) error {
		return c.query(ctx, `SELECT a.body FROM answer a JOIN resource r ON r.key = a.resource
			WHERE a.settled = 0 AND r.instance = ? ORDER BY a.at, a.id`, []any{instance},
			func(row []driver.Value) (bool, error) {
				var a core.Answer
				body, _ := row[0].([]byte)
				if err := decode(body, &a); err != nil {
					return false, err
				}
				answers = append(answers, a)
				return true, nil
			})
	})
	return answers, err
}

// Answer implements core.AnswerStore.
func (s *Store) Answer(ctx context.Context, id string) (a core.Answer, err error) {
	err = s.read(ctx, "reading an answer", func(c *conn) error {
		var found bool
		a, found, err = findAnswer(ctx, c, id)
		if err == nil && !found {
			err = core.Errorf(core.CodeNotFound, "there is no answer %s", id)
		}
		return err
	})
	return a, err
}

func findAnswer(ctx context.Context, c *conn, id string) (a core.Answer, found bool, err error) {
	var body []byte
	found, err = c.one(ctx, "SELECT body FROM answer WHERE id = ?", []any{id}, &body)
	if err == nil && found {
		err = decode(body, &a)
	}
	return a, found, err
}

// PutOutcome implements core.AnswerStore.
func (s *Store) PutOutcome(ctx context.Context, id string, o core.AnswerOutcome) (first bool, err error) {
	o.At = o.At.Round(0).UTC()
	err = s.write(ctx, "settling an answer", 1, 0, func(tx *tx) error {
		first = false
		a, found, err := findAnswer(noContext, tx.conn, id)
		if err != nil || !found || a.Outcome != nil {
			return err
		}
		a.Response, a.Outcome = nil, &o
		body, err := json.Marshal(a)
		if err != nil {
			return err
		}
		first = true
		_, err = tx.run("UPDATE answer SET settled = 1, body = ? WHERE id = ?", body, id)
		return err
	})
	return first && err == nil, err
}
