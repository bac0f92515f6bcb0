package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/harness-mcp/harness-mcp/core"
)

// genAI is what the conventions for generative AI call an operation.
func genAI(n core.OperationName) string {
	switch n {
	case core.OpStartSession:
		return "create_agent"
	case core.OpTurn:
		return "invoke_agent"
	}
	return ""
}

func spanName(o core.Operation) string {
	with := func(name, what string) string {
		if what == "" {
			return name
		}
		return name + " " + what
	}
	switch o.Name {
	case core.OpCommand:
		return o.Provider + "/" + o.Command
	case core.OpToolCall:
		return with("tools/call", o.Command)
	case core.OpStoreWrite:
		return "commit"
	case core.OpStartTurn:
		return "start_turn"
	case core.OpSession:
		return with("session", o.Provider)
	}
	return with(genAI(o.Name), o.Provider)
}

func spanKind(n core.OperationName) trace.SpanKind {
	switch n {
	case core.OpCommand, core.OpTurn, core.OpStartSession:
		return trace.SpanKindClient
	case core.OpToolCall:
		return trace.SpanKindServer
	}
	return trace.SpanKindInternal
}

// attributes returns the attributes of an operation.
func attributes(o core.Operation) []attribute.KeyValue {
	var out []attribute.KeyValue
	add := func(key, v string) {
		if v != "" {
			out = append(out, attribute.String(key, v))
		}
	}
	add("gen_ai.operation.name", genAI(o.Name))
	add("gen_ai.agent.name", o.Provider)
	add("gen_ai.conversation.id", o.Session)
	add("gen_ai.request.model", o.Model)
	add("harness_mcp.turn.id", o.Turn)
	add("harness_mcp.request.id", o.Request)
	switch o.Name {
	case core.OpCommand:
		add("rpc.system.name", o.Transport)
		add("rpc.method", o.Provider+"/"+o.Command)
	case core.OpToolCall:
		add("mcp.method.name", "tools/call")
		add("gen_ai.operation.name", "execute_tool")
		add("gen_ai.tool.name", o.Command)
	case core.OpStoreWrite:
		add("db.system.name", "sqlite")
		add("db.operation.name", "commit")
	}
	return out
}
