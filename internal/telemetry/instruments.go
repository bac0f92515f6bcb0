package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/harness-mcp/harness-mcp/core"
)

// instruments holds the metrics. Their attributes are words from closed
// lists, so that their number stays small.
type instruments struct {
	agent, command, tool, store metric.Float64Histogram
	tokens                      metric.Int64Histogram
	live                        map[core.OperationName]metric.Int64UpDownCounter
	signals                     metric.Int64Counter
}

func newInstruments(m metric.Meter) (*instruments, error) {
	in := &instruments{live: map[core.OperationName]metric.Int64UpDownCounter{}}
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	seconds := func(name, what string, bounds ...float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
		keep(err)
		return h
	}
	in.agent = seconds("gen_ai.client.operation.duration", "How long agents take: to open a session, and for a turn.", 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)
	in.command = seconds("rpc.client.call.duration", "How long providers take to acknowledge a command.", 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30)
	in.tool = seconds("mcp.server.operation.duration", "How long calls of MCP clients take.", 0.001, 0.01, 0.1, 1, 5, 15, 45, 120, 600)
	in.store = seconds("db.client.operation.duration", "How long commits take.", 0.0005, 0.002, 0.005, 0.02, 0.1, 0.5, 2, 10)
	var err error
	in.tokens, err = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"), metric.WithDescription("Tokens of a turn, as its provider reports them."),
		metric.WithExplicitBucketBoundaries(100, 1000, 10_000, 100_000, 1_000_000, 10_000_000))
	keep(err)
	for name, metricName := range map[core.OperationName]string{core.OpSession: "harness_mcp.sessions.live", core.OpTurn: "harness_mcp.turns.live"} {
		in.live[name], err = m.Int64UpDownCounter(metricName, metric.WithDescription("How many there are now."))
		keep(err)
	}
	in.signals, err = m.Int64Counter("harness_mcp.signals", metric.WithDescription("What has happened, by its name."))
	keep(err)
	return in, first
}

func (in *instruments) began(o core.Operation) {
	if c := in.live[o.Name]; c != nil {
		c.Add(context.Background(), 1, metric.WithAttributes(attribute.String("gen_ai.agent.name", o.Provider)))
	}
}

func (in *instruments) ended(o core.Operation, e core.Ended, took time.Duration) {
	ctx := context.Background()
	set := []attribute.KeyValue{attribute.String("harness_mcp.outcome", string(e.Ending))}
	add := func(key, v string) {
		if v != "" {
			set = append(set, attribute.String(key, v))
		}
	}
	add("gen_ai.agent.name", o.Provider)
	add("error.type", string(e.Code))
	switch o.Name {
	case core.OpCommand:
		add("rpc.system.name", o.Transport)
		add("rpc.method", o.Command)
		in.command.Record(ctx, took.Seconds(), metric.WithAttributes(set...))
	case core.OpToolCall:
		add("gen_ai.tool.name", o.Command)
		in.tool.Record(ctx, took.Seconds(), metric.WithAttributes(set...))
	case core.OpStoreWrite:
		in.store.Record(ctx, took.Seconds(), metric.WithAttributes(set...))
	case core.OpTurn, core.OpStartSession:
		add("gen_ai.operation.name", genAI(o.Name))
		in.agent.Record(ctx, took.Seconds(), metric.WithAttributes(set...))
	}
	if c := in.live[o.Name]; c != nil {
		c.Add(ctx, -1, metric.WithAttributes(attribute.String("gen_ai.agent.name", o.Provider)))
	}
	if u := e.Usage; u != nil {
		for kind, n := range map[string]*int64{"input": u.InputTokens, "output": u.OutputTokens} {
			if n != nil {
				in.tokens.Record(ctx, *n, metric.WithAttributes(attribute.String("gen_ai.agent.name", o.Provider), attribute.String("gen_ai.token.type", kind)))
			}
		}
	}
}

func (in *instruments) count(s core.Signal) {
	set := []attribute.KeyValue{attribute.String("harness_mcp.signal", string(s.Name))}
	for key, v := range map[string]string{"gen_ai.agent.name": s.Provider, "harness_mcp.request.kind": s.Kind, "harness_mcp.reason": string(s.Reason)} {
		if v != "" {
			set = append(set, attribute.String(key, v))
		}
	}
	in.signals.Add(context.Background(), 1, metric.WithAttributes(set...))
}
