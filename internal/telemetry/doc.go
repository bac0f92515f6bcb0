// Package telemetry exports the calls of core.Telemetry as OpenTelemetry spans
// and metrics.
//
// Spans go to a collector as OTLP over HTTP in its JSON form, which needs no
// generated code; metrics are served as Prometheus text on a loopback address,
// and leave the machine only if somebody fetches them. Names are those of
// OpenTelemetry's conventions for generative AI, for remote calls, for MCP and
// for databases; other names begin with "harness_mcp.".
//
// A turn is a span invoke_agent, the opening of a session create_agent, a
// command to a provider a remote call within its turn, a call of an MCP client
// tools/call. Commits are too many to be spans: they are measured, and a span
// only when they fail. How each ended is in harness_mcp.outcome: ok, rejected,
// uncertain or aborted.
//
// Nothing here ever holds a prompt, an answer, an argument, an environment or a
// credential: core passes only names, ids, codes and counts.
package telemetry
