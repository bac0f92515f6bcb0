package tools_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/providers/demo"
	"github.com/harness-mcp/harness-mcp/tools"
)

// asCodex is the scripted agent under the name of Codex.
type asCodex struct{ core.Provider }

func (p asCodex) Spec() core.Spec {
	s := p.Provider.Spec()
	s.Name = "codex"
	return s
}

func newCodexHouse(t *testing.T, o tools.Options) *agentServer {
	t.Helper()
	o.Compat = tools.CompatCodex
	h := harness.New(harness.Config{Store: memstore.New(), Providers: []core.Provider{asCodex{demo.New(demo.Options{Dir: t.TempDir()})}}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return &agentServer{t: t, srv: tools.NewServer(h, o), h: h, cwd: t.TempDir()}
}

func TestTheCodexToolsAreThoseOfTheFormerServer(t *testing.T) {
	for _, o := range []tools.Options{{}, {Core: true}} {
		w := newCodexHouse(t, o)
		list, err := w.client("legacy", nil).ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, tool := range list {
			found[tool.Name] = string(tool.InputSchema) + string(tool.OutputSchema)
		}
		for name, words := range map[string][]string{
			"codex": {`"prompt"`, `"approval-policy"`, `"sandbox"`, `"cwd"`, `"model"`, `"base-instructions"`, `"developer-instructions"`,
				`"compact-prompt"`, `"config"`, `"on-request"`, `"never"`, `"danger-full-access"`, `"threadId"`, `"content"`},
			"codex-reply": {`"prompt"`, `"threadId"`, `"conversationId"`, `"content"`},
		} {
			for _, word := range words {
				if !strings.Contains(found[name], word) {
					t.Errorf("%s has no %s: %s", name, word, found[name])
				}
			}
		}
	}
}

func TestACodexThreadGoesOn(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newCodexHouse(t, tools.Options{})
		c := w.client(era, nil)
		a := ask(t, c, "codex", args{"prompt": "say first", "cwd": w.cwd, "sandbox": "read-only", "approval-policy": "on-request"})
		a.is("first", "content").says("first", a.str("threadId"))
		thread := a.str("threadId")
		ask(t, c, "codex-reply", args{"prompt": "say second", "threadId": thread}).is("second", "content").is(thread, "threadId")
		ask(t, c, "close", args{"id": thread})
		ask(t, c, "codex-reply", args{"prompt": "say third", "conversationId": thread}).is("third", "content").is(thread, "threadId")
		ask(t, c, "codex-reply", args{"prompt": "x"}).is("invalid_argument", "error", "code")
		failed := ask(t, c, "codex", args{"prompt": "fail", "cwd": w.cwd})
		if !failed.isError || failed.str("threadId") == "" || !strings.Contains(failed.str("content"), "failed") {
			t.Errorf("%v %s", failed.isError, failed.text)
		}
	})
}

func TestCodexApprovalsAreForms(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newCodexHouse(t, tools.Options{})
		p := &person{do: accepts(map[string]any{"decision": "Approve"})}
		c := w.client(era, p)
		a := ask(t, c, "codex", args{"prompt": "approve\nsay went on", "cwd": w.cwd})
		if !strings.Contains(a.str("content"), "went on") || strings.Contains(a.text, "denied") {
			t.Errorf("%s", a.text)
		}
		if n := len(p.seen()); n != 1 {
			t.Errorf("%d forms were shown", n)
		}
	})
}

func TestCodexApprovalsThatNobodyGivesAreDenied(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		for name, tc := range map[string]struct {
			p   *person
			why string
		}{
			"no form":  {nil, "cannot ask its user"},
			"declined": {&person{do: does("decline")}, "did not approve"},
		} {
			t.Run(name, func(t *testing.T) {
				w := newCodexHouse(t, tools.Options{})
				c := w.client(era, tc.p)
				a := ask(t, c, "codex", args{"prompt": "approve\nsay went on", "cwd": w.cwd})
				a.says("1 request denied")
				l, err := w.h.List(t.Context(), tools.LocalOwner, core.ListRequest{Kind: core.KindRequest})
				if err != nil || len(l.Items) != 1 {
					t.Fatalf("%v: %v", l, err)
				}
				q := l.Items[0].Request
				if q.Resolution == nil || q.Resolution.Action != core.ActionDeny || !strings.Contains(q.Resolution.Reason, tc.why) {
					t.Errorf("resolved as %+v", q.Resolution)
				}
			})
		}
	})
}
