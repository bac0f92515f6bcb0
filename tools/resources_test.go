package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/tools"
)

// ask makes any request and returns its result, or the message of its error.
func (c *client) ask(method, params string) (result map[string]any, failure string) {
	c.t.Helper()
	out, err := json.Marshal(c.srv.HandleMessage(c.t.Context(),
		json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))))
	if err != nil {
		c.t.Fatal(err)
	}
	var m struct {
		Result map[string]any
		Error  struct{ Message string }
	}
	if err := json.Unmarshal(out, &m); err != nil {
		c.t.Fatal(err)
	}
	return m.Result, m.Error.Message
}

func (c *client) readResource(uri string) (text, failure string) {
	c.t.Helper()
	res, failure := c.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	if failure != "" {
		return "", failure
	}
	return answer{t: c.t, object: res}.str("contents", 0, "text"), ""
}

func TestResourcesShowTheSameObjects(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses := c.start(nil)
		long := "say " + strings.TrimSpace(strings.Repeat("word ", 4000))
		turn := c.must("send_message", args{"session_id": ses, "prompt": long, "wait_ms": 60_000}).str("turn_id")
		asks := c.must("send_message", args{"session_id": ses, "prompt": "approve", "wait_ms": 60_000})
		for uri, want := range map[string][]string{
			"harness://providers":                                   {`"provider":"demo"`},
			"harness://sessions":                                    {`"items":[`, ses},
			"harness://requests":                                    {`"items":[`, asks.str("pending_requests", 0, "request_id")},
			"harness://processes":                                   {`"items":[]`},
			"harness://sessions/" + ses:                             {`"object":"session"`, turn},
			"harness://sessions/" + ses + "/events":                 {`"cursor":`, "session_started"},
			"harness://sessions/" + ses + "/events?after=2&limit=1": {`"cursor":3`},
			"harness://turns/" + turn:                               {`"object":"turn"`, strings.TrimPrefix(long, "say ")},
			"harness://turns/" + turn + "/text":                     {strings.TrimPrefix(long, "say ")},
			"harness://requests/" + asks.str("pending_requests", 0, "request_id"): {`"status":"pending"`},
		} {
			text, failure := c.readResource(uri)
			if failure != "" {
				t.Errorf("%s: %s", uri, failure)
			}
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s does not say %.80q: %.300s", uri, w, text)
				}
			}
			if strings.Contains(text, `"next":`) {
				t.Errorf("%s suggests calls", uri)
			}
		}
		for uri, want := range map[string]string{
			"harness://turns/trn_nope": "not_found: ", "harness://turns/" + ses: "not_found: ", "harness://sessions/" + turn: "not_found: ",
			"harness://sessions/" + ses + "/events?after=x": "invalid_argument: ",
		} {
			if _, failure := c.readResource(uri); !strings.HasPrefix(failure, want) {
				t.Errorf("%s: %q", uri, failure)
			}
		}
	})
}

func TestTheListOfResourcesNamesWhatIsLive(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		ses, ended := c.start(args{"title": "mine"}), c.start(nil)
		c.must("close", args{"id": ended})
		res, _ := c.ask("resources/list", `{}`)
		var uris []string
		for _, r := range res["resources"].([]any) {
			uris = append(uris, r.(map[string]any)["uri"].(string))
		}
		if !slices.Contains(uris, "harness://sessions/"+ses) || slices.Contains(uris, "harness://sessions/"+ended) || len(uris) != 5 {
			t.Errorf("got %v", uris)
		}
		templates, _ := c.ask("resources/templates/list", `{}`)
		if n := len(templates["resourceTemplates"].([]any)); n != 8 {
			t.Errorf("%d templates", n)
		}
	})
}

func TestALinkInAReplyCanBeRead(t *testing.T) {
	withClient(t, tools.Options{}, func(c *client) {
		text := strings.TrimSpace(strings.Repeat("word ", 4000))
		a, _ := c.ask("tools/call", fmt.Sprintf(`{"name":"delegate","arguments":{"provider":"demo","cwd":%q,"prompt":%q}}`, c.cwd, "say "+text))
		link := answer{t: t, object: a}.str("content", 1, "uri")
		if got, failure := c.readResource(link); got != text {
			t.Errorf("%s: %d bytes of %d %s", link, len(got), len(text), failure)
		}
	})
}
