package storetest

import (
	"context"
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

// answer returns an answer with a response, given n seconds after the fixture's
// start time.
func answer(owner, session, id string, n int) core.Answer {
	return core.Answer{ID: id, Owner: owner, SessionID: session, RequestID: "q-" + id, At: at(n),
		Response: &core.Response{Action: core.ActionAnswer, Answers: map[string][]string{"a": {"secret"}}}}
}

// answerIDs returns the ids of the open answers for instance, in the order of
// the store.
func answerIDs(ctx context.Context, s core.Store, instance string) ([]string, error) {
	got, err := s.Answers(ctx, instance)
	ids := []string{}
	for _, a := range got {
		ids = append(ids, a.ID)
	}
	return ids, err
}

// wantAnswers returns an error unless instance has exactly the open answers
// want, in this order.
func wantAnswers(ctx context.Context, s core.Store, what, instance string, want ...string) error {
	got, err := answerIDs(ctx, s, instance)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return same(what, got, append([]string{}, want...))
}

// answers proves the rules of AnswerStore: an answer needs a session of the same
// owner; ids are unique; only the instance that owns the session lists it, in
// order of time; the first outcome stays and deletes the response.
// It leaves answers for the instance that owns the session, until they
// have an outcome, and then deletes their responses.
func answers(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 1, 1)); err != nil {
		return err
	}
	if err := wantCode("an answer for no session", s.PutAnswer(ctx, answer(ann, s2, "x", 1)), core.CodeNotFound); err != nil {
		return err
	}
	if err := wantCode("an answer for another owner's session", s.PutAnswer(ctx, answer(bob, s1, "x", 1)), core.CodeNotFound); err != nil {
		return err
	}
	late, early := answer(ann, s1, "late", 9), answer(ann, s1, "early", 2)
	for _, a := range []core.Answer{late, early} {
		if err := s.PutAnswer(ctx, a); err != nil {
			return err
		}
	}
	if err := wantConflict("the same answer twice", s.PutAnswer(ctx, early), "answer", "early"); err != nil {
		return err
	}
	got, err := s.Answer(ctx, "early")
	if err != nil {
		return err
	}
	if err := same("an answer", got, early); err != nil {
		return err
	}
	if err := wantAnswers(ctx, s, "answers of the session's instance", "ins_a", "early", "late"); err != nil {
		return err
	}
	if err := wantAnswers(ctx, s, "answers of another instance", "ins_b"); err != nil {
		return err
	}
	o := core.AnswerOutcome{Code: core.CodeScope, Message: "no", Hint: "try", At: at(3)}
	for i, first := range []bool{true, false} {
		ok, err := s.PutOutcome(ctx, "early", o)
		if err != nil || ok != first {
			return fmt.Errorf("settling for time %d: %t, %v", i+1, ok, err)
		}
		o.Code = core.CodeAction
	}
	if ok, err := s.PutOutcome(ctx, "none", o); err != nil || ok {
		return fmt.Errorf("settling what is not there: %t, %v", ok, err)
	}
	if err := wantAnswers(ctx, s, "answers after one has its outcome", "ins_a", "late"); err != nil {
		return err
	}
	if got, err = s.Answer(ctx, "early"); err != nil {
		return err
	}
	want := early
	want.Response = nil
	want.Outcome = &core.AnswerOutcome{Code: core.CodeScope, Message: "no", Hint: "try", At: at(3)}
	return same("an answer with an outcome", got, want)
}

// answersGo proves that no answer outlives its use: SweepKeys drops answers that
// are older than its time, and Delete drops those of the session. A response may
// hold secrets, so neither may leave one behind.
func answersGo(ctx context.Context, s core.Store) error {
	if err := s.Commit(ctx, opened(ann, s1, 1, 1)); err != nil {
		return err
	}
	for _, a := range []core.Answer{answer(ann, s1, "old", 1), answer(ann, s1, "new", 5)} {
		if err := s.PutAnswer(ctx, a); err != nil {
			return err
		}
	}
	if err := s.SweepKeys(ctx, at(3)); err != nil {
		return err
	}
	_, err := s.Answer(ctx, "old")
	if err := wantCode("a swept answer", err, core.CodeNotFound); err != nil {
		return err
	}
	if err := wantAnswers(ctx, s, "answers that are left", "ins_a", "new"); err != nil {
		return err
	}
	if err := s.Delete(ctx, ann, s1); err != nil {
		return err
	}
	_, err = s.Answer(ctx, "new")
	return wantCode("the answer of a deleted session", err, core.CodeNotFound)
}

// endedList proves that Ended lists sessions and processes of all owners, the
// oldest end first, up to its limit, and nothing that is live. Instance and
// LastSeq must be exact: DeleteEnded compares them.
func endedList(ctx context.Context, s core.Store) error {
	for i, id := range []string{"c", "a", "b"} {
		b := opened(ann, id, i, 1, 2)
		b.Session.Session.Status, b.Session.Session.UpdatedAt = core.StatusClosed, at(10-i)
		if err := s.Commit(ctx, b); err != nil {
			return err
		}
	}
	p := core.Batch{Owner: bob, Resource: "p", Instance: "ins_b", Create: true, Process: process(bob, "p", 1), Events: events("p", 1)}
	p.Process.Process.Status, p.Process.Process.FinishedAt = core.ProcessDoneExited, at(3)
	if err := s.Commit(ctx, p); err != nil {
		return err
	}
	if err := s.Commit(ctx, opened(ann, "live", 0, 1)); err != nil {
		return err
	}
	got, err := s.Ended(ctx, 3)
	if err != nil {
		return err
	}
	return same("what has ended", got, []core.EndedResource{
		{Owner: bob, ID: "p", Kind: core.KindProcess, Instance: "ins_b", LastSeq: 1, At: at(3)},
		{Owner: ann, ID: "b", Kind: core.KindSession, Instance: "ins_a", LastSeq: 2, At: at(8)},
		{Owner: ann, ID: "a", Kind: core.KindSession, Instance: "ins_a", LastSeq: 2, At: at(9)},
	})
}

// deleteEnded proves that DeleteEnded compares before it deletes: a resource that
// is live, has further events, or belongs to another instance or owner stays and
// the result is false without an error. Else retention could delete a resource
// that was resumed after it was listed.
func deleteEnded(ctx context.Context, s core.Store) error {
	b := opened(ann, s1, 1, 1, 2)
	b.Session.Session.Status = core.StatusClosed
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	if err := s.Commit(ctx, opened(ann, s2, 1, 1)); err != nil {
		return err
	}
	for _, no := range []struct {
		what, owner, id, instance string
		last                      uint64
	}{
		{"a live one", ann, s2, "ins_a", 1},
		{"one that moved on", ann, s1, "ins_a", 1},
		{"one of another instance", ann, s1, "ins_b", 2},
		{"another owner's", bob, s1, "ins_a", 2},
		{"one that is not there", ann, "none", "ins_a", 0},
	} {
		if ok, err := s.DeleteEnded(ctx, no.owner, no.id, no.instance, no.last); ok || err != nil {
			return fmt.Errorf("%s: deleted %t, %v", no.what, ok, err)
		}
	}
	if _, err := s.Session(ctx, ann, s1); err != nil {
		return fmt.Errorf("it is gone all the same: %w", err)
	}
	if ok, err := s.DeleteEnded(ctx, ann, s1, "ins_a", 2); !ok || err != nil {
		return fmt.Errorf("an ended one: deleted %t, %v", ok, err)
	}
	_, err := s.Session(ctx, ann, s1)
	return wantCode("a deleted session", err, core.CodeNotFound)
}

// sizeGrows checks that Size grows with the data.
func sizeGrows(ctx context.Context, s core.Store) error {
	before, err := s.Size(ctx)
	if err != nil {
		return err
	}
	b := opened(ann, s1, 1, 1)
	b.Events[0].Data = fmt.Appendf(nil, `"%0100000d"`, 1)
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	after, err := s.Size(ctx)
	if err != nil || after <= before {
		return fmt.Errorf("the size was %d and is %d, %v", before, after, err)
	}
	return nil
}

// oneSweeper checks that a single server is the elected one, and stays elected.
func oneSweeper(_ context.Context, s core.Store) error {
	for range 2 {
		if !s.Elected() {
			return fmt.Errorf("a server alone is not elected")
		}
	}
	return nil
}
