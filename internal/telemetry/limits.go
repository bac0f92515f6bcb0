package telemetry

import "time"

// Bounds of what waits to be exported.
const (
	maxQueuedSpans = 4096 // further ones are dropped
	spanBatch      = 512
	spanEvery      = 2 * time.Second
	exportTimeout  = 5 * time.Second
)

// Bounds of one request for the metrics.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 10 * time.Second
	maxHeader     = 16 << 10 // bytes
)
