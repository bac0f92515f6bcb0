package main_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// sdk starts the program under the TypeScript SDK of one era.
func sdk(t *testing.T, db string, config e2e.Config) *e2e.Client {
	t.Helper()
	return e2e.Start(t, []string{binary, "--db", db}, clean(t), config)
}

func inBothSDKs(t *testing.T, f func(t *testing.T, modern bool)) {
	for name, modern := range map[string]bool{"version 1, 2025-11-25": false, "version 2, 2026-07-28": true} {
		t.Run(name, func(t *testing.T) { f(t, modern) })
	}
}

// said decodes the structured half of a reply.
func said(t *testing.T, r mcptest.Result, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(r.Structured, &m); err != nil {
		t.Fatalf("%v: %s", err, r.Raw)
	}
	return m
}

// TestPeopleAnswerThroughTheSDK has a person behind the real SDK of each era
// accept, decline, cancel, come late, or never answer.
func TestPeopleAnswerThroughTheSDK(t *testing.T) {
	approve := map[string]any{"action": "accept", "content": map[string]any{"decision": "Approve"}}
	for name, tc := range map[string]struct {
		elicit      map[string]any
		after       time.Duration
		wait        int
		asked, done string // what the first wait says, and who resolves the request
	}{
		"accepts":  {approve, 0, 20_000, "", "user"},
		"declines": {map[string]any{"action": "decline"}, 0, 20_000, "declined", "caller"},
		"cancels":  {map[string]any{"action": "cancel"}, 0, 20_000, "cancelled", "caller"},
		"is late":  {approve, 2 * time.Second, 500, "no_answer", "user"},
		"never":    {approve, time.Hour, 500, "no_answer", "caller"},
	} {
		t.Run(name, func(t *testing.T) {
			inBothSDKs(t, func(t *testing.T, modern bool) {
				c := sdk(t, filepath.Join(t.TempDir(), "journal.db"), e2e.Config{Elicit: tc.elicit, ElicitAfter: tc.after, Modern: modern})
				call := func(tool string, a args) map[string]any {
					t.Helper()
					r, err := c.Call(t.Context(), tool, a)
					return said(t, r, err)
				}
				cwd := t.TempDir()
				call("start_session", args{"provider": "demo", "cwd": cwd, "session_id": "s", "answer_by": "user"})
				call("send_message", args{"session_id": "s", "turn_id": "t", "prompt": "approve\nsay went on"})
				showing, err := c.Begin("await", args{"ids": []string{"t"}, "wait_ms": tc.wait}, 0)
				if err != nil {
					t.Fatal(err)
				}
				if modern && tc.after > 0 {
					// The SDK's call lasts as long as its user thinks: others
					// go on beside it once the form is shown.
					isAsked(t, c)
				} else {
					r, err := showing.Result(t.Context())
					first := said(t, r, err)
					want := map[bool]string{true: "done", false: "request_pending"}[tc.asked == ""]
					if tc.after > 0 {
						want = "timeout"
					}
					if first["outcome"] != want {
						t.Fatalf("the wait that showed the form ended as %v", first)
					}
				}
				if tc.asked != "" {
					second := call("await", args{"ids": []string{"t"}, "wait_ms": 20_000})
					text := jsonOf(t, second)
					if second["outcome"] != "request_pending" || !strings.Contains(text, `"asked_user":"`+tc.asked+`"`) {
						t.Fatalf("%s", text)
					}
					req := requestID.FindString(text)
					if tc.done == "caller" {
						call("respond", args{"request_id": req, "action": "approve", "wait_ms": 20_000})
					} else {
						call("await", args{"ids": []string{"t"}, "ignore_requests": []string{req}, "wait_ms": 20_000})
					}
				}
				var list struct {
					Items []struct {
						ID string `json:"request_id"`
					} `json:"items"`
				}
				r, err := c.Call(t.Context(), "list", args{"kind": "requests"})
				if err != nil || json.Unmarshal(r.Structured, &list) != nil || len(list.Items) != 1 {
					t.Fatalf("%s: %v", r.Raw, err)
				}
				whole := jsonOf(t, call("inspect", args{"id": list.Items[0].ID}))
				if !strings.Contains(whole, `"by":"`+tc.done+`"`) || !strings.Contains(whole, `"client":"harness-mcp-e2e"`) {
					t.Errorf("it was resolved otherwise: %s", whole)
				}
			})
		})
	}
}

// isAsked waits until the request of the turn has been shown to a person, who
// may have been given up on since.
func isAsked(t *testing.T, c *e2e.Client) {
	t.Helper()
	waitFor(t, "the form", func() bool {
		r, err := c.Call(t.Context(), "inspect", args{"id": "t"})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(r.Text, "the user is being asked") || strings.Contains(string(r.Structured), `"asked_user"`)
	})
}

// TestSubscriptionsThroughTheSDK has the real SDK of each era subscribe, and
// read what it hears of.
func TestSubscriptionsThroughTheSDK(t *testing.T) {
	inBothSDKs(t, func(t *testing.T, modern bool) {
		c := sdk(t, filepath.Join(t.TempDir(), "journal.db"), e2e.Config{Modern: modern})
		call := func(tool string, a args) {
			t.Helper()
			r, err := c.Call(t.Context(), tool, a)
			said(t, r, err)
		}
		call("start_session", args{"provider": "demo", "cwd": t.TempDir(), "session_id": "s"})
		uri := "harness://sessions/s"
		if err := c.Subscribe(t.Context(), uri, "harness://sessions"); err != nil {
			t.Fatal(err)
		}
		call("send_message", args{"session_id": "s", "prompt": "stream 300\nsay done", "wait_ms": 20_000})
		call("close", args{"id": "s"})
		for inspected := 0; ; {
			if err := c.AwaitUpdates(t.Context(), uri, inspected+1); err != nil {
				t.Fatalf("after %d updates: %v", inspected, err)
			}
			inspected = c.Updates(uri)
			var got json.RawMessage
			if err := c.Request(t.Context(), "resources/read", map[string]any{"uri": uri}, &got); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(got), `closed`) {
				break
			}
		}
		if err := c.AwaitUpdates(t.Context(), "harness://sessions", 1); err != nil {
			t.Error(err)
		}
	})
}

// TestTheInspectorReadsEveryResource has the inspector list the templates and
// read each, and every fixed resource, of work that has ended.
func TestTheInspectorReadsEveryResource(t *testing.T) {
	suite := e2e.Inspector(t)
	db := filepath.Join(t.TempDir(), "journal.db")
	cmd := exec.Command(binary, "--db", db)
	cmd.Env = clean(t)
	c := mcptest.Start(t, cmd)
	c.Initialize(t.Context())
	c.MustCall(t.Context(), "start_session", args{"provider": "demo", "cwd": t.TempDir(), "session_id": "s"})
	c.MustCall(t.Context(), "send_message", args{"session_id": "s", "turn_id": "t", "prompt": "approve\nsay the answer", "wait_ms": 20_000})
	waits := c.MustCall(t.Context(), "await", args{"ids": "t"})
	request := requestID.FindString(waits.Text)
	c.MustCall(t.Context(), "respond", args{"request_id": request, "action": "approve", "wait_ms": 20_000})
	process := regexp.MustCompile(`prc_[0-9a-z]{10}`).FindString(
		c.MustCall(t.Context(), "start_process", args{"executable": "/bin/echo", "argv": []string{"some output"}, "cwd": t.TempDir(), "wait_ms": 20_000}).Text)

	var list struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	if err := c.Do(t.Context(), "resources/templates/list", map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	uris := []string{"harness://providers", "harness://sessions", "harness://requests", "harness://processes"}
	fill := strings.NewReplacer("{session_id}", "s", "{turn_id}", "t", "{request_id}", request, "{process_id}", process, "{?after,limit}", "?after=1&limit=2")
	for _, r := range list.ResourceTemplates {
		uris = append(uris, fill.Replace(r.URITemplate))
	}
	if len(uris) != 12 {
		t.Errorf("%d resources and templates, want 12: %v", len(uris), uris)
	}
	want := map[string]string{
		"harness://turns/t/text": "the answer", "harness://turns/t": "completed", "harness://requests/" + request: "resolved",
		"harness://processes/" + process + "/output": "some output",
	}
	for _, uri := range uris {
		t.Run(uri, func(t *testing.T) {
			t.Parallel()
			out, code := suite.Run("--cli", binary, "-e", "HARNESS_MCP_DB="+db, "--format", "json", "--method", "resources/read", "--uri", uri)
			if code != 0 || !strings.Contains(out, "contents") || !strings.Contains(out, want[uri]) {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}
