package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/tools/transport"
)

// serveHTTPChild serves HTTP on a free port, prints it, and ends with its
// input.
func serveHTTPChild(kind string, srv *server.MCPServer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s%s\n", l.Addr(), transport.PathMCP)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if kind == "ours http" {
		tokens, err := transport.ParseTokens([]byte(aliceToken))
		if err != nil {
			return err
		}
		return transport.ServeHTTP(ctx, l, transport.NewHandler(srv, transport.HTTPOptions{
			Tokens: tokens, Hosts: transport.LoopbackHosts(l.Addr().(*net.TCPAddr)),
		}))
	}
	theirs := &http.Server{Handler: server.NewStreamableHTTPServer(srv, server.WithStateful(true))}
	go func() {
		<-ctx.Done()
		_ = theirs.Close()
	}()
	if err := theirs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// BenchmarkHTTP measures calls of a tool that does nothing, against this
// transport with its guard and against the HTTP server that mcp-go ships.
// See BenchmarkStdio.
func BenchmarkHTTP(b *testing.B) {
	for _, era := range []string{"legacy", "modern"} {
		for _, inFlight := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("era=%s/inflight=%d", era, inFlight), func(b *testing.B) {
				ours, theirs := startHTTPChild(b, "ours http", era), startHTTPChild(b, "mcp-go http", era)
				const round = 1000
				ours.calls(b, round, inFlight)
				theirs.calls(b, round, inFlight)
				var ratios []float64
				var spent [2]time.Duration
				calls := 0
				for b.Loop() {
					us, them := ours.calls(b, round, inFlight), theirs.calls(b, round, inFlight)
					ratios = append(ratios, them.Seconds()/us.Seconds())
					spent[0] += us
					spent[1] += them
					calls += round
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "x")
				b.ReportMetric(float64(calls)/spent[0].Seconds(), "calls/s")
				b.ReportMetric(float64(calls)/spent[1].Seconds(), "mcp-go-calls/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// httpChild is a server process of the benchmark with a client that does as
// little as it can.
type httpChild struct {
	url    string
	client *http.Client
	header http.Header
	body   string // with the id 7
	last   atomic.Int64
}

func startHTTPChild(tb testing.TB, kind, era string) *httpChild {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	c := &httpChild{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
	tb.Cleanup(func() {
		c.client.CloseIdleConnections()
		in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Errorf("%s: %v", kind, err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	c.url = strings.TrimSpace(line)
	c.header = http.Header{
		"Authorization": {"Bearer " + aliceToken}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	if era == "modern" {
		for name, value := range modernHeaders("tools/call", "noop") {
			c.header.Set(name, value)
		}
		c.body = strings.Replace(modernCall("noop"), `"arguments":{}`, `"arguments":{"text":"hello"}`, 1)
		return c
	}
	c.body = hello
	c.header.Set("Mcp-Session-Id", c.call(tb).Get("Mcp-Session-Id"))
	c.body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"noop","arguments":{"text":"hello"}}}`
	return c
}

func (c *httpChild) call(tb testing.TB) http.Header {
	body := strings.Replace(c.body, `"id":7`, fmt.Sprintf(`"id":%d`, c.last.Add(1)), 1)
	r, err := http.NewRequest("POST", c.url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header = c.header
	response, err := c.client.Do(r)
	if err != nil {
		tb.Error(err)
		return http.Header{}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"result"`)) {
		tb.Errorf("%s: %s, %v", response.Status, answer, err)
	}
	return response.Header
}

// calls makes n calls and keeps so many in flight.
func (c *httpChild) calls(tb testing.TB, n, inFlight int) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for i := range inFlight {
		wg.Go(func() {
			for range (n + i) / inFlight {
				c.call(tb)
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

// TestAnIdleLegacySessionIsSmall holds many sessions and weighs them.
func TestAnIdleLegacySessionIsSmall(t *testing.T) {
	const sessions, limit = 1000, 16 << 10
	b := besiege(t)
	b.session(aliceToken) // what the first one makes for all
	heap := func() uint64 {
		http.DefaultClient.CloseIdleConnections()
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := heap()
	c := &httpChild{url: b.URL, client: http.DefaultClient, body: hello, header: http.Header{
		"Authorization": {"Bearer " + bobToken}, "Content-Type": {"application/json"}}}
	for range sessions {
		c.call(t)
	}
	each := (int64(heap()) - int64(before)) / sessions
	t.Logf("an idle session takes %d bytes", each)
	if each > limit {
		t.Errorf("an idle session takes %d bytes, want at most %d", each, limit)
	}
}
