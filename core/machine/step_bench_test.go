package machine

import (
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

// What a step costs without its host. The goal is below one microsecond.

func BenchmarkStepContentDelta(b *testing.B) {
	r := newRig(b).running()
	in := Notice{Epoch: 1, Notice: core.Content{Turn: "trn_1", Payload: core.MessageDelta{Item: "i", Text: "some words of an answer"}}}
	b.ReportAllocs()
	for b.Loop() {
		r.s, r.out = Step(r.s, in, r.now)
	}
	if r.s.Status() != core.StatusRunning || len(r.out) == 0 {
		b.Fatal("the turn did not go on")
	}
}

// Deltas that came together.
func BenchmarkStepBatchOfDeltas(b *testing.B) {
	r := newRig(b).running()
	in := make([]Input, 16)
	for i := range in {
		in[i] = Notice{Epoch: 1, Notice: core.Content{Turn: "trn_1", Payload: core.MessageDelta{Item: "i", Text: "some words of an answer"}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		r.s, r.out = StepAll(r.s, in, r.now)
	}
	if r.s.Status() != core.StatusRunning || len(r.out) != len(in) {
		b.Fatal("the turn did not go on")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in)), "ns/step")
}

func BenchmarkStepSend(b *testing.B) {
	r := newRig(b).idle()
	in := Prompt{Token: 9, TurnID: "trn_1", Input: core.TurnInput{Prompt: "work on this, please"}}
	b.ReportAllocs()
	for b.Loop() {
		_, r.out = Step(r.s, in, r.now)
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
		s, _ = Step(s, Prompt{Token: 9, TurnID: "trn_1", Input: core.TurnInput{Prompt: "work"}}, r.now)
		for _, in := range []Input{
			Notice{Epoch: 1, Notice: core.OpDone{Op: s.Turn.Op, Ref: "ref"}},
			Notice{Epoch: 1, Notice: core.Content{Turn: "trn_1", Payload: core.Message{Item: "i", Text: "done"}}},
			Notice{Epoch: 1, Notice: core.TurnEnded{Turn: "trn_1", Verdict: core.VerdictCompleted}},
		} {
			s, r.out = Step(s, in, r.now)
		}
		steps += 4
	}
	if s.Status() != core.StatusIdle || s.TurnsBegun == 0 {
		b.Fatalf("the session is %s", s.Status())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
