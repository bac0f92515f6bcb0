package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/harness-mcp/harness-mcp/core"
)

// Options configure telemetry.
type Options struct {
	// Collector is the address of an OpenTelemetry collector, as
	// http://127.0.0.1:4318: spans are posted to /v1/traces there. "" exports
	// none.
	Collector string
	// Metrics is a loopback address, as 127.0.0.1:9464, where /metrics is
	// served. "" serves none.
	Metrics  string
	Version  string
	Instance string
	Logger   *slog.Logger
}

// Telemetry is a core.Telemetry over OpenTelemetry. All methods may be called
// concurrently.
type Telemetry struct {
	tracer  trace.Tracer
	traces  *sdktrace.TracerProvider
	meters  *sdkmetric.MeterProvider
	in      *instruments
	metrics *metricsServer // nil: not served

	mu    sync.Mutex
	turns map[string]trace.SpanContext // running ones, as parents of their commands
}

var _ core.Telemetry = (*Telemetry)(nil)

// New begins to export. Close ends it.
func New(o Options) (*Telemetry, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	res := resource.NewSchemaless(
		attribute.String("service.name", "harness-mcp"),
		attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Instance),
	)
	traces := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	if o.Collector != "" {
		c, err := newCollector(o.Collector, o.Logger)
		if err != nil {
			return nil, err
		}
		traces = append(traces, sdktrace.WithBatcher(c, sdktrace.WithMaxQueueSize(maxQueuedSpans),
			sdktrace.WithMaxExportBatchSize(spanBatch), sdktrace.WithBatchTimeout(spanEvery), sdktrace.WithExportTimeout(exportTimeout)))
	} else {
		traces = append(traces, sdktrace.WithSampler(sdktrace.NeverSample()))
	}
	reader := sdkmetric.NewManualReader()
	t := &Telemetry{
		traces: sdktrace.NewTracerProvider(traces...),
		meters: sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(reader)),
		turns:  map[string]trace.SpanContext{},
	}
	t.tracer = t.traces.Tracer("github.com/harness-mcp/harness-mcp")
	var err error
	if t.in, err = newInstruments(t.meters.Meter("github.com/harness-mcp/harness-mcp")); err != nil {
		return nil, fmt.Errorf("making the instruments: %w", err)
	}
	if o.Metrics != "" {
		if t.metrics, err = serveMetrics(o.Metrics, reader, o.Logger); err != nil {
			return nil, errors.Join(err, t.traces.Shutdown(context.Background()))
		}
	}
	return t, nil
}

// MetricsAddr is the address where metrics are served, "" for none.
func (t *Telemetry) MetricsAddr() string {
	if t.metrics == nil {
		return ""
	}
	return t.metrics.addr
}

// Close exports what waits, until ctx ends, and stops.
func (t *Telemetry) Close(ctx context.Context) error {
	err := errors.Join(t.traces.Shutdown(ctx), t.meters.Shutdown(ctx))
	if t.metrics != nil {
		err = errors.Join(err, t.metrics.close(ctx))
	}
	return err
}

// Begin starts the span of an operation.
func (t *Telemetry) Begin(o core.Operation) func(core.Ended) {
	start := o.At
	if start.IsZero() {
		start = time.Now()
	}
	t.in.began(o)
	if o.Name == core.OpStoreWrite {
		return func(e core.Ended) { t.storeEnded(o, start, e) }
	}
	ctx := t.parent(o)
	_, span := t.tracer.Start(ctx, spanName(o), trace.WithTimestamp(start), trace.WithSpanKind(spanKind(o.Name)),
		trace.WithAttributes(attributes(o)...))
	if o.Name == core.OpTurn {
		t.mu.Lock()
		t.turns[o.Turn] = span.SpanContext()
		t.mu.Unlock()
	}
	return func(e core.Ended) {
		if o.Name == core.OpTurn {
			t.mu.Lock()
			delete(t.turns, o.Turn)
			t.mu.Unlock()
		}
		finish(span, e)
		t.in.ended(o, e, time.Since(start))
	}
}

// parent puts a command into its turn.
func (t *Telemetry) parent(o core.Operation) context.Context {
	ctx := context.Background()
	if o.Name != core.OpCommand {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if sc, ok := t.turns[o.Turn]; ok {
		return trace.ContextWithSpanContext(ctx, sc)
	}
	return ctx
}

// storeEnded measures a commit; one that failed is a span too.
func (t *Telemetry) storeEnded(o core.Operation, start time.Time, e core.Ended) {
	t.in.ended(o, e, time.Since(start))
	if e.Ending == core.EndedOK {
		return
	}
	_, span := t.tracer.Start(context.Background(), spanName(o), trace.WithTimestamp(start), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes(o)...))
	finish(span, e)
}

func finish(span trace.Span, e core.Ended) {
	span.SetAttributes(attribute.String("harness_mcp.outcome", string(e.Ending)))
	for key, v := range map[string]string{"harness_mcp.status": e.Status, "harness_mcp.reason": string(e.Reason), "error.type": string(e.Code)} {
		if v != "" {
			span.SetAttributes(attribute.String(key, v))
		}
	}
	if u := e.Usage; u != nil {
		for key, n := range map[string]*int64{"gen_ai.usage.input_tokens": u.InputTokens, "gen_ai.usage.output_tokens": u.OutputTokens} {
			if n != nil {
				span.SetAttributes(attribute.Int64(key, *n))
			}
		}
	}
	if e.Ending != core.EndedOK {
		span.SetStatus(codes.Error, string(e.Code))
	}
	span.End()
}

// Count counts a signal.
func (t *Telemetry) Count(s core.Signal) { t.in.count(s) }
