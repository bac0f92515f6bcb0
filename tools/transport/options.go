package transport

import (
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Options configure a transport. The zero value is ready to use.
type Options struct {
	// MaxCalls is how many tool calls run at once; 0 means DefaultMaxCalls.
	MaxCalls int

	// Grace is how long calls in flight may go on after end of input or after
	// the end of the context; 0 means DefaultGrace, less than 0 no grace.
	Grace time.Duration

	// Control reports whether a tool acts on other calls. Its calls neither
	// count against MaxCalls nor wait. It must be safe for concurrent use; nil
	// means no such tool.
	Control func(tool string) bool

	// Log receives panics and faults of the connection; nil means
	// slog.Default(). It must not write to the connection's output.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.MaxCalls <= 0 {
		o.MaxCalls = DefaultMaxCalls
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Grace < 0 {
		o.Grace = 0
	}
	if o.Control == nil {
		o.Control = func(string) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// callClass returns how a request is limited.
func (o *Options) callClass(e *envelope) callClass {
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodSubscriptionsListen:
		return classStream
	case mcp.MethodToolsCall:
		if !o.Control(e.Params.Name) {
			return classTool
		}
	}
	return classQuick
}
