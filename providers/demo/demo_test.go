package demo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk is one conversation with the agent, seen from core's side.
type talk struct {
	t    *testing.T
	conn core.Conn
	op   core.OpID
	seen []core.Notice
}

func open(t *testing.T, p core.Provider, cfg core.SessionConfig) *talk {
	t.Helper()
	conn, err := p.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &talk{t: t, conn: conn}
}

func (k *talk) send(op core.Op) {
	k.t.Helper()
	if err := k.conn.Send(op); err != nil {
		k.t.Fatalf("send %T: %v", op, err)
	}
}

func (k *talk) id() core.OpID { k.op++; return k.op }

func (k *talk) start(turn, prompt string) {
	k.t.Helper()
	k.send(core.StartTurn{ID: k.id(), TurnID: turn, Input: core.TurnInput{Prompt: prompt}})
}

func (k *talk) recv() core.Notice {
	k.t.Helper()
	n, err := k.conn.Recv(k.t.Context())
	if err != nil {
		k.t.Fatalf("recv: %v", err)
	}
	k.seen = append(k.seen, n)
	return n
}

// next reads on to the next notice of type N.
func next[N core.Notice](k *talk) N {
	k.t.Helper()
	for {
		if n, ok := k.recv().(N); ok {
			return n
		}
	}
}

// said joins the whole messages of the notices so far, a line each.
func (k *talk) said() []string {
	var out []string
	for _, n := range k.seen {
		if c, ok := n.(core.Content); ok {
			if m, ok := c.Payload.(core.Message); ok {
				out = append(out, m.Text)
			}
		}
	}
	return out
}

// answer approves approvals and picks the first choice of questions.
func (k *talk) answer(r core.RequestRaised) {
	k.t.Helper()
	resp := core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}
	if r.Spec.Kind == core.KindQuestion {
		q := r.Spec.Questions[0]
		resp = core.Response{Action: core.ActionAnswer, Answers: map[string][]string{q.ID: {q.Choices[0].Value}}}
	}
	k.send(core.Respond{ID: k.id(), Ref: r.Ref, Response: resp})
}

// finish reads to the end of the turn, answering what is asked.
func (k *talk) finish() core.TurnEnded {
	k.t.Helper()
	for {
		switch n := k.recv().(type) {
		case core.RequestRaised:
			k.answer(n)
		case core.TurnEnded:
			return n
		}
	}
}

func TestAnyOtherPromptPlaysTheWholeShowInUnderThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, demo.New(demo.Options{Dir: t.TempDir()}), core.SessionConfig{})
		began := time.Now()
		k.start("t1", "please tidy the tests")
		if end := k.finish(); end.Verdict != core.VerdictCompleted {
			t.Fatalf("verdict %s", end.Verdict)
		}
		if took := time.Since(began); took == 0 || took >= 3*time.Second {
			t.Errorf("the show took %v", took)
		}
		seen := map[core.EventType]bool{}
		asked := map[core.RequestKind]bool{}
		for _, n := range k.seen {
			switch n := n.(type) {
			case core.Content:
				seen[n.Payload.EventType()] = true
			case core.RequestRaised:
				asked[n.Spec.Kind] = true
			}
		}
		for _, want := range []core.EventType{
			core.TypeMessageDelta, core.TypeMessage, core.TypeReasoningDelta, core.TypeReasoning, core.TypePlanUpdated,
			core.TypeToolStarted, core.TypeCommandOutputDelta, core.TypeToolCompleted, core.TypeFileChange,
		} {
			if !seen[want] {
				t.Errorf("the show has no %s", want)
			}
		}
		if !asked[core.KindCommandApproval] || !asked[core.KindQuestion] {
			t.Errorf("the show asked only %v", asked)
		}
		k.conn.Close(t.Context())
	})
}
