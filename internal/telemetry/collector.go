package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// pathTraces is where collectors take spans.
const pathTraces = "/v1/traces"

// collector posts spans as OTLP in JSON.
type collector struct {
	url    string
	http   *http.Client
	log    *slog.Logger
	failed atomic.Bool // said once, not with every batch
}

func newCollector(address string, log *slog.Logger) (*collector, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the address of a collector is a URL like http://127.0.0.1:4318, not %q", address)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if !strings.HasSuffix(u.Path, pathTraces) {
		u.Path += pathTraces
	}
	return &collector{url: u.String(), http: &http.Client{Timeout: exportTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}, log: log}, nil
}

// ExportSpans sends a batch. A collector that cannot be reached loses it.
func (c *collector) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.post(ctx, spans)
	if err != nil && !c.failed.Swap(true) {
		c.log.Warn("spans were not exported; this is said once until it works again", "err", err)
	}
	if err == nil {
		c.failed.Store(false)
	}
	return nil // the SDK would write it to stderr
}

func (c *collector) post(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := json.Marshal(newRequest(spans))
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("exporting spans: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("exporting spans: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("exporting spans: the collector answered %s", resp.Status)
	}
	return nil
}

// Shutdown closes idle connections.
func (c *collector) Shutdown(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// The JSON form of OTLP: names in camel case, 64-bit integers as strings, ids
// in hexadecimal.

type otlpRequest struct {
	ResourceSpans []otlpResource `json:"resourceSpans"`
}

type otlpResource struct {
	Resource   otlpAttributes `json:"resource"`
	ScopeSpans []otlpScope    `json:"scopeSpans"`
}

type otlpAttributes struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpScope struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []otlpSpan `json:"spans"`
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	ParentID   string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
	Status     otlpStatus      `json:"status"`
}

type otlpStatus struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type otlpAttribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func newRequest(spans []sdktrace.ReadOnlySpan) otlpRequest {
	var res *resource.Resource
	scopes := map[instrumentation.Scope]int{}
	out := otlpResource{}
	for _, s := range spans {
		res = s.Resource()
		i, ok := scopes[s.InstrumentationScope()]
		if !ok {
			i = len(out.ScopeSpans)
			scopes[s.InstrumentationScope()] = i
			var scope otlpScope
			scope.Scope.Name = s.InstrumentationScope().Name
			out.ScopeSpans = append(out.ScopeSpans, scope)
		}
		out.ScopeSpans[i].Spans = append(out.ScopeSpans[i].Spans, newSpan(s))
	}
	out.Resource.Attributes = otlpAttributesOf(res.Attributes())
	return otlpRequest{ResourceSpans: []otlpResource{out}}
}

func newSpan(s sdktrace.ReadOnlySpan) otlpSpan {
	o := otlpSpan{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(),
		Name: s.Name(), Kind: int(s.SpanKind()), // both count from internal as 1
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: otlpAttributesOf(s.Attributes()),
	}
	if s.Parent().SpanID().IsValid() {
		o.ParentID = s.Parent().SpanID().String()
	}
	switch s.Status().Code {
	case codes.Ok:
		o.Status.Code = 1
	case codes.Error:
		o.Status = otlpStatus{Code: 2, Message: s.Status().Description}
	}
	return o
}

func otlpAttributesOf(in []attribute.KeyValue) []otlpAttribute {
	var out []otlpAttribute
	for _, kv := range in {
		v := map[string]any{}
		switch kv.Value.Type() {
		case attribute.INT64:
			v["intValue"] = strconv.FormatInt(kv.Value.AsInt64(), 10)
		case attribute.BOOL:
			v["boolValue"] = kv.Value.AsBool()
		case attribute.FLOAT64:
			v["doubleValue"] = kv.Value.AsFloat64()
		default:
			v["stringValue"] = kv.Value.String()
		}
		out = append(out, otlpAttribute{Key: string(kv.Key), Value: v})
	}
	return out
}
