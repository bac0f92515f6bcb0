package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/internal/telemetry"
)

// startTelemetry begins telemetry, if a flag asks for it.
func (h *app) startTelemetry(c *Common) error {
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
		return usageErrorf("Give --otel the URL of a collector, as http://127.0.0.1:4318, and --metrics an address of this machine, as 127.0.0.1:9464.",
			"reading --otel and --metrics: %w", err)
	}
	h.telemetry = t
	return nil
}

// telemetryOrNil returns the telemetry as an interface, nil if it is off.
func (h *app) telemetryOrNil() core.Telemetry {
	if h.telemetry == nil {
		return nil // and not an interface that holds a nil
	}
	return h.telemetry
}

// closeTelemetry exports the remaining spans and ends telemetry.
func (h *app) closeTelemetry() {
	if h.telemetry == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTime)
	defer cancel()
	if err := h.telemetry.Close(ctx); err != nil {
		h.log.Warn("the last spans were not exported", "err", err)
	}
}
