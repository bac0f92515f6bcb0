package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

// maxExport bounds one export that the collector takes, in bytes.
const maxExport = 4 << 20

// collector takes spans as any OpenTelemetry collector does: OTLP in JSON,
// posted to /v1/traces.
type collector struct {
	url  string
	http *http.Server
	done chan struct{}

	mu   sync.Mutex
	seen []string
}

// collect starts a collector on a free port of the loopback address.
func collect() (*collector, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &collector{url: "http://" + l.Addr().String(), done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.take)
	c.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(c.done)
		_ = c.http.Serve(l) // it ends with close
	}()
	return c, nil
}

func (c *collector) close() {
	_ = c.http.Close()
	<-c.done
}

// export is the part of an OTLP request that is printed.
type export struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []struct {
				Name         string
				ParentSpanID string `json:"parentSpanId"`
				Attributes   []struct {
					Key   string
					Value map[string]any
				}
			}
		}
	}
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	var e export
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxExport)).Decode(&e); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range e.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				var facts []string
				for _, a := range s.Attributes {
					for _, v := range a.Value {
						facts = append(facts, fmt.Sprintf("%s=%v", a.Key, v))
					}
				}
				sort.Strings(facts)
				indent := ""
				if s.ParentSpanID != "" {
					indent = "  "
				}
				c.seen = append(c.seen, indent+s.Name+"  "+strings.Join(facts, " "))
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, "{}")
}

// spans returns what has arrived, in order of the spans' ends.
func (c *collector) spans() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.seen...)
}
