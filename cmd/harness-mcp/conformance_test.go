package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/e2e"
)

const suiteToken = "a-token-for-the-suites"

// open returns the URL of a proxy to the server that adds the token, for suites that
// send none. The proxy passes Host on, so that the server checks what the suite sent.
func open(t *testing.T, s *served) string {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			own := r.In.Context().Value(http.LocalAddrContextKey).(fmt.Stringer).String()
			_, port, _ := strings.Cut(own, ":")
			swap := func(v string) string { return strings.ReplaceAll(v, ":"+port, ":"+target.Port()) }
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", target.Host, swap(r.In.Host)
			if origin := r.In.Header.Get("Origin"); origin != "" {
				r.Out.Header.Set("Origin", swap(origin))
			}
			r.Out.Header.Set("Authorization", "Bearer "+suiteToken)
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}

func TestTheProgramConforms(t *testing.T) {
	suite := e2e.Conformance(t)
	url := open(t, serve(t, t.TempDir(), "--token-file", tokens(t, suiteToken+"\n")))
	// The scenarios that need no tools of the suite's own.
	for revision, scenarios := range map[string][]string{
		"2025-11-25": {"server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
			"server-sse-multiple-streams", "dns-rebinding-protection"},
		"2026-07-28": {"tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams", "sep-2164-resource-not-found",
			"dns-rebinding-protection", "caching", "http-header-validation", "input-required-result-unsupported-methods"},
	} {
		for _, scenario := range scenarios {
			t.Run(revision+" "+scenario, func(t *testing.T) {
				t.Parallel()
				out, code := suite.Run("server", "--url", url, "--spec-version", revision, "--scenario", scenario)
				if code != 0 {
					t.Errorf("exit code %d:\n%s", code, out)
				}
			})
		}
	}
}

func TestTheInspectorFindsNothingAndCallsTools(t *testing.T) {
	suite := e2e.Inspector(t)
	s := serve(t, t.TempDir(), "--token-file", tokens(t, suiteToken+"\n"))
	home := t.TempDir()
	targets := map[string][]string{
		"http":  {s.url, "--header", "Authorization: Bearer " + suiteToken},
		"stdio": {binary, "-e", "HARNESS_MCP_DB=" + filepath.Join(home, "journal.db")},
	}
	for kind, target := range targets {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(kind+" "+era, func(t *testing.T) {
				t.Parallel()
				inspect := func(want string, args ...string) {
					t.Helper()
					out, code := suite.Run(slices.Concat([]string{"--cli"}, target, []string{"--protocol-era", era, "--format", "json"}, args)...)
					if code != 0 || !strings.Contains(out, want) {
						t.Errorf("%v: exit code %d, want 0 and %q:\n%s", args, code, want, out)
					}
				}
				inspect("delegate", "--method", "tools/list", "--strict")
				inspect("demo", "--method", "tools/call", "--tool-name", "list_providers")
				inspect("completed", "--method", "tools/call", "--tool-name", "delegate",
					"--tool-args-json", `{"provider":"demo","cwd":"/","prompt":"say hello"}`)
				inspect("items", "--method", "tools/call", "--tool-name", "list", "--tool-args-json", `{"kind":"turns"}`)
				inspect("{", "--method", "resources/list")
				inspect("{", "--method", "resources/templates/list")
				inspect("{", "--method", "prompts/list")
			})
		}
	}
}
