package demo_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/providertest"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk is one conversation with the agent, seen from core's side. Every notice
// passes the watch of the conformance suite.
type talk struct {
	t     *testing.T
	conn  core.Conn
	watch *providertest.Watch
	op    core.OpID
	seen  []core.Notice
}

// fast is the agent without pauses, with its folders in a directory of the test.
func fast(t *testing.T) core.Provider {
	return demo.New(demo.Options{Dir: t.TempDir(), Pace: -1})
}

func open(t *testing.T, p core.Provider, cfg core.SessionConfig) *talk {
	t.Helper()
	conn, err := p.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	k := &talk{t: t, conn: conn, watch: providertest.NewWatch(conn.Ready())}
	t.Cleanup(k.close)
	return k
}

// close closes the conversation and puts what was left through the watch.
func (k *talk) close() {
	k.t.Helper()
	if err := k.conn.Close(context.Background()); err != nil {
		k.t.Errorf("close: %v", err)
	}
	for {
		n, err := k.conn.Recv(context.Background())
		if err != nil {
			if !errors.Is(err, io.EOF) {
				k.t.Errorf("recv after close: %v", err)
			}
			return
		}
		if err := k.watch.See(n); err != nil {
			k.t.Errorf("after close: %v", err)
		}
	}
}

func (k *talk) send(op core.Op) {
	k.t.Helper()
	k.watch.Sending(op)
	if err := k.conn.Send(op); err != nil {
		k.t.Fatalf("send %T: %v", op, err)
	}
}

func (k *talk) id() core.OpID { k.op++; return k.op }

// start sends a turn and forgets the notices of earlier ones.
func (k *talk) start(turn, prompt string) {
	k.t.Helper()
	k.seen = nil
	k.send(core.StartTurn{ID: k.id(), TurnID: turn, Input: core.TurnInput{Prompt: prompt}})
}

func (k *talk) steer(turn, text string) {
	k.t.Helper()
	k.send(core.Steer{ID: k.id(), TurnID: turn, Input: core.TurnInput{Prompt: text}})
}

func (k *talk) interrupt(turn string) {
	k.t.Helper()
	k.send(core.Interrupt{ID: k.id(), TurnID: turn})
}

func (k *talk) recv() core.Notice {
	k.t.Helper()
	n, err := k.conn.Recv(k.t.Context())
	if err != nil {
		k.t.Fatalf("recv: %v", err)
	}
	if err := k.watch.See(n); err != nil {
		k.t.Fatal(err)
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

// outcome sends an op and returns the error of its OpDone.
func (k *talk) outcome(op core.Op) *core.Error {
	k.t.Helper()
	k.send(op)
	for {
		if d := next[core.OpDone](k); d.Op == op.OpID() {
			return d.Err
		}
	}
}

// respond answers as core does: with a checked response.
func (k *talk) respond(r core.RequestRaised, resp core.Response) {
	k.t.Helper()
	resp, err := core.CheckResponse(r.Spec, resp)
	if err != nil {
		k.t.Fatalf("the request takes no such answer: %v", err)
	}
	k.send(core.Respond{ID: k.id(), Ref: r.Ref, Response: resp})
}

// agree approves approvals and picks the first choice of questions.
func (k *talk) agree(r core.RequestRaised) {
	k.t.Helper()
	if r.Spec.Kind == core.KindQuestion {
		k.respond(r, core.Response{Action: core.ActionAnswer, Answer: r.Spec.Questions[0].Choices[0].Label})
		return
	}
	k.respond(r, core.Response{Action: core.ActionApprove})
}

// finish reads to the end of the turn and agrees to all that is asked.
func (k *talk) finish() core.TurnEnded {
	k.t.Helper()
	for {
		switch n := k.recv().(type) {
		case core.RequestRaised:
			k.agree(n)
		case core.TurnEnded:
			return n
		}
	}
}

// run plays a prompt to its completion.
func (k *talk) run(turn, prompt string) {
	k.t.Helper()
	k.start(turn, prompt)
	if end := k.finish(); end.Verdict != core.VerdictCompleted {
		k.t.Fatalf("%q ended %s", prompt, end.Verdict)
	}
}

// content returns the payloads of type P seen in the present turn.
func content[P core.Payload](k *talk) []P {
	var out []P
	for _, n := range k.seen {
		if c, ok := n.(core.Content); ok {
			if p, ok := c.Payload.(P); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// said returns the texts of the messages of the present turn.
func (k *talk) said() []string {
	var out []string
	for _, m := range content[core.Message](k) {
		out = append(out, m.Text)
	}
	return out
}

// asked counts the requests of the present turn.
func (k *talk) asked() int {
	n := 0
	for _, s := range k.seen {
		if _, ok := s.(core.RequestRaised); ok {
			n++
		}
	}
	return n
}
