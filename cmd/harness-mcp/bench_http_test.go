package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/internal/mcptest"
)

// BenchmarkInspect measures inspect of a live session of the built program
// over HTTP, against a tool that does nothing on the HTTP server that mcp-go
// ships. Both take turns; x is the median of our rate to theirs.
func BenchmarkInspect(b *testing.B) {
	bare := filepath.Join(b.TempDir(), "bare")
	if out, err := exec.Command("go", "build", "-o", bare, "../../internal/conformance").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(bare, "-http", "127.0.0.1:0", "-bare")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	theirs := newCaller(b, strings.TrimSpace(url), "", "test_simple_text", nil)

	s := serve(b, b.TempDir(), "--token-file", tokens(b, "a-token-for-benchmarks\n"))
	p := s.as("a-token-for-benchmarks")
	id := p.must("start_session", args{"provider": "demo", "cwd": b.TempDir()}).SessionID
	ours := newCaller(b, s.url, "a-token-for-benchmarks", "inspect", args{"id": id})

	for _, inFlight := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("inflight=%d", inFlight), func(b *testing.B) {
			const round = 500
			ours.calls(b, round, inFlight)
			theirs.calls(b, round, inFlight)
			var ratios []float64
			var spent time.Duration
			calls := 0
			for b.Loop() {
				us, them := ours.calls(b, round, inFlight), theirs.calls(b, round, inFlight)
				ratios = append(ratios, them.Seconds()/us.Seconds())
				spent += us
				calls += round
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x")
			b.ReportMetric(float64(calls)/spent.Seconds(), "calls/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// caller makes one call over and over.
type caller struct {
	url    string
	body   string
	header http.Header
	client *http.Client
}

func newCaller(b *testing.B, url, token, tool string, a args) *caller {
	b.Helper()
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": a, "_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": mcptest.ModernVersion, "io.modelcontextprotocol/clientCapabilities": args{},
	}})
	if err != nil {
		b.Fatal(err)
	}
	c := &caller{
		url: url, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, params),
		header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + token},
			"Mcp-Protocol-Version": {mcptest.ModernVersion}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool},
		},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}},
	}
	b.Cleanup(c.client.CloseIdleConnections)
	return c
}

func (c *caller) calls(b *testing.B, n, inFlight int) time.Duration {
	b.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	for i := range inFlight {
		wg.Go(func() {
			for range (n + i) / inFlight {
				if err := c.call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func (c *caller) call() error {
	r, err := http.NewRequestWithContext(context.Background(), "POST", c.url, strings.NewReader(c.body))
	if err != nil {
		return err
	}
	r.Header = c.header
	response, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var got struct {
		Result struct {
			IsError bool
			Content []json.RawMessage
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		return err
	}
	if got.Result.IsError || len(got.Result.Content) == 0 {
		return fmt.Errorf("%s: %s failed", response.Status, c.url)
	}
	return nil
}
