package claude

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/process"
	"github.com/harness-mcp/harness-mcp/providers/internal/conntest"
)

// cast returns a provider whose CLI plays the part, and a session with it.
func cast(t testing.TB, part string) (core.Provider, core.SessionConfig) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := core.SessionConfig{SessionID: "ses_fake", CWD: t.TempDir(), EnvMode: core.EnvReplace,
		Env: map[string]string{fakeVar: part, "HOME": t.TempDir(), "PATH": os.Getenv("PATH")}}
	return New(Options{Runner: process.NewLocal(process.Options{}), Exec: self}), cfg
}

func openFake(t *testing.T, part string) *conntest.Recorder {
	t.Helper()
	p, cfg := cast(t, part)
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	conn, err := p.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return conntest.Record(t, conn)
}

func TestEndWithoutAResultIsALostLinkAndClosesWhatIsOpen(t *testing.T) {
	r := openFake(t, "cut")
	r.Start("t", "x")
	if err := r.Ended(); errors.Is(err, io.EOF) || core.CodeOf(err) != core.CodeSessionUnavailable {
		t.Errorf("the link ended with %v", err)
	}
	list := conntest.Contents[core.Message](r)
	if len(list) != 1 || !list[0].Partial || list[0].Text != "half" {
		t.Errorf("of the message is left %+v", list)
	}
	for _, n := range r.All() {
		if e, ok := n.(core.TurnEnded); ok {
			t.Errorf("a turn without a result ended: %s", conntest.Brief(e))
		}
	}
}

func TestGarbageAndUnknownLinesDoNotStopTheConversation(t *testing.T) {
	r := openFake(t, "garbage")
	r.Start("t", "x")
	if e := r.TurnEnded("t"); e.Verdict != core.VerdictCompleted {
		t.Error(conntest.Brief(e))
	}
	kinds := map[string]int{}
	for _, e := range conntest.Contents[core.ProviderEvent](r) {
		kinds[e.Kind]++
	}
	if kinds["garbage"] != 3 || kinds["from the future"] != 1 || kinds["system/from the future"] != 1 {
		t.Errorf("events: %v", kinds)
	}
	if errs := conntest.Contents[core.ProviderError](r); len(errs) != 1 || errs[0].Code != "unreadable_message" {
		t.Errorf("errors: %+v", errs)
	}
}

func TestLineBeyondTheLimitEndsTheLinkWithItsSize(t *testing.T) {
	r := openFake(t, "flood")
	r.Start("t", "x")
	if err := r.Ended(); err == nil || !strings.Contains(err.Error(), "limit 67108864") {
		t.Errorf("the link ended with %v", err)
	}
}

func TestOpeningThatGetsNoAnswerEndsWithItsContext(t *testing.T) {
	p, cfg := cast(t, "mute")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Open(ctx, cfg); !core.IsContext(err) && core.CodeOf(err) != core.CodeStartFailed {
		t.Errorf("open: %v", err)
	}
}

func TestCrashAtTheStartReportsTheExitCodeAndNothingOfStderr(t *testing.T) {
	p, cfg := cast(t, "crash")
	_, err := p.Open(t.Context(), cfg)
	if core.CodeOf(err) != core.CodeStartFailed || !strings.Contains(err.Error(), "exit code 3") || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("open: %v", err)
	}
}

func TestCLIThatDoesNotEndIsKilled(t *testing.T) {
	r := openFake(t, "stubborn")
	r.Start("t", "x")
	r.TurnEnded("t")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := r.Conn.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
}

func TestARequestAfterItsTurnIsDenied(t *testing.T) {
	r := openFake(t, "late agent")
	r.Start("t", "x")
	q := r.Request()
	r.TurnEnded("t")
	r.Until("word of the denial", func(n core.Notice) bool {
		c, ok := n.(core.Content)
		return ok && strings.Contains(string(c.Raw), `"content":"deny"`)
	})
	op := r.Send(core.Respond{ID: r.NextOp(), Ref: q.Ref, Response: core.Response{Action: core.ActionApprove, Scope: core.ScopeOnce}})
	if d := r.OpDone(op); d.Err == nil || d.Err.Code != core.CodeRequestNotPending {
		t.Error(conntest.Brief(d))
	}
}

func TestStalledTurnIsStoppedAndFails(t *testing.T) {
	p, cfg := cast(t, "quiet")
	cfg.ProviderOptions = optionsOf(`{"stall_timeout_ms": 50}`)
	conn, err := p.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := conntest.Record(t, conn)
	r.Start("t", "x")
	e := r.TurnEnded("t")
	if e.Verdict != core.VerdictFailed || e.Result.Error == nil || e.Result.Error.Code != core.TurnProviderError {
		t.Error(conntest.Brief(e))
	}
}

func TestStalledTurnThatCannotBeStoppedEndsTheLink(t *testing.T) {
	p, cfg := cast(t, "numb")
	p.(*provider).grace = 50 * time.Millisecond
	cfg.ProviderOptions = optionsOf(`{"stall_timeout_ms": 50}`)
	conn, err := p.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := conntest.Record(t, conn)
	r.Start("t", "x")
	if err := r.Ended(); core.CodeOf(err) != core.CodeSessionUnavailable || !strings.Contains(err.Error(), "silent") {
		t.Errorf("the link ended with %v", err)
	}
}

func TestSubscriptionRefusesAnythingItCannotSee(t *testing.T) {
	good := `{"loggedIn":true,"authMethod":"claude.ai","apiProvider":"firstParty"}`
	for name, c := range map[string]struct {
		auth, part string
		ok         bool
	}{
		"a login at claude.ai":     {good, "ok", true},
		"an API key":               {`{"loggedIn":true,"authMethod":"api_key","apiProvider":"firstParty"}`, "ok", false},
		"another provider":         {`{"loggedIn":true,"authMethod":"claude.ai","apiProvider":"bedrock"}`, "ok", false},
		"nobody":                   {`{"loggedIn":false}`, "ok", false},
		"no answer":                {``, "ok", false},
		"a helper found in a file": {good, "keyed", false},
	} {
		t.Run(name, func(t *testing.T) {
			p, cfg := cast(t, c.part)
			cfg.Env[fakeAuthVar] = c.auth
			cfg.ProviderOptions = optionsOf(`{"auth": "subscription"}`)
			conn, err := p.Open(t.Context(), cfg)
			if conn != nil {
				_ = conn.Close(t.Context())
			}
			if c.ok != (err == nil) || err != nil && core.CodeOf(err) != core.CodeProviderNotReady {
				t.Errorf("open: %v", err)
			}
		})
	}
}
