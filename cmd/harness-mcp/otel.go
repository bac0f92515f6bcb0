package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/telemetry"
)

// telemetryTime is how long the last spans may take to leave.
const telemetryTime = 2 * time.Second

// hear begins telemetry, if a flag asks for it.
func (h *house) hear(c *Common) error {
	if c.Otel == "" && c.Metrics == "" {
		return nil
	}
	t, err := telemetry.New(telemetry.Options{
		Collector: c.Otel, Metrics: c.Metrics, Version: version(), Instance: h.store.Instance(), Logger: h.log,
	})
	var network *net.OpError
	switch {
	case errors.As(err, &network):
		return fmt.Errorf("starting telemetry: %w", err)
	case err != nil:
		return misused("Give --otel the URL of a collector, as http://127.0.0.1:4318, and --metrics an address of this machine, as 127.0.0.1:9464.",
			"reading --otel and --metrics: %w", err)
	}
	h.telemetry = t
	return nil
}

// heard is who hears what is done, nil for nobody.
func (h *house) heard() core.Telemetry {
	if h.telemetry == nil {
		return nil // and not an interface that holds a nil
	}
	return h.telemetry
}

// unhear sends what is left and ends telemetry.
func (h *house) unhear() {
	if h.telemetry == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTime)
	defer cancel()
	if err := h.telemetry.Close(ctx); err != nil {
		h.log.Warn("the last spans were not exported", "err", err)
	}
}
