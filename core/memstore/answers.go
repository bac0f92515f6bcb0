package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// PutAnswer implements AnswerStore. The session must exist for the same owner,
// else CodeNotFound. An id that is in use is a *core.ConflictError.
func (m *Store) PutAnswer(ctx context.Context, a core.Answer) error {
	return m.do(ctx, func(d *memData) error {
		if _, used := d.answers[a.ID]; used {
			return &core.ConflictError{Kind: "answer", ID: a.ID}
		}
		if agg := d.aggregates[ownedID{a.Owner, a.SessionID}]; agg == nil || agg.kind != core.KindSession {
			return core.Errorf(core.CodeNotFound, "there is no session %s", a.SessionID)
		}
		a.At = core.StoredTime(a.At)
		d.answers[a.ID] = cloneAnswer(a)
		return nil
	})
}

// cloneAnswer returns a copy that shares nothing with a.
func cloneAnswer(a core.Answer) core.Answer {
	if a.Response != nil {
		r := *a.Response
		r.Content = slices.Clone(r.Content)
		if r.Answers != nil {
			answers := make(map[string][]string, len(r.Answers))
			for k, v := range r.Answers {
				answers[k] = slices.Clone(v)
			}
			r.Answers = answers
		}
		a.Response = &r
	}
	if a.Outcome != nil {
		o := *a.Outcome
		a.Outcome = &o
	}
	return a
}

// Answers implements AnswerStore. The instance is compared with the present
// owner of the session, so open answers follow a session that is claimed.
func (m *Store) Answers(ctx context.Context, instance string) ([]core.Answer, error) {
	return locked(ctx, m, func(d *memData) ([]core.Answer, error) {
		var out []core.Answer
		for _, a := range d.answers {
			if agg := d.aggregates[ownedID{a.Owner, a.SessionID}]; a.Outcome == nil && agg != nil && agg.instance == instance {
				out = append(out, cloneAnswer(a))
			}
		}
		slices.SortFunc(out, func(x, y core.Answer) int { return cmp.Or(x.At.Compare(y.At), strings.Compare(x.ID, y.ID)) })
		return out, nil
	})
}

// Answer implements AnswerStore.
func (m *Store) Answer(ctx context.Context, id string) (core.Answer, error) {
	return locked(ctx, m, func(d *memData) (core.Answer, error) {
		a, ok := d.answers[id]
		if !ok {
			return core.Answer{}, core.Errorf(core.CodeNotFound, "there is no answer %s", id)
		}
		return cloneAnswer(a), nil
	})
}

// PutOutcome implements AnswerStore. The first outcome stays and the response is
// deleted with it: it may hold secrets and has no further reader.
func (m *Store) PutOutcome(ctx context.Context, id string, o core.AnswerOutcome) (bool, error) {
	return locked(ctx, m, func(d *memData) (bool, error) {
		a, ok := d.answers[id]
		if !ok || a.Outcome != nil {
			return false, nil
		}
		o.At = core.StoredTime(o.At)
		a.Response, a.Outcome = nil, &o
		d.answers[id] = cloneAnswer(a)
		return true, nil
	})
}
