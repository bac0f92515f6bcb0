package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/harness-mcp/harness-mcp/core"
)

// bigTurn is a turn of which everything is long.
func bigTurn(i int) core.Turn {
	t := doneTurn()
	t.ID = fmt.Sprintf("trn_%010d", i)
	t.Text, t.TextSeq = "", 1
	t.Error = &core.TurnError{Code: core.TurnProviderError, Message: strings.Repeat("e", 50_000), Provider: json.RawMessage(`"` + strings.Repeat("p", 50_000) + `"`)}
	t.StructuredOutput = json.RawMessage(`{"a":"` + strings.Repeat("s", 50_000) + `"}`)
	t.StructuredError = strings.Repeat("x", 50_000)
	t.Metadata = map[string]string{"m": strings.Repeat("m", 50_000)}
	for j := range 500 {
		t.FilesChanged = append(t.FilesChanged, core.FileEdit{Path: fmt.Sprintf("some/dir/file%d.go", j), Kind: core.FileModified})
		t.Warnings = append(t.Warnings, strings.Repeat("w", 1000))
	}
	return t
}

func bigApproval() core.Request {
	q := anApproval()
	q.Prompt = strings.Repeat("p", 50_000)
	q.Details.Command = strings.Repeat("c", 50_000)
	q.Details.Diff = strings.Repeat("+\"line\"\n", 10_000)
	q.Details.Input = json.RawMessage(`{"i":"` + strings.Repeat("i", 50_000) + `"}`)
	q.Schema = json.RawMessage(`{"s":"` + strings.Repeat("s", 50_000) + `"}`)
	return q
}

// asks is n requests of a turn.
func asks(turn string, n int) (out []core.Request) {
	for j := range n {
		q := bigApproval()
		q.ID, q.TurnID = fmt.Sprintf("req_%010d", j), turn
		q.Details.CWD, q.Details.Path = strings.Repeat("/d", 2000), strings.Repeat("/p", 2000)
		out = append(out, q)
	}
	return out
}

func askingTurn(i, n int) core.Resource {
	tn := aTurn(core.TurnIsAwaitingInput)
	tn.ID = fmt.Sprintf("trn_%010d", i)
	return turnResource(tn, asks(tn.ID, n)...)
}

func askingSession(n int) core.Resource {
	s, tn := aSession(core.StatusAwaitingInput), aTurn(core.TurnIsAwaitingInput)
	return core.Resource{Kind: core.KindSession, ID: s.ID, Session: &core.SessionView{Session: s, Current: &tn, Requests: asks(tn.ID, n)}}
}

func TestManyRequestsAreCountedNamedAndTheFirstShownWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &fake{get: func(string) (core.Resource, error) { return askingTurn(0, 64), nil }}
		r := callTool(t, h, Options{}, "inspect", `{"id":"x"}`)
		var o struct {
			Pending []struct{ Prompt string } `json:"pending_requests"`
			Total   int                       `json:"pending_requests_total"`
		}
		if err := json.Unmarshal(r.Structured, &o); err != nil {
			t.Fatal(err)
		}
		if o.Total != 64 || len(o.Pending) != maxRequestsShown+maxNamed || o.Pending[maxRequestsShown-1].Prompt == "" || o.Pending[maxRequestsShown].Prompt != "" {
			t.Errorf("total %d, %d listed:\n%s", o.Total, len(o.Pending), r.Structured)
		}
		if !strings.Contains(r.Text, "60 more wait for an answer too") {
			t.Errorf("the text does not say how many more:\n%s", r.Text)
		}
	})
}

func TestEveryReplyKeepsItsBudget(t *testing.T) {
	long := strings.Repeat("answer \"quoted\" ", 20_000)
	several := func(n int) func() []core.Resource {
		return func() []core.Resource {
			var rs []core.Resource
			for i := range n {
				rs = append(rs, turnResource(bigTurn(i)))
			}
			return rs
		}
	}
	for _, tc := range []struct {
		name, tool, arguments string
		h                     func() *fake
	}{
		{"one big turn", "await", `{"ids":"x"}`, func() *fake { return &fake{text: long, await: awaiting(core.OutcomeDone, several(1))} }},
		{"three big turns", "await", `{"ids":"x"}`, func() *fake { return &fake{text: long, await: awaiting(core.OutcomeDone, several(3))} }},
		{"sixty-four big turns", "await", `{"ids":"x"}`, func() *fake { return &fake{text: long, await: awaiting(core.OutcomeDone, several(64))} }},
		{"sixty-four that ask", "await", `{"ids":"x"}`, func() *fake {
			return &fake{await: awaiting(core.OutcomeRequest, func() []core.Resource {
				var rs []core.Resource
				for i := range 64 {
					tn, q := aTurn(core.TurnIsAwaitingInput), bigApproval()
					tn.ID, q.TurnID = fmt.Sprintf("trn_%010d", i), fmt.Sprintf("trn_%010d", i)
					rs = append(rs, turnResource(tn, q))
				}
				return rs
			})}
		}},
		{"a turn that asks much at once", "await", `{"ids":"x"}`, func() *fake {
			return &fake{await: awaiting(core.OutcomeRequest, func() []core.Resource { return []core.Resource{askingTurn(0, 64)} })}
		}},
		{"a session that asks much at once", "await", `{"ids":"x"}`, func() *fake {
			return &fake{await: awaiting(core.OutcomeRequest, func() []core.Resource { return []core.Resource{askingSession(64)} })}
		}},
		{"the look at a turn that asks much", "inspect", `{"id":"x"}`, func() *fake {
			return &fake{get: func(string) (core.Resource, error) { return askingTurn(0, 64), nil }}
		}},
		{"the look at a session that asks much", "inspect", `{"id":"x"}`, func() *fake {
			return &fake{get: func(string) (core.Resource, error) { return askingSession(64), nil }}
		}},
		{"fifteen that ask", "await", `{"ids":"x"}`, func() *fake {
			return &fake{await: awaiting(core.OutcomeRequest, func() []core.Resource {
				var rs []core.Resource
				for i := range 15 {
					rs = append(rs, askingTurn(i, 9))
				}
				return rs
			})}
		}},
		{"a big approval", "await", `{"ids":"x"}`, func() *fake {
			return &fake{await: awaiting(core.OutcomeRequest, func() []core.Resource {
				return []core.Resource{turnResource(aTurn(core.TurnIsAwaitingInput), bigApproval())}
			})}
		}},
		{"a big request", "inspect", `{"id":"x"}`, func() *fake {
			return &fake{get: func(string) (core.Resource, error) {
				q := bigApproval()
				return core.Resource{Kind: core.KindRequest, ID: q.ID, Request: &q}, nil
			}}
		}},
		{"a full list", "list", `{"kind":"sessions"}`, listing(func(i int) core.Resource {
			s := aSession(core.StatusIdle)
			s.ID, s.Title = fmt.Sprintf("ses_%010d", i), strings.Repeat("title ", 100)
			return core.Resource{Kind: core.KindSession, ID: s.ID, Session: &core.SessionView{Session: s}}
		})},
		{"a long prune", "prune", `{"older_than_ms":1}`, func() *fake {
			return &fake{prune: func(core.PruneRequest) ([]string, error) {
				return strings.Split(strings.TrimSuffix(strings.Repeat("ses_0123456789,", 5000), ","), ","), nil
			}}
		}},
		{"a long error", "send_message", `{"session_id":"s","prompt":"p"}`, failing(func() error {
			return core.Errorf(core.CodeStartFailed, "%s", long).WithHint("%s", long).WithDetail("output", long).WithDetail("searched", strings.Fields(long))
		})},
		{"a large process", "close", `{"id":"prc_x"}`, func() *fake {
			return &fake{close: func(core.CloseRequest) (core.Resource, error) {
				p := core.ProcessSnapshot{ID: "prc_x", Status: core.ProcessDoneExited, ExitCode: ptr(3), Executable: "bash", Argv: []string{"-c", long}, CWD: "/"}
				return core.Resource{Kind: core.KindProcess, ID: "prc_x", Process: &p}, nil
			}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				checkReply(t, callTool(t, tc.h(), Options{}, tc.tool, tc.arguments))
			})
		})
	}
}

func TestTimeoutsKeepTheirSize(t *testing.T) {
	busy := func(i int) core.Resource {
		tn := aTurn(core.TurnIsAwaitingInput)
		tn.ID, tn.Activity = fmt.Sprintf("trn_%010d", i), strings.Repeat("a", 500)
		var pending []core.Request
		for j := range 9 {
			q := bigApproval()
			q.ID, q.TurnID = fmt.Sprintf("req_%010d", j), tn.ID
			pending = append(pending, q)
		}
		return turnResource(tn, pending...)
	}
	for _, n := range []int{1, 2, 5, 16, 17, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &fake{await: awaiting(core.OutcomeTimeout, func() []core.Resource {
					var rs []core.Resource
					for i := range n {
						rs = append(rs, busy(i))
					}
					return rs
				})}
				r := callTool(t, h, Options{}, "await", `{"ids":"x","wake_on_request":false}`)
				checkReply(t, r)
				if len(r.Structured) > 400*n || len(r.Text) > 400*n {
					t.Errorf("%d and %d bytes for %d ids\n%s\n%s", len(r.Structured), len(r.Text), n, r.Text, r.Structured)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		h := sending(aTurnNow)()
		h.await = awaiting(core.OutcomeTimeout, func() []core.Resource { return []core.Resource{busy(1)} })
		r := callTool(t, h, Options{}, "send_message", `{"session_id":"s","prompt":"p","wait_ms":5}`)
		if len(r.Structured) > 400 || len(r.Text) > 400 {
			t.Errorf("%d and %d bytes\n%s\n%s", len(r.Structured), len(r.Text), r.Text, r.Structured)
		}
	})
}
