package storetest

import (
	"context"

	"github.com/harness-mcp/harness-mcp/core"
)

// brokenAnswers replaces methods that have to do with answers and sweeping.
type brokenAnswers struct {
	answers     func(ctx context.Context, s core.Store, instance string) ([]core.Answer, error)
	settle      func(ctx context.Context, s core.Store, id string, o core.AnswerOutcome) (bool, error)
	answer      func(ctx context.Context, s core.Store, id string) (core.Answer, error)
	ended       func(ctx context.Context, s core.Store, limit int) ([]core.EndedResource, error)
	deleteEnded func(ctx context.Context, s core.Store, owner, id, instance string, last uint64) (bool, error)
	size        func() int64
	elected     func() bool
}

func (b *broken) Answers(ctx context.Context, instance string) ([]core.Answer, error) {
	if b.mail.answers != nil {
		return b.mail.answers(ctx, b.Store, instance)
	}
	return b.Store.Answers(ctx, instance)
}

func (b *broken) Answer(ctx context.Context, id string) (core.Answer, error) {
	if b.mail.answer != nil {
		return b.mail.answer(ctx, b.Store, id)
	}
	return b.Store.Answer(ctx, id)
}

func (b *broken) PutOutcome(ctx context.Context, id string, o core.AnswerOutcome) (bool, error) {
	if b.mail.settle != nil {
		return b.mail.settle(ctx, b.Store, id, o)
	}
	return b.Store.PutOutcome(ctx, id, o)
}

func (b *broken) Ended(ctx context.Context, limit int) ([]core.EndedResource, error) {
	if b.mail.ended != nil {
		return b.mail.ended(ctx, b.Store, limit)
	}
	return b.Store.Ended(ctx, limit)
}

func (b *broken) DeleteEnded(ctx context.Context, owner, id, instance string, last uint64) (bool, error) {
	if b.mail.deleteEnded != nil {
		return b.mail.deleteEnded(ctx, b.Store, owner, id, instance, last)
	}
	return b.Store.DeleteEnded(ctx, owner, id, instance, last)
}

func (b *broken) Size(ctx context.Context) (int64, error) {
	if b.mail.size != nil {
		return b.mail.size(), nil
	}
	return b.Store.Size(ctx)
}

func (b *broken) Elected() bool {
	if b.mail.elected != nil {
		return b.mail.elected()
	}
	return b.Store.Elected()
}

var brokenAnswerStores = []struct {
	name   string
	mail   brokenAnswers
	caught string
}{
	{"gives answers to every instance", brokenAnswers{answers: func(ctx context.Context, s core.Store, _ string) ([]core.Answer, error) {
		return s.Answers(ctx, "ins_a")
	}}, "answers wait for the session's instance"},
	{"settles an answer again", brokenAnswers{settle: func(ctx context.Context, s core.Store, id string, o core.AnswerOutcome) (bool, error) {
		_, err := s.PutOutcome(ctx, id, o)
		return true, err
	}}, "answers wait for the session's instance"},
	{"keeps answers of old", brokenAnswers{answer: func(_ context.Context, _ core.Store, id string) (core.Answer, error) {
		return core.Answer{ID: id}, nil
	}}, "answers go with age and session"},
	{"lists no ended processes", brokenAnswers{ended: func(ctx context.Context, s core.Store, limit int) ([]core.EndedResource, error) {
		all, err := s.Ended(ctx, limit)
		if len(all) > 0 {
			all = all[1:]
		}
		return all, err
	}}, "what has ended is listed"},
	{"deletes whatever it is told", brokenAnswers{deleteEnded: func(ctx context.Context, s core.Store, owner, id, _ string, _ uint64) (bool, error) {
		return true, s.Delete(ctx, owner, id)
	}}, "only what has ended and stands still is deleted"},
	{"has no size", brokenAnswers{size: func() int64 { return 1 }}, "the size grows with the data"},
	{"elects nobody", brokenAnswers{elected: func() bool { return false }}, "a server alone is elected"},
}
