package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// replyCase is one call whose reply is a golden file: read those files when
// you change a text, as a model or a person would.
type replyCase struct {
	name, tool, arguments string
	opts                  Options
	harness               func() *fake
}

var replyCases = []replyCase{
	{name: "start_session", tool: "start_session", arguments: `{"provider":"codex","cwd":"/src/app"}`, harness: func() *fake {
		return &fake{start: func(core.StartRequest) (core.SessionView, error) {
			return core.SessionView{Session: aSession(core.StatusIdle), Capabilities: someCapabilities()}, nil
		}}
	}},
	{name: "send_message", tool: "send_message", arguments: `{"session_id":"` + sesID + `","prompt":"make the tests pass"}`, harness: sending(aTurnNow)},
	{name: "send_message_done", tool: "send_message", arguments: `{"session_id":"` + sesID + `","prompt":"make the tests pass","wait_ms":60000}`, harness: func() *fake {
		f := sending(aTurnNow)()
		f.await = awaiting(core.OutcomeDone, func() []core.Resource { return []core.Resource{turnResource(doneTurn())} })
		return f
	}},
	{name: "send_message_timeout", tool: "send_message", arguments: `{"session_id":"` + sesID + `","prompt":"make the tests pass","wait_ms":1000}`, harness: func() *fake {
		f := sending(aTurnNow)()
		f.await = awaiting(core.OutcomeTimeout, func() []core.Resource { return []core.Resource{turnResource(aTurn(core.TurnIsRunning))} })
		return f
	}},
	{name: "turn_in_progress", tool: "send_message", arguments: `{"session_id":"` + sesID + `","prompt":"and the docs"}`, harness: failing(func() error {
		return core.Errorf(core.CodeTurnInProgress, "turn %s is running in session %s", trnID, sesID).
			WithHint("Queue with follow_up, add to it with steer, or stop it with interrupt.").
			WithDetail("turn", aTurn(core.TurnIsRunning))
	})},
	{name: "unknown_arguments", tool: "send_message", arguments: `{"sesion":"x","Prompt":"y","foo":1,"wait_ms":"soon"}`},
	{name: "provider_not_ready", tool: "start_session", arguments: `{"provider":"gemini"}`, harness: func() *fake {
		return &fake{start: func(core.StartRequest) (core.SessionView, error) {
			return core.SessionView{}, core.Errorf(core.CodeProviderNotReady, "gemini is not installed: no executable gemini").
				WithHint("Install it with: npm install -g @google/gemini-cli")
		}}
	}},
	{name: "follow_up_queued", tool: "follow_up", arguments: `{"session_id":"` + sesID + `","prompt":"then the docs"}`, harness: sending(func() core.Turn {
		t := aTurn(core.TurnIsQueued)
		t.StartedAt, t.AcceptedAt, t.LastEventAt, t.Activity, t.QueuePosition = time.Time{}, ago(0), ago(0), "", 2
		return t
	})},
	{name: "await_timeout", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeTimeout, func() core.Resource {
		return turnResource(aTurn(core.TurnIsRunning))
	})},
	{name: "await_done", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeDone, func() core.Resource { return turnResource(doneTurn()) })},
	{name: "await_approval", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeRequest, func() core.Resource {
		return turnResource(aTurn(core.TurnIsAwaitingInput), anApproval())
	})},
	{name: "await_question", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeRequest, func() core.Resource {
		return turnResource(aTurn(core.TurnIsAwaitingInput), aQuestion())
	})},
	{name: "await_several", tool: "await", arguments: `{"ids":["trn_aaaaaaaaaa","trn_bbbbbbbbbb","trn_cccccccccc"],"until":"any"}`, harness: func() *fake {
		return &fake{await: awaiting(core.OutcomeDone, func() []core.Resource {
			a, b, c := doneTurn(), aTurn(core.TurnIsRunning), aTurn(core.TurnDoneFailed)
			a.ID, b.ID, c.ID = "trn_aaaaaaaaaa", "trn_bbbbbbbbbb", "trn_cccccccccc"
			c.Error = &core.TurnError{Code: core.TurnRateLimited, Message: "usage limit reached, try again at 14:00"}
			return []core.Resource{turnResource(c), turnResource(a), turnResource(b)}
		})}
	}},
	{name: "await_many", tool: "await", arguments: `{"ids":["x"]}`, harness: func() *fake {
		return &fake{await: awaiting(core.OutcomeTimeout, func() []core.Resource {
			var rs []core.Resource
			for i := range 40 {
				t := doneTurn()
				if i > 20 {
					t = aTurn(core.TurnIsRunning)
				}
				t.ID = fmt.Sprintf("trn_%010d", i)
				rs = append(rs, turnResource(t))
			}
			return rs
		})}
	}},
	{name: "long_answer", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: func() *fake {
		f := awaitingOne(core.OutcomeDone, func() core.Resource { return turnResource(longTurn()) })()
		f.text = longAnswer()
		return f
	}},
	{name: "long_answer_core", tool: "await", opts: Options{Core: true}, arguments: `{"ids":["` + trnID + `"]}`, harness: func() *fake {
		f := awaitingOne(core.OutcomeDone, func() core.Resource { return turnResource(longTurn()) })()
		f.text = longAnswer()
		return f
	}},
	{name: "inspect_page", tool: "inspect", arguments: `{"id":"` + trnID + `","offset":12001,"max_bytes":2000}`, harness: func() *fake {
		return &fake{text: longAnswer(), get: func(string) (core.Resource, error) { return turnResource(longTurn()), nil }}
	}},
	{name: "inspect_session", tool: "inspect", arguments: `{"id":"` + sesID + `"}`, harness: func() *fake {
		return &fake{get: func(string) (core.Resource, error) {
			last, now := doneTurn(), aTurn(core.TurnIsAwaitingInput)
			last.ID = "trn_llllllllll"
			s := aSession(core.StatusAwaitingInput)
			s.Warnings = []string{"another session writes in /src/app: ses_zzzzzzzzzz"}
			v := core.SessionView{Session: s, Current: &now, Last: &last, Requests: []core.Request{anApproval()}}
			return core.Resource{Kind: core.KindSession, ID: sesID, Session: &v}, nil
		}}
	}},
	{name: "respond", tool: "respond", arguments: `{"request_id":"` + reqID + `","action":"approve","scope":"once","wait_ms":1000}`, harness: func() *fake {
		return &fake{
			respond: func(core.RespondRequest) (core.Request, error) { return resolved(), nil },
			get:     func(string) (core.Resource, error) { return turnResource(aTurn(core.TurnIsRunning)), nil },
			await:   awaiting(core.OutcomeDone, func() []core.Resource { return []core.Resource{turnResource(doneTurn())} }),
		}
	}},
	{name: "request_not_pending", tool: "respond", arguments: `{"request_id":"` + reqID + `","action":"approve"}`, harness: func() *fake {
		return &fake{respond: func(core.RespondRequest) (core.Request, error) {
			return core.Request{}, core.Errorf(core.CodeRequestNotPending, "request %s has been answered", reqID).WithDetail("state", "resolved")
		}}
	}},
	{name: "interrupt", tool: "interrupt", arguments: `{"session_id":"` + sesID + `"}`, harness: func() *fake {
		return &fake{interrupt: func(core.InterruptRequest) (core.InterruptResult, error) {
			return core.InterruptResult{Turn: aTurn(core.TurnIsCancelling), QueuedTurns: 2}, nil
		}}
	}},
	{name: "close", tool: "close", arguments: `{"id":"` + sesID + `"}`, harness: func() *fake {
		return &fake{close: func(core.CloseRequest) (core.Resource, error) {
			v := core.SessionView{Session: aSession(core.StatusClosed)}
			return core.Resource{Kind: core.KindSession, ID: sesID, Session: &v}, nil
		}}
	}},
	{name: "delegate", tool: "delegate", arguments: `{"provider":"codex","prompt":"make the tests pass"}`, harness: delegating(core.OutcomeDone, doneTurn)},
	{name: "delegate_timeout", tool: "delegate", arguments: `{"provider":"codex","prompt":"make the tests pass"}`, harness: delegating(core.OutcomeTimeout, func() core.Turn { return aTurn(core.TurnIsRunning) })},
	{name: "list", tool: "list", arguments: `{"kind":"sessions","limit":3}`, harness: listing(func(i int) core.Resource {
		s := aSession(core.StatusIdle)
		s.ID, s.Title = fmt.Sprintf("ses_%010d", i), strings.Repeat("a long title ", i*5)
		return core.Resource{Kind: core.KindSession, ID: s.ID, Session: &core.SessionView{Session: s}}
	})},
	{name: "list_requests", tool: "list", arguments: `{"kind":"requests","limit":2,"status":"pending"}`, harness: listing(func(i int) core.Resource {
		q := anApproval()
		return core.Resource{Kind: core.KindRequest, ID: q.ID, Request: &q}
	})},
	{name: "list_providers", tool: "list_providers", arguments: `{}`, harness: func() *fake {
		return &fake{providers: func(string) ([]core.ProviderInfo, error) { return someProviders(), nil }}
	}},
	{name: "list_providers_one", tool: "list_providers", arguments: `{"provider":"codex"}`, harness: func() *fake {
		return &fake{providers: func(string) ([]core.ProviderInfo, error) { return someProviders()[1:2], nil }}
	}},
	{name: "replay_joined", tool: "replay", arguments: `{"id":"` + sesID + `"}`, harness: aJournal},
	{name: "replay_summary", tool: "replay", arguments: `{"id":"` + sesID + `","view":"summary"}`, harness: aJournal},
	{name: "replay_events", tool: "replay", arguments: `{"id":"` + sesID + `","view":"events","limit":2}`, harness: aJournal},
	{name: "replay_tail", tool: "replay", arguments: `{"id":"` + sesID + `","tail":2}`, harness: aJournal},
	{name: "start_process_unmatched", tool: "start_process", arguments: `{"executable":"npm","argv":["run","dev"],"pattern":"listening on","wait_ms":500}`,
		harness: processing(core.OutcomeTimeout, core.ProcessIsRunning, nil, "> dev\n", "> vite\n")},
	{name: "start_process_failed", tool: "start_process", arguments: `{"executable":"npn","wait_ms":500}`, harness: func() *fake {
		f := processing(core.OutcomeDone, core.ProcessDoneFailed, nil)()
		was := f.process()
		was.StartedAt, was.PID, was.Executable, was.Argv = time.Time{}, 0, "npn", nil
		was.Error = &core.TurnError{Code: core.CodeNotFound, Message: `the executable "npn" was not found. ` +
			"Searched: /usr/local/bin, /usr/bin, /bin, /opt/homebrew/bin, /home/u/.local/bin, /home/u/.bun/bin, /home/u/.volta/bin. Install it, give its full path, or add its directory (--path-dir)."}
		f.process = func() core.ProcessSnapshot { return was }
		f.await = awaiting(core.OutcomeDone, func() []core.Resource {
			return []core.Resource{{Kind: core.KindProcess, ID: was.ID, Process: &was}}
		})
		return f
	}},
	{name: "send_input_matched", tool: "send_input", arguments: `{"process_id":"` + prcID + `","data":"6*7\n","pattern":"^>>> $","wait_ms":5000}`,
		harness: processing(core.OutcomeMatched, core.ProcessIsRunning, &core.OutputMatch{Seq: 5, Stream: core.TypeStdout, Line: ">>> "}, "x", ">>> ", "6*7\r\n42\r\n", ">>> ")},
	{name: "send_input_unmatched", tool: "send_input", arguments: `{"process_id":"` + prcID + `","data":"6*7\n","pattern":"^>>> $","wait_ms":5000}`,
		harness: processing(core.OutcomeTimeout, core.ProcessIsRunning, nil, "x", ">>> ", "6*7\r\n")},
	{name: "await_unmatched", tool: "await", arguments: `{"ids":["` + prcID + `"],"pattern":"zzz","after":2}`,
		harness: processing(core.OutcomeTimeout, core.ProcessIsRunning, nil, "> dev\n")},
	{name: "await_ended_unmatched", tool: "await", arguments: `{"ids":["` + prcID + `"],"pattern":"zzz"}`,
		harness: processing(core.OutcomeDone, core.ProcessDoneExited, nil, "> dev\n")},
	{name: "close_after_the_answer", tool: "close", arguments: `{"id":"` + sesID + `"}`, harness: func() *fake {
		last := longTurn()
		return &fake{text: longAnswer(), close: func(core.CloseRequest) (core.Resource, error) {
			v := core.SessionView{Session: aSession(core.StatusClosed), Last: &last}
			return core.Resource{Kind: core.KindSession, ID: sesID, Session: &v}, nil
		}}
	}},
	{name: "await_whole_answer", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeDone, func() core.Resource {
		t := doneTurn()
		t.Text = strings.Repeat("All tests pass now. ", 250)
		return turnResource(t)
	})},
	{name: "await_delegated", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeDone, func() core.Resource {
		r := turnResource(doneTurn())
		r.Session.Session.Status = core.StatusClosing
		return r
	})},
	{name: "await_auth_required", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeDone, func() core.Resource {
		t := aTurn(core.TurnDoneFailed)
		t.Error = &core.TurnError{Code: core.TurnAuthRequired, Message: "unexpected status 401 Unauthorized"}
		return turnResource(t)
	})},
	{name: "inspect_closing", tool: "inspect", arguments: `{"id":"` + sesID + `"}`, harness: func() *fake {
		return &fake{get: func(string) (core.Resource, error) {
			v := core.SessionView{Session: aSession(core.StatusClosing)}
			return core.Resource{Kind: core.KindSession, ID: sesID, Session: &v}, nil
		}}
	}},
	{name: "await_timeout_asking", tool: "await", arguments: `{"ids":["` + trnID + `"]}`, harness: awaitingOne(core.OutcomeTimeout, func() core.Resource {
		t := aTurn(core.TurnIsAwaitingInput)
		t.Activity = "waiting for an answer: Run this command?"
		q := anApproval()
		q.AskedUser = core.AskedNow
		return turnResource(t, q)
	})},
	{name: "list_providers_bare", tool: "list_providers", arguments: `{}`, harness: func() *fake {
		return &fake{providers: func(string) ([]core.ProviderInfo, error) {
			all := someProviders()
			all[1].Status = core.Status{Reason: `the executable "codex" was not found`, Authenticated: "no", Searched: []string{"/usr/bin", "/bin"}}
			all[2].Status.Searched = []string{"/usr/bin", "/bin"}
			return all, nil
		}}
	}},
	{name: "list_providers_signed_out", tool: "list_providers", arguments: `{}`, harness: func() *fake {
		return &fake{providers: func(string) ([]core.ProviderInfo, error) {
			all := someProviders()
			all[1].Status.Authenticated = "no"
			return all, nil
		}}
	}},
	{name: "provider_missing", tool: "delegate", arguments: `{"provider":"codex","prompt":"p"}`, harness: func() *fake {
		return &fake{start: func(core.StartRequest) (core.SessionView, error) {
			return core.SessionView{}, core.Errorf(core.CodeProviderNotReady, `the executable "codex" was not found`).
				WithHint("Install it (npm install -g @openai/codex), or name its directory with --path-dir.").
				WithDetail("searched", strings.Fields("/usr/local/bin /usr/bin /bin /opt/homebrew/bin /home/u/.local/bin /home/u/.bun/bin"))
		}}
	}},
	{name: "provider_unknown", tool: "delegate", arguments: `{"provider":"codx","prompt":"p"}`, harness: func() *fake {
		return &fake{start: func(core.StartRequest) (core.SessionView, error) {
			names := []string{"claude", "codex", "demo", "gemini"}
			return core.SessionView{}, core.Errorf(core.CodeProviderUnknown, "there is no provider %q", "codx").
				WithHint("Providers: %s. list_providers shows which are ready.", strings.Join(names, ", ")).WithDetail("providers", names)
		}}
	}},
	{name: "wrong_word", tool: "delegate", arguments: `{"provider":"codex","prompt":"","approval_mode":"yolo"}`},
	{name: "wrong_signal", tool: "send_input", arguments: `{"process_id":"` + prcID + `","signal":"SIGKILL"}`},
	{name: "await_not_found", tool: "await", arguments: `{"ids":["trn_x"]}`, harness: func() *fake {
		return &fake{await: func(context.Context, core.AwaitRequest) (core.AwaitResult, error) {
			return core.AwaitResult{}, core.Errorf(core.CodeNotFound, "there is no turn %q", "trn_x").WithHint("list {kind: %q} shows those there are.", "turns")
		}}
	}},
	{name: "replay_provider_event", tool: "replay", arguments: `{"id":"` + sesID + `"}`, harness: func() *fake {
		return &fake{journal: []core.Event{event(1, core.TypeProviderEvent,
			`{"kind":"item/completed: userMessage","data":{"item":{"type":"userMessage","id":"i","content":[{"type":"text","text":"make the tests pass"}]}}}`)}}
	}},
	{name: "prune_again", tool: "prune", arguments: `{"id":"` + sesID + `","idempotency_key":"k"}`, harness: func() *fake {
		return &fake{prune: func(core.PruneRequest) ([]string, error) { return nil, nil }}
	}},
	{name: "prune_dry_run", tool: "prune", arguments: `{"older_than_ms":1000,"dry_run":true}`, harness: func() *fake {
		return &fake{prune: func(core.PruneRequest) ([]string, error) { return []string{"ses_1", "ses_2"}, nil }}
	}},
}

func TestRepliesMatchTheGoldenFiles(t *testing.T) {
	for _, tc := range replyCases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // for its clock
				h := &fake{}
				if tc.harness != nil {
					h = tc.harness()
				}
				r := callTool(t, h, tc.opts, tc.tool, tc.arguments)
				checkReply(t, r)
				var b bytes.Buffer
				fmt.Fprintf(&b, "%s %s\n\n-- text, %d bytes --\n%s\n", tc.tool, tc.arguments, len(r.Text), r.Text)
				for _, l := range r.Links {
					fmt.Fprintf(&b, "-- link --\n%s\n", l)
				}
				fmt.Fprintf(&b, "-- structured, %d bytes --\n", len(r.Structured))
				if err := json.Indent(&b, r.Structured, "", "  "); err != nil {
					t.Fatal(err)
				}
				golden(t, "replies/"+tc.name+".txt", append(b.Bytes(), '\n'))
			})
		})
	}
}

// checkReply checks what holds for every reply.
func checkReply(t *testing.T, r reply) {
	t.Helper()
	if len(r.Text) > defaultBudget || len(r.Structured) > defaultBudget {
		t.Errorf("text has %d bytes, structured %d, at most %d are allowed", len(r.Text), len(r.Structured), defaultBudget)
	}
	head, _, _ := strings.Cut(r.Text, "\n\n")
	if n := strings.Count(head, "\n") + 1; n > 5 {
		t.Errorf("%d lines of state, at most 5 are allowed:\n%s", n, head)
	}
	next, _ := r.object(t)["next"].([]any)
	if len(next) > maxNext {
		t.Errorf("%d suggestions", len(next))
	}
	for _, n := range next {
		checkSuggestion(t, n.(map[string]any), r)
	}
}

// checkSuggestion checks that a suggested call can be made as it is, and that
// the text half has it too.
func checkSuggestion(t *testing.T, n map[string]any, r reply) {
	t.Helper()
	tool := n["tool"].(string)
	if !strings.Contains(r.Text, tool+" ") {
		t.Errorf("the text does not suggest %s", tool)
	}
	called := false
	probe := core.Errorf(core.CodeNotFound, "probe")
	h := &fake{
		start:   func(core.StartRequest) (core.SessionView, error) { called = true; return core.SessionView{}, probe },
		send:    func(core.SendRequest) (core.Turn, error) { called = true; return core.Turn{}, probe },
		respond: func(core.RespondRequest) (core.Request, error) { called = true; return core.Request{}, probe },
		interrupt: func(core.InterruptRequest) (core.InterruptResult, error) {
			called = true
			return core.InterruptResult{}, probe
		},
		close: func(core.CloseRequest) (core.Resource, error) { called = true; return core.Resource{}, probe },
		get:   func(string) (core.Resource, error) { called = true; return core.Resource{}, probe },
		await: func(context.Context, core.AwaitRequest) (core.AwaitResult, error) {
			called = true
			return core.AwaitResult{}, probe
		},
		list:      func(core.ListRequest) (core.ListResult, error) { called = true; return core.ListResult{}, probe },
		prune:     func(core.PruneRequest) ([]string, error) { called = true; return nil, probe },
		providers: func(string) ([]core.ProviderInfo, error) { called = true; return nil, probe },
	}
	got := callTool(t, h, Options{}, tool, string(encode(n["arguments"])))
	if !called && tool != "replay" || got.code(t) == "invalid_argument" {
		t.Errorf("the suggested %s %s is refused: %s", tool, encode(n["arguments"]), got.Text)
	}
}

func aTurnNow() core.Turn {
	t := aTurn(core.TurnIsStarting)
	t.AcceptedAt, t.StartedAt, t.LastEventAt, t.Activity, t.LastSeq = ago(0), time.Time{}, ago(0), "", 4
	return t
}

func doneTurn() core.Turn {
	t := aTurn(core.TurnDoneCompleted)
	t.Text = "All tests pass now.\n\n- the clock was read twice\n- `a < b && c` was wrong"
	t.TextBytes = len(t.Text)
	t.Usage = &core.Usage{InputTokens: ptr(int64(1200)), OutputTokens: ptr(int64(340))}
	t.FilesChanged = []core.FileEdit{{Path: "clock.go", Kind: core.FileModified}, {Path: "clock_test.go", Kind: core.FileAdded}}
	return t
}

// longAnswer has characters of two bytes, so that truncation meets their middle.
func longAnswer() string {
	var b strings.Builder
	for i := range 900 {
		fmt.Fprintf(&b, "%d: \"gr\u00fc\u00dfe\" <&>\n", i)
	}
	return b.String()
}

func longTurn() core.Turn {
	t := doneTurn()
	t.Text, t.TextBytes, t.TextSeq = "", len(longAnswer()), 50
	return t
}

func resolved() core.Request {
	q := anApproval()
	q.Status = core.RequestDoneResolved
	q.Resolution = &core.Resolution{Action: core.ActionApprove, Scope: core.ScopeOnce, By: core.ByCaller, At: ago(0)}
	return q
}

func sending(turn func() core.Turn) func() *fake {
	return func() *fake {
		return &fake{send: func(core.SendRequest) (core.Turn, error) { return turn(), nil }}
	}
}

func failing(err func() error) func() *fake {
	return func() *fake {
		return &fake{send: func(core.SendRequest) (core.Turn, error) { return core.Turn{}, err() }}
	}
}

func awaiting(outcome core.Outcome, results func() []core.Resource) func(context.Context, core.AwaitRequest) (core.AwaitResult, error) {
	return func(context.Context, core.AwaitRequest) (core.AwaitResult, error) {
		res := core.AwaitResult{Outcome: outcome, Results: results()}
		for _, r := range res.Results {
			if !r.Done() {
				res.WaitingOn = append(res.WaitingOn, r.ID)
			}
		}
		return res, nil
	}
}

func awaitingOne(outcome core.Outcome, r func() core.Resource) func() *fake {
	return func() *fake {
		return &fake{await: awaiting(outcome, func() []core.Resource { return []core.Resource{r()} })}
	}
}

func delegating(outcome core.Outcome, turn func() core.Turn) func() *fake {
	return func() *fake {
		view := func(s core.SessionStatus) *core.SessionView { return &core.SessionView{Session: aSession(s)} }
		return &fake{
			start: func(core.StartRequest) (core.SessionView, error) { return *view(core.StatusIdle), nil },
			send:  func(core.SendRequest) (core.Turn, error) { return aTurnNow(), nil },
			await: func(ctx context.Context, r core.AwaitRequest) (core.AwaitResult, error) {
				if r.IDs[0] == sesID { // it waits for the session's rest, behind the reply
					return core.AwaitResult{}, core.Errorf(core.CodeNotFound, "no such session")
				}
				return awaiting(outcome, func() []core.Resource { return []core.Resource{turnResource(turn())} })(ctx, r)
			},
			get: func(id string) (core.Resource, error) {
				return core.Resource{Kind: core.KindSession, ID: id, Session: view(core.StatusRunning)}, nil
			},
			close: func(r core.CloseRequest) (core.Resource, error) {
				return core.Resource{Kind: core.KindSession, ID: r.ID, Session: view(core.StatusClosed)}, nil
			},
		}
	}
}

// processing is a process with some output, and a wait for it.
func processing(outcome core.Outcome, status core.ProcessStatus, m *core.OutputMatch, output ...string) func() *fake {
	return func() *fake {
		p := core.ProcessSnapshot{ID: prcID, Status: status, Executable: "npm", Argv: []string{"run", "dev"}, CWD: "/src/app", PID: 4711,
			Durability: core.Durable, StartedAt: ago(500 * time.Millisecond), LastSeq: uint64(len(output) + 1)}
		if status.Ended() {
			p.FinishedAt, p.PID = ago(0), 0
		}
		if status == core.ProcessDoneExited {
			p.ExitCode = ptr(0)
		}
		for _, s := range output {
			p.StdoutBytes += int64(len(s))
		}
		return &fake{journal: outputEvents(output...), process: func() core.ProcessSnapshot { return p },
			await: awaiting(outcome, func() []core.Resource {
				return []core.Resource{{Kind: core.KindProcess, ID: prcID, Process: &p, Matched: m}}
			})}
	}
}

func listing(row func(int) core.Resource) func() *fake {
	return func() *fake {
		return &fake{list: func(r core.ListRequest) (core.ListResult, error) {
			res := core.ListResult{NextPage: "cursor"}
			for i := range r.Limit {
				res.Items = append(res.Items, row(i))
			}
			return res, nil
		}}
	}
}

func someCapabilities() core.Capabilities {
	return core.Capabilities{
		TokenStreaming: core.Native, Questions: core.Emulated, Approvals: core.Native, Interrupt: core.Native,
		Steer: core.Native, Resume: core.Native, Fork: core.Unsupported, Configure: core.Native, PerSessionMCP: core.Native,
		Skills: core.Native, Attachments: core.Native, StructuredOutput: core.Native,
	}
}

func someProviders() []core.ProviderInfo {
	transport := core.TransportSpec{Name: "app-server", Default: true, Capabilities: someCapabilities(),
		Approval: []core.ApprovalMode{core.ApprovalDefault, core.ApprovalAuto},
		Sandbox:  []core.SandboxMode{core.SandboxDefault, core.SandboxReadOnly}, Efforts: []string{"low", "high"}}
	return []core.ProviderInfo{
		{Spec: core.Spec{Name: "demo", Title: "Scripted demo", Transports: []core.TransportSpec{{Name: "memory", Default: true, Capabilities: someCapabilities()}}},
			Status: core.Status{Ready: true, Authenticated: "yes"}},
		{Spec: core.Spec{Name: "codex", Title: "Codex", Transports: []core.TransportSpec{transport}, Install: "npm install -g @openai/codex", Login: "codex login",
			Options: []core.OptionSpec{{Name: "profile", Type: "string", Description: "a profile of its config file"}}},
			Status: core.Status{Ready: true, Version: "0.171.0", Authenticated: "unknown", Executable: "/usr/bin/codex",
				Searched: []string{"/usr/bin", "/usr/local/bin"}, Models: []string{"gpt-5-codex"}}},
		{Spec: core.Spec{Name: "gemini", Title: "Gemini CLI", Transports: []core.TransportSpec{{Name: "acp", Default: true}}, Install: "npm install -g @google/gemini-cli"},
			Status: core.Status{Reason: "no executable gemini in 12 directories"}},
	}
}

func aJournal() *fake {
	events := []core.Event{
		event(1, core.SessionStarted, `{}`),
		event(2, core.SessionReady, `{}`),
		event(3, core.TurnAccepted, `{"prompt":"make the tests pass","origin":"caller"}`),
		event(4, core.TurnStarted, `{}`),
		event(5, core.TypeReasoningDelta, `{"item":"r","text":"Let me "}`),
		event(6, core.TypeMessageDelta, `{"item":"m","text":"All "}`),
		event(7, core.TypeReasoningDelta, `{"item":"r","text":"see."}`),
		event(8, core.TypeToolStarted, `{"item":"t","name":"shell","kind":"command","title":"go test ./...","command":"go test ./..."}`),
		event(9, core.TypeCommandOutputDelta, `{"item":"t","text":"ok\n"}`),
		event(10, core.TypeToolCompleted, `{"item":"t","status":"ok","output":"ok\nPASS\n","exit_code":0}`),
		event(11, core.TypeMessageDelta, `{"item":"m","text":"good."}`),
		event(12, core.TypeMessage, `{"item":"m","text":"All good."}`),
		event(13, core.TypeFileChange, `{"changes":[{"path":"clock.go","kind":"modified"}]}`),
		event(14, core.TypeUsageUpdated, `{"usage":{"input_tokens":12},"scope":"turn"}`),
		event(15, core.TurnCompleted, `{"status":"completed","result":{"text":"All good."}}`),
	}
	return &fake{journal: events}
}
