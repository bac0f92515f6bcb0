package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const pathMetrics = "/metrics"

// metricsServer serves what has been measured as Prometheus text.
type metricsServer struct {
	addr string
	http *http.Server
	done chan struct{}
}

// serveMetrics listens on a loopback address. Any other is refused: metrics ask
// for no token.
func serveMetrics(address string, reader *sdkmetric.ManualReader, log *slog.Logger) (*metricsServer, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reading the address of metrics: %w", err)
	}
	if !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("metrics are served on loopback addresses only, like 127.0.0.1:9464, not on %s", address)
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serving metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathMetrics, func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) { // a name that was made to lead here by another site
			http.Error(w, "unknown host", http.StatusForbidden)
			return
		}
		var data metricdata.ResourceMetrics
		if err := reader.Collect(r.Context(), &data); err != nil {
			http.Error(w, "the metrics could not be read", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		writeMetrics(w, data)
	})
	s := &metricsServer{addr: l.Addr().String(), done: make(chan struct{}),
		http: &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeader,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("metrics are no longer served", "err", err)
		}
	}()
	return s, nil
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *metricsServer) close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.done
	return err
}

// writeMetrics writes the text form. A failed write is the client's.
func writeMetrics(w io.Writer, data metricdata.ResourceMetrics) {
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := promName(m)
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				kind := "gauge"
				if d.IsMonotonic {
					kind = "counter"
				}
				head(w, name, m.Description, kind)
				for _, p := range d.DataPoints {
					fmt.Fprintf(w, "%s%s %d\n", name, labels(p.Attributes, ""), p.Value)
				}
			case metricdata.Histogram[float64]:
				head(w, name, m.Description, "histogram")
				for _, p := range d.DataPoints {
					histogram(w, name, p.Attributes, p.Bounds, p.BucketCounts, p.Count, p.Sum)
				}
			case metricdata.Histogram[int64]:
				head(w, name, m.Description, "histogram")
				for _, p := range d.DataPoints {
					histogram(w, name, p.Attributes, p.Bounds, p.BucketCounts, p.Count, float64(p.Sum))
				}
			}
		}
	}
}

// promName spells a name and its unit as Prometheus does.
func promName(m metricdata.Metrics) string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if d, ok := m.Data.(metricdata.Sum[int64]); ok && d.IsMonotonic {
		name += "_total"
	}
	return name
}

func head(w io.Writer, name, what, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, what, name, kind)
}

func histogram(w io.Writer, name string, set attribute.Set, bounds []float64, counts []uint64, count uint64, sum float64) {
	n := uint64(0)
	for i, b := range bounds {
		n += counts[i]
		fmt.Fprintf(w, "%s_bucket%s %d\n", name, labels(set, fmt.Sprintf("%g", b)), n)
	}
	fmt.Fprintf(w, "%s_bucket%s %d\n%s_sum%s %g\n%s_count%s %d\n", name, labels(set, "+Inf"), count,
		name, labels(set, ""), sum, name, labels(set, ""), count)
}

// labels writes attributes, and the bound of a bucket.
func labels(set attribute.Set, le string) string {
	var parts []string
	for _, kv := range set.ToSlice() {
		parts = append(parts, fmt.Sprintf("%s=%q", strings.ReplaceAll(string(kv.Key), ".", "_"), kv.Value.String()))
	}
	if le != "" {
		parts = append(parts, fmt.Sprintf("le=%q", le))
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}
