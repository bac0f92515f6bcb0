package core

import "testing"

// What a step costs without its host. The goal is below one microsecond.

func BenchmarkStepContentDelta(b *testing.B) {
	r := newRig(b).running()
	in := inNotice{Epoch: 1, Notice: Content{Turn: "trn_1", Payload: MessageDelta{Item: "i", Text: "some words of an answer"}}}
	b.ReportAllocs()
	for b.Loop() {
		r.s, r.out = step(r.s, in, r.now)
	}
	if r.s.Status() != StatusRunning || len(r.out) == 0 {
		b.Fatal("the turn did not go on")
	}
}

// Deltas that came together.
func BenchmarkStepBatchOfDeltas(b *testing.B) {
	r := newRig(b).running()
	in := make([]Input, 16)
	for i := range in {
		in[i] = inNotice{Epoch: 1, Notice: Content{Turn: "trn_1", Payload: MessageDelta{Item: "i", Text: "some words of an answer"}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		r.s, r.out = stepAll(r.s, in, r.now)
	}
	if r.s.Status() != StatusRunning || len(r.out) != len(in) {
		b.Fatal("the turn did not go on")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in)), "ns/step")
}

func BenchmarkStepSend(b *testing.B) {
	r := newRig(b).idle()
	in := inSend{Token: 9, TurnID: "trn_1", Input: TurnInput{Prompt: "work on this, please"}}
	b.ReportAllocs()
	for b.Loop() {
		_, r.out = step(r.s, in, r.now)
	}
	if len(r.out) == 0 {
		b.Fatal("nothing was sent")
	}
}

// A full turn is four steps: send, acceptance, a message and its end.
func BenchmarkStepFullTurn(b *testing.B) {
	r := newRig(b).idle()
	s := r.s
	b.ReportAllocs()
	steps := 0
	for b.Loop() {
		s, _ = step(s, inSend{Token: 9, TurnID: "trn_1", Input: TurnInput{Prompt: "work"}}, r.now)
		for _, in := range []Input{
			inNotice{Epoch: 1, Notice: OpDone{Op: s.Turn.Op, Ref: "ref"}},
			inNotice{Epoch: 1, Notice: Content{Turn: "trn_1", Payload: Message{Item: "i", Text: "done"}}},
			inNotice{Epoch: 1, Notice: TurnEnded{Turn: "trn_1", Verdict: VerdictCompleted}},
		} {
			s, r.out = step(s, in, r.now)
		}
		steps += 4
	}
	if s.Status() != StatusIdle || s.TurnsBegun == 0 {
		b.Fatalf("the session is %s", s.Status())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
