package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/internal/acpscript"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// turnBehind plays a turn that must work and have nothing of earlier ones in it.
func turnBehind(t *testing.T, r *conntest.Recorder) {
	t.Helper()
	r.Start("behind", "say behind")
	if end := r.TurnEnded("behind"); end.Verdict != core.VerdictCompleted {
		t.Errorf("the turn that follows ended %s: %+v", end.Verdict, end.Result.Error)
	}
}

// events returns the provider events whose kind begins so.
func events(r *conntest.Recorder, kind string) []core.ProviderEvent {
	var list []core.ProviderEvent
	for _, e := range conntest.Contents[core.ProviderEvent](r) {
		if strings.HasPrefix(e.Kind, kind) {
			list = append(list, e)
		}
	}
	return list
}

func said(r *conntest.Recorder) string {
	var b strings.Builder
	for _, m := range conntest.Contents[core.Message](r) {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

func TestUpdatesAfterTheEndBelongToTheSession(t *testing.T) {
	r := begin(t, "say early", "lateTool", "late too late")
	if end := r.TurnEnded("turn"); end.Verdict != core.VerdictCompleted {
		t.Fatalf("ended %s", end.Verdict)
	}
	r.Until("the late chunk", func(n core.Notice) bool {
		c, ok := n.(core.Content)
		if !ok {
			return false
		}
		e, ok := c.Payload.(core.ProviderEvent)
		return ok && e.Kind == "agent_message_chunk" && c.Turn == "" && e.TurnID == "turn"
	})
	turnBehind(t, r)
	if got := said(r); got != "early\nbehind\n" {
		t.Errorf("the messages are %q", got)
	}
	done := conntest.Contents[core.ToolCompleted](r)
	if len(done) != 1 || done[0].Status != core.ToolCancelled {
		t.Errorf("the tool that was left open: %+v", done)
	}
}

func TestAnErrorWithoutAnIDEndsNothing(t *testing.T) {
	r := begin(t, "idless", "garbage this is no JSON", "say still here")
	if end := r.TurnEnded("turn"); end.Verdict != core.VerdictCompleted {
		t.Fatalf("ended %s", end.Verdict)
	}
	errs := conntest.Contents[core.ProviderError](r)
	if len(errs) != 1 || errs[0].Code != "error_without_id" || !strings.Contains(errs[0].Message, "Parse error") {
		t.Errorf("errors: %+v", errs)
	}
	if len(events(r, "garbage")) != 1 {
		t.Error("the garbage was not kept")
	}
	turnBehind(t, r)
}

func TestUnknownThingsAreKeptAndUnknownRequestsRefusedAtOnce(t *testing.T) {
	r := begin(t, "unknown")
	if end := r.TurnEnded("turn"); end.Verdict != core.VerdictCompleted {
		t.Fatalf("ended %s", end.Verdict)
	}
	if got := said(r); !strings.Contains(got, "-32601") {
		t.Errorf("the agent was told %q", got)
	}
	for _, kind := range []string{"compaction_of_tomorrow", "agent_message_chunk of type hologram", "vendor/notify", "vendor/ask"} {
		list := events(r, kind)
		if len(list) != 1 || !json.Valid(list[0].Data) {
			t.Errorf("%s was not kept: %+v", kind, list)
		}
	}
}

func TestARejectedToolWithoutFurtherUpdatesIsClosed(t *testing.T) {
	r := begin(t, "only rm everything", "say went on")
	q := r.Request()
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionDeny}})
	if end := r.TurnEnded("turn"); end.Verdict != core.VerdictCompleted {
		t.Fatalf("ended %s", end.Verdict)
	}
	done := conntest.Contents[core.ToolCompleted](r)
	if len(done) != 1 || done[0].Status != core.ToolDeclined {
		t.Errorf("tools: %+v", done)
	}
	if got := said(r); got != "went on\n" {
		t.Errorf("said %q", got)
	}
}

func TestASecondResponseChangesNothing(t *testing.T) {
	r := begin(t, "say once", "twice")
	r.TurnEnded("turn")
	turnBehind(t, r)
	if len(events(r, "response without a request")) != 1 {
		t.Error("the second response was not kept")
	}
}

func TestOptionsAreChosenByKindAndNeverWiden(t *testing.T) {
	for scope, want := range map[core.Scope]string{core.ScopeOnce: "ls", core.ScopeSession: "ls (always)"} {
		r := begin(t, "approve ls")
		q := r.Request()
		if q.Spec.Kind != core.KindCommandApproval || q.Spec.Details.Command != "ls" || len(q.Spec.Scopes) != 2 {
			t.Errorf("asked %+v", q.Spec)
		}
		r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: scope}})
		r.TurnEnded("turn")
		last := ""
		for _, n := range r.All() {
			if c, ok := n.(core.Content); ok && strings.Contains(string(c.Raw), `"completed"`) {
				var f struct {
					Params struct{ Update struct{ Title string } }
				}
				_ = json.Unmarshal(c.Raw, &f)
				last = f.Params.Update.Title
			}
		}
		if (last == "ls (always)") != (want == "ls (always)") {
			t.Errorf("scope %s: the agent did %q", scope, last)
		}
	}
	// Where the option for the session is one to avoid, it is not offered.
	b := newTable(t, acpscript.Options{}, func(a *Agent) { a.Quirks.AvoidOptions = []string{"wide", "always"} })
	r := b.open(b.session())
	r.Start("turn", "approve ls")
	q := r.Request()
	if d := q.Spec.Scopes; len(d) != 1 || d[0] != core.ScopeOnce {
		t.Errorf("scopes %v", d)
	}
	op := r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeSession}})
	if d := r.OpDone(op); core.CodeOf(d.Err) != core.CodeScope {
		t.Errorf("a scope that is not offered: %v", d.Err)
	}
}

func TestWhereARejectionEndsTheTurnDenyIsNotOffered(t *testing.T) {
	b := newTable(t, acpscript.Options{}, func(a *Agent) { a.Quirks.RejectEnds = true })
	r := b.open(b.session())
	r.Start("turn", "approve ls", "stop end_turn")
	q := r.Request()
	if len(q.Spec.Actions) != 2 || q.Spec.Actions[1] != core.ActionCancel {
		t.Errorf("actions %v", q.Spec.Actions)
	}
	r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionCancel}})
	if end := r.TurnEnded("turn"); end.Verdict != core.VerdictCancelled {
		t.Errorf("ended %s", end.Verdict)
	}
	turnBehind(t, r)
}

func TestTheStopReasonIsTheVerdict(t *testing.T) {
	for reason, want := range map[string]struct {
		verdict  core.Verdict
		warnings int
	}{
		"end_turn": {core.VerdictCompleted, 0}, "max_tokens": {core.VerdictCompleted, 1}, "refusal": {core.VerdictCompleted, 1},
		"max_turn_requests": {core.VerdictCompleted, 1}, "cancelled": {core.VerdictCancelled, 0}, "tomorrow": {core.VerdictFailed, 0},
	} {
		r := begin(t, "say x", "stop "+reason)
		end := r.TurnEnded("turn")
		if end.Verdict != want.verdict || end.Result.StopReason != reason || len(end.Result.Warnings) != want.warnings {
			t.Errorf("%s: %s, %+v", reason, end.Verdict, end.Result)
		}
		if u := end.Result.Usage; u == nil || *u.TotalTokens != 18 {
			t.Errorf("%s: usage %+v", reason, u)
		}
	}
}

func TestErrorsOfATurnHaveTheirCode(t *testing.T) {
	for script, want := range map[string]core.Code{
		"fail -32000 Authentication required": core.TurnAuthRequired,
		"fail 401 no":                         core.TurnAuthRequired,
		"fail -32603 429 too many":            core.TurnRateLimited,
		"fail -32603 it broke":                core.TurnProviderError,
	} {
		r := begin(t, script)
		end := r.TurnEnded("turn")
		if end.Verdict != core.VerdictFailed || end.Result.Error.Code != want {
			t.Errorf("%s: %s %+v", script, end.Verdict, end.Result.Error)
		}
		turnBehind(t, r)
	}
}

func TestAPromptWaitsForAnAgentThatSettlesAfterAFailure(t *testing.T) {
	b := newTable(t, acpscript.Options{}, func(a *Agent) { a.Quirks.SettleMS = 300 })
	r := b.open(b.session())
	began := time.Now() // a loaded machine may show the failure late
	r.Start("turn", "fail it broke")
	r.TurnEnded("turn")
	op := r.Start("next", "say next")
	r.OpDone(op)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the next prompt was sent after %s", took)
	}
	r.TurnEnded("next")
	r.Start("last", "say last") // and not again
	r.TurnEnded("last")
}

func TestACancelledTurnMayEndWithAnErrorWhereTheAgentIsKnownForIt(t *testing.T) {
	for want, fails := range map[core.Verdict]bool{core.VerdictFailed: false, core.VerdictCancelled: true} {
		b := newTable(t, acpscript.Options{}, func(a *Agent) { a.Quirks.CancelFails = fails })
		r := b.open(b.session())
		r.Start("turn", "ignore", "slow 200", "fail -32603 it broke")
		r.Send(core.Interrupt{ID: r.NextOp(), TurnID: "turn"})
		if end := r.TurnEnded("turn"); end.Verdict != want {
			t.Errorf("ended %s, want %s", end.Verdict, want)
		}
	}
}

func TestAnErrorInTheLastMessageIsNoSuccess(t *testing.T) {
	quirk := func(a *Agent) {
		a.Quirks.Asides = []Aside{{"Error: ", AsideError}, {"Info: again", AsideRetry}, {"Note: ", AsideWarning}}
	}
	chunk := func(text string) string {
		return `raw {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`
	}
	for name, c := range map[string]struct {
		script []string
		want   core.Verdict
	}{
		"last":             {[]string{"say x", chunk("Error: 401 no")}, core.VerdictFailed},
		"overcome":         {[]string{chunk("Error: 500"), "say done"}, core.VerdictCompleted},
		"retried":          {[]string{chunk("Info: again"), "say done"}, core.VerdictCompleted},
		"noted":            {[]string{chunk("Note: dear"), "say done"}, core.VerdictCompleted},
		"in mid-sentence":  {[]string{"say the word ", chunk("Note: is it")}, core.VerdictCompleted},
		"tool after error": {[]string{chunk("Error: 500"), "run ls"}, core.VerdictCompleted},
	} {
		b := newTable(t, acpscript.Options{}, quirk)
		r := b.open(b.session())
		r.Start("turn", c.script...)
		end := r.TurnEnded("turn")
		if end.Verdict != c.want {
			t.Errorf("%s: ended %s", name, end.Verdict)
		}
		if name == "last" && end.Result.Error.Code != core.TurnAuthRequired {
			t.Errorf("%s: %+v", name, end.Result.Error)
		}
	}
}

func TestAnAgentThatEndsLosesTheLink(t *testing.T) {
	r := begin(t, "say x", "open", "die")
	err := r.Ended()
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("the link ended with %v", err)
	}
	if done := conntest.Contents[core.ToolCompleted](r); len(done) != 1 {
		t.Errorf("tools left open: %+v", done)
	}
}

func TestALongLineArrives(t *testing.T) {
	const long = 12 << 20 // past the limit of many clients
	r := begin(t, fmt.Sprintf("big %d", long))
	r.TurnEnded("turn")
	if got := said(r); len(got) != long+1 {
		t.Errorf("%d bytes arrived of %d", len(got), long)
	}
}

func TestAPromptIsNoCommand(t *testing.T) {
	for prompt, want := range map[string]string{
		"/help": wordJoiner + "/help", "  @file": wordJoiner + "  @file", "say /help": "say /help", "1 / 2": "1 / 2",
	} {
		if got := escapeCommand(prompt); got != want {
			t.Errorf("%q became %q", prompt, got)
		}
	}
	b := newTable(t, acpscript.Options{}, nil)
	r := b.open(b.session())
	r.Send(core.StartTurn{ID: r.NextOp(), TurnID: "turn", Input: core.TurnInput{Prompt: "say x",
		Content: []core.ContentBlock{{Type: "image", Data: "AAAA", MIMEType: "image/png"}}, Attachments: []string{"/a b/c.txt"}}})
	r.TurnEnded("turn")
	if got := said(r); !strings.Contains(got, "image") || !strings.Contains(got, "file:///a%20b/c.txt") {
		t.Errorf("the agent got %q", got)
	}
}

// TestSilenceEndsWithinItsDeadline puts the adapter under core: whatever the
// agent does not report, the turn has one terminal and the session an end.
func TestSilenceEndsWithinItsDeadline(t *testing.T) {
	b := newTable(t, acpscript.Options{StayAlive: true}, nil)
	h := harness.New(harness.Config{Store: memstore.New(), Providers: []core.Provider{b.provider}})
	ctx, cancel := context.WithTimeout(context.Background(), conntest.MaxWait)
	defer cancel()
	defer func() {
		if err := h.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}()
	cfg := b.session()
	cfg.SessionID, cfg.Provider = "", "scripted"
	cfg.Timeouts.Interrupt, cfg.Timeouts.ProviderStop = 300*time.Millisecond, time.Second
	for _, prompt := range []string{"deaf", "ignore\napprove ls\nhang"} {
		s, err := h.StartSession(ctx, core.Caller{Owner: "local"}, core.StartRequest{Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := h.SendMessage(ctx, core.Caller{Owner: "local"}, core.SendRequest{SessionID: s.Session.ID, Input: core.TurnInput{Prompt: prompt}})
		if err != nil {
			t.Fatal(err)
		}
		wait := core.AwaitRequest{IDs: []string{turn.ID}, Wait: conntest.MaxWait, WakeOnRequest: true}
		if prompt != "deaf" {
			if _, err := h.Await(ctx, core.Caller{Owner: "local"}, wait); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Interrupt(ctx, core.Caller{Owner: "local"}, core.InterruptRequest{SessionID: s.Session.ID}); err != nil {
			t.Fatal(err)
		}
		wait.WakeOnRequest = false
		got, err := h.Await(ctx, core.Caller{Owner: "local"}, wait)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Results) != 1 {
			t.Fatalf("%+v", got)
		}
		if x := got.Results[0].Turn; x == nil || x.Status != core.TurnDoneInterrupted || x.Reason != core.ReasonNoVerdict {
			t.Errorf("%q: %+v", prompt, x)
		}
	}
}
