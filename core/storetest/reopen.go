package storetest

import (
	"context"
	"errors"

	"github.com/harness-mcp/harness-mcp/core"
)

// ReopenChecks lists what a durable store must do.
func ReopenChecks() []ReopenCheck {
	return []ReopenCheck{
		{"everything survives", everythingSurvives},
		{"the same batch is known after a reopening", sameBatchSurvives},
		{"a reopened store is another instance", reopenedInstance},
	}
}

// everythingSurvives proves that each kind of record, the owning instance and the
// secret are there after a reopening, that a deleted session is not, and that the journal continues at the stored seq.
func everythingSurvives(ctx context.Context, s core.Store, reopen func(core.Store) core.Store) error {
	b := opened(ann, s1, 0, 1, 2)
	b.Events[0].Raw = []byte(`{"r":1}`)
	b.Turns = []core.TurnRecord{turn(ann, s1, "t", 1)}
	b.Requests = []core.Request{request(ann, s1, "t", "q", 1)}
	b.Keys = []core.KeyRecord{{Owner: ann, Tool: "tool", Key: "k", ArgsHash: "h", Resource: s1, At: at(0)}}
	child := core.Child{PID: 1, StartTime: 2, BootID: "b", Instance: s.Instance(), Resource: s1, Path: "/bin/true", At: at(0)}
	if err := steps(
		func() error { return s.Commit(ctx, b) },
		func() error { return s.Commit(ctx, more(ann, s1, 2, 3)) },
		func() error { return s.Commit(ctx, opened(ann, s2, 0, 1)) },
		func() error { return s.Delete(ctx, ann, s2) },
		func() error { return s.PutChild(ctx, child) },
	); err != nil {
		return err
	}
	secret := s.Secret()
	s = reopen(s)
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: s1, Raw: true})
	if err != nil {
		return err
	}
	ses, err := s.Session(ctx, ann, s1)
	if err != nil {
		return err
	}
	tur, err := s.Turn(ctx, ann, "t")
	if err != nil {
		return err
	}
	req, err := s.Request(ctx, ann, "q")
	if err != nil {
		return err
	}
	key, err := s.Key(ctx, ann, "tool", "k")
	if err != nil {
		return err
	}
	children, err := s.Children(ctx, "")
	if err != nil {
		return err
	}
	_, gone := s.Session(ctx, ann, s2)
	return steps(
		func() error { return same("events", got, append(b.Events, event(s1, 3))) },
		func() error { return same("session", ses, b.Session) },
		func() error { return same("instance", ses.Instance, "ins_a") },
		func() error { return same("turn", tur, b.Turns[0]) },
		func() error { return same("request", req, b.Requests[0]) },
		func() error { return same("key", key, b.Keys[0]) },
		func() error { return same("children", children, []core.Child{child}) },
		func() error { return same("secret", s.Secret(), secret) },
		func() error { return wantCode("a deleted session", gone, core.CodeNotFound) },
		func() error { return s.Commit(ctx, more(ann, s1, 3, 4)) },
	)
}

// sameBatchSurvives proves that the digest of the last batch is durable: a commit
// whose result was lost in a crash can be repeated after it.
func sameBatchSurvives(ctx context.Context, s core.Store, reopen func(core.Store) core.Store) error {
	b := more(ann, s1, 1, 2)
	if err := steps(
		func() error { return s.Commit(ctx, opened(ann, s1, 0, 1)) },
		func() error { return s.Commit(ctx, b) },
	); err != nil {
		return err
	}
	s = reopen(s)
	return steps(
		func() error { return s.Commit(ctx, b) },
		func() error { return page(ctx, s, "events", core.EventQuery{}, 1, 2) },
	)
}

// reopenedInstance proves that each opening is an instance of its own and that the
// former one is not alive. Recovery depends on it to find resources whose server
// has ended.
func reopenedInstance(ctx context.Context, s core.Store, reopen func(core.Store) core.Store) error {
	old := s.Instance()
	s = reopen(s)
	if s.Instance() == old {
		return errors.New("the instance is the same")
	}
	if s.Alive(old) || !s.Alive(s.Instance()) {
		return errors.New("the old instance is alive, or the new one is not")
	}
	return nil
}
