package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/mcptest"
	"github.com/harness-mcp/harness-mcp/tools"
)

// subscribe subscribes to resources, in the way of the era. It returns when
// the server has agreed.
func subscribe(t *testing.T, c *mcptest.Client, era string, uris ...string) {
	t.Helper()
	if strings.HasPrefix(era, "legacy") {
		for _, uri := range uris {
			if err := c.Do(t.Context(), "resources/subscribe", map[string]any{"uri": uri}, nil); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if _, err := c.Request("subscriptions/listen", map[string]any{"notifications": map[string]any{
		"resourceSubscriptions": uris, "resourcesListChanged": true}}); err != nil {
		t.Fatal(err)
	}
	c.WaitFor(0, func(m mcptest.Message) bool { return m.Method == "notifications/subscriptions/acknowledged" })
}

func updatesOf(c *mcptest.Client, uri string) (n, last int) {
	for _, m := range c.Messages() {
		var p struct{ URI string }
		if m.Method == "notifications/resources/updated" && json.Unmarshal(m.Params, &p) == nil && p.URI == uri {
			n, last = n+1, m.Seq
		}
	}
	return n, last
}

func read(t *testing.T, c *mcptest.Client, uri string) string {
	t.Helper()
	var out struct{ Contents []struct{ Text string } }
	if err := c.Do(t.Context(), "resources/read", map[string]any{"uri": uri}, &out); err != nil {
		t.Fatal(err)
	}
	return out.Contents[0].Text
}

// settles waits until a resource has the wanted state after the last update of
// it: a client that reads at each update has then read the last state.
func settles(t *testing.T, c *mcptest.Client, uri, want string) {
	t.Helper()
	seen := 0
	for {
		m := c.WaitFor(seen, func(m mcptest.Message) bool {
			return m.Method == "notifications/resources/updated" && strings.Contains(string(m.Params), `"`+uri+`"`)
		})
		seen = m.Seq
		if strings.Contains(read(t, c, uri), want) {
			return
		}
	}
}

func TestSubscribersReadTheLastState(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newAgentServer(t, tools.Options{}, core.Limits{})
		c := w.client(era, nil)
		s := ask(t, c, "start_session", args{"provider": "demo", "cwd": w.cwd})
		ses := s.str("session_id")
		turn := ask(t, c, "send_message", args{"session_id": ses, "prompt": "slow 50\napprove\nstream 300\nsay the end"}).str("turn_id")
		all := []string{"harness://sessions/" + ses, "harness://sessions/" + ses + "/events", "harness://turns/" + turn,
			"harness://turns/" + turn + "/text", "harness://requests", "harness://sessions"}
		subscribe(t, c, era, all...)
		began := time.Now()

		settles(t, c, "harness://requests", `"pending"`)
		req := w.request(t, turn).ID
		subscribeMore := "harness://requests/" + req
		if strings.HasPrefix(era, "legacy") {
			subscribe(t, c, era, subscribeMore)
		}
		ask(t, c, "respond", args{"request_id": req, "action": "approve"})
		settles(t, c, "harness://turns/"+turn, `"completed"`)
		settles(t, c, "harness://turns/"+turn+"/text", "the end")
		settles(t, c, "harness://sessions/"+ses, `"idle"`)
		settles(t, c, "harness://requests", `"resolved"`)
		if strings.HasPrefix(era, "legacy") {
			settles(t, c, subscribeMore, `"resolved"`)
		}
		ask(t, c, "close", args{"id": ses})
		settles(t, c, "harness://sessions/"+ses, `"closed"`)
		settles(t, c, "harness://sessions", `"closed"`)

		most := int(time.Since(began)/(100*time.Millisecond)) + 2
		for _, uri := range all {
			if n, _ := updatesOf(c, uri); n < 1 || n > most {
				t.Errorf("%s was updated %d times, want 1 to %d", uri, n, most)
			}
		}
		// Reading on by cursor finds everything that the updates stood for.
		if !readsOn(t, c, "harness://sessions/"+ses+"/events", "session_closed") {
			t.Error("the events end before the last")
		}
	})
}

// readsOn pages through events by cursor until one of a type has come.
func readsOn(t *testing.T, c *mcptest.Client, uri, typ string) bool {
	t.Helper()
	for after := 0; ; {
		var page struct {
			Events []struct{ Type string }
			Cursor int
			More   bool
		}
		if err := json.Unmarshal([]byte(read(t, c, fmt.Sprintf("%s?after=%d", uri, after))), &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if e.Type == typ {
				return true
			}
		}
		if !page.More || page.Cursor <= after {
			return false
		}
		after = page.Cursor
	}
}

func TestChangesOfTheListOfLiveResourcesAreMerged(t *testing.T) {
	inBothEras(t, func(t *testing.T, era string) {
		w := newAgentServer(t, tools.Options{}, core.Limits{})
		c := w.client(era, nil)
		subscribe(t, c, era, "harness://sessions")
		began := time.Now()
		var ids []string
		for range 8 {
			ids = append(ids, ask(t, c, "start_session", args{"provider": "demo", "cwd": w.cwd}).str("session_id"))
		}
		isChange := func(m mcptest.Message) bool { return m.Method == "notifications/resources/list_changed" }
		m := c.WaitFor(0, isChange)
		for _, id := range ids {
			ask(t, c, "close", args{"id": id})
		}
		c.WaitFor(m.Seq, isChange)
		n := 0
		for _, m := range c.Messages() {
			if isChange(m) {
				n++
			}
		}
		if most := int(time.Since(began)/time.Second) + 1; n > most {
			t.Errorf("%d changes of the list in %s", n, time.Since(began))
		}
	})
}

func TestNoUpdatesAreSentAfterUnsubscribe(t *testing.T) {
	w := newAgentServer(t, tools.Options{}, core.Limits{})
	c := w.client("legacy", nil)
	ses := ask(t, c, "start_session", args{"provider": "demo", "cwd": w.cwd}).str("session_id")
	uri := "harness://sessions/" + ses
	subscribe(t, c, "legacy", uri, "harness://sessions")
	if err := c.Do(t.Context(), "resources/unsubscribe", map[string]any{"uri": uri}, nil); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "close", args{"id": ses})
	settles(t, c, "harness://sessions", `"closed"`)
	if n, _ := updatesOf(c, uri); n != 0 {
		t.Errorf("%d updates after unsubscribing", n)
	}
}

func TestSubscribersGetUpdatesOfTheirOwnResourcesOnly(t *testing.T) {
	w := newAgentServer(t, tools.Options{}, core.Limits{})
	c := w.client("legacy", nil)
	mine := ask(t, c, "start_session", args{"provider": "demo", "cwd": w.cwd, "session_id": "mine"}).str("session_id")
	subscribe(t, c, "legacy", "harness://sessions")
	other := core.Caller{Owner: "other"}
	if _, err := w.h.StartSession(t.Context(), other, core.StartRequest{Config: core.SessionConfig{Provider: "demo", CWD: w.cwd, SessionID: "theirs"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), "resources/subscribe", map[string]any{"uri": "harness://sessions/theirs"}, nil); err == nil {
		t.Error("another owner's session can be subscribed to")
	}
	if _, err := w.h.Close(t.Context(), other, core.CloseRequest{ID: "theirs"}); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "close", args{"id": mine})
	settles(t, c, "harness://sessions", `"closed"`)
	if n, _ := updatesOf(c, "harness://sessions/theirs"); n != 0 {
		t.Errorf("%d updates of another owner's session", n)
	}
}
