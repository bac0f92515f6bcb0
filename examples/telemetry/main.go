// Command telemetry shows what the harness exports to OpenTelemetry: it runs a
// collector on the loopback address, delegates a task to the scripted agent
// with telemetry on, and prints the spans that arrive and what was measured.
//
//	go run ./examples/telemetry
//
// With the program itself the same is
//
//	harness-mcp --otel http://127.0.0.1:4318 --metrics 127.0.0.1:9464
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
	"github.com/harness-mcp/harness-mcp/internal/telemetry"
	"github.com/harness-mcp/harness-mcp/providers/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, demo.New(demo.Options{})); err != nil {
		fmt.Fprintln(os.Stderr, "telemetry:", err)
		os.Exit(1)
	}
}

// shutdownTime is how long the agent, and then the last spans, may take.
const shutdownTime = 5 * time.Second

func run(ctx context.Context, w io.Writer, agent core.Provider) (err error) {
	c, err := collect()
	if err != nil {
		return err
	}
	defer c.close()
	tel, err := telemetry.New(telemetry.Options{Collector: c.url, Metrics: "127.0.0.1:0", Version: "example", Instance: "example"})
	if err != nil {
		return err
	}
	err = delegate(ctx, tel, agent)
	metrics, merr := measured(ctx, tel.MetricsAddr())
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := errors.Join(err, merr, tel.Close(sctx)); err != nil {
		return err
	}
	for _, s := range c.spans() {
		fmt.Fprintln(w, s)
	}
	fmt.Fprintln(w)
	for line := range strings.Lines(metrics) {
		if strings.Contains(line, "_count{") || strings.Contains(line, "_total{") {
			fmt.Fprint(w, line)
		}
	}
	return nil
}

// delegate has the agent do a task that asks for an approval.
func delegate(ctx context.Context, tel core.Telemetry, agent core.Provider) (err error) {
	h := harness.New(harness.Config{Store: memstore.New(), Providers: []core.Provider{agent}, Telemetry: tel})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		err = errors.Join(err, h.Shutdown(ctx))
	}()
	me := core.Caller{Owner: "local", Client: "telemetry"}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	s, err := h.StartSession(ctx, me, core.StartRequest{Config: core.SessionConfig{Provider: agent.Spec().Name, CWD: cwd}})
	if err != nil {
		return err
	}
	turn, err := h.SendMessage(ctx, me, core.SendRequest{SessionID: s.Session.ID, Input: core.TurnInput{Prompt: "approve\nsay it is done"}})
	if err != nil {
		return err
	}
	for {
		res, err := h.Await(ctx, me, core.AwaitRequest{IDs: []string{turn.ID}, Wait: time.Minute, WakeOnRequest: true})
		if err != nil {
			return err
		}
		if res.Outcome != core.OutcomeRequest {
			break
		}
		for _, q := range res.Results[0].Pending() {
			if _, err := h.Respond(ctx, me, core.RespondRequest{RequestID: q.ID, Response: core.Response{Action: core.ActionApprove}}); err != nil {
				return err
			}
		}
	}
	_, err = h.Close(ctx, me, core.CloseRequest{ID: s.Session.ID})
	return err
}

// measured reads the metrics as Prometheus would.
func measured(ctx context.Context, addr string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(body), err
}
