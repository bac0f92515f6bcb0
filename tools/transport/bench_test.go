package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkStdio measures calls of a tool that does nothing, against this
// transport and against the stdio server that mcp-go ships, each in a process
// of its own, with 1, 16 and 64 calls in flight. Both servers take turns in
// short rounds, so that a noisy machine harms both alike; x is the median
// over the rounds of our rate to theirs.
func BenchmarkStdio(b *testing.B) {
	for _, inFlight := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("inflight=%d", inFlight), func(b *testing.B) {
			ours, theirs := startChild(b, "ours"), startChild(b, "mcp-go")
			const round = 2000
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

// child is a server process of the benchmark with a client that does as
// little as it can: it counts lines.
type child struct {
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startChild(tb testing.TB, kind string) *child {
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
	tb.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Errorf("%s: %v", kind, err)
		}
	})
	c := &child{in: in, out: bufio.NewReader(out)}
	c.send(tb, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`+"\n"))
	c.receive(tb)
	return c
}

func (c *child) send(tb testing.TB, b []byte) {
	if _, err := c.in.Write(b); err != nil {
		tb.Fatal(err)
	}
}

func (c *child) receive(tb testing.TB) {
	if _, err := c.out.ReadSlice('\n'); err != nil {
		tb.Fatal(err)
	}
}

// calls makes n calls and keeps so many in flight.
func (c *child) calls(tb testing.TB, n, inFlight int) time.Duration {
	start := time.Now()
	for i := range n + inFlight {
		if i >= inFlight {
			c.receive(tb)
		}
		if i < n {
			c.id++
			c.send(tb, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"noop","arguments":{"text":"hello"}}}`+"\n", c.id))
		}
	}
	return time.Since(start)
}
