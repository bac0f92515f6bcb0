package process

import (
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// MarkerVar is the environment variable that names the owner in every descendant:
// instance:resource for each harness around it, outermost first, joined
// by "/".
const MarkerVar = "HARNESS_MCP_PARENT"

// Depth returns how many harnesses a process with this environment runs in.
func Depth(environ []string) int { return len(parseMarker(lookup(environ, MarkerVar))) }

// segment is one harness in a marker.
type segment struct{ instance, resource string }

// String returns the segment in the form of a marker.
func (s segment) String() string { return s.instance + ":" + s.resource }

// parseMarker reads a marker, outermost harness first. An invalid part
// counts as a segment with an unknown instance, so a damaged marker still has depth.
func parseMarker(marker string) []segment {
	if marker == "" {
		return nil
	}
	var out []segment
	for part := range strings.SplitSeq(marker, "/") {
		instance, resource, _ := strings.Cut(part, ":")
		out = append(out, segment{instance, resource})
	}
	return out
}

// checkDepth returns CodeDepth for a child that would run deeper than MaxDepth.
func checkDepth(inherited string) error {
	if depth := len(parseMarker(inherited)); depth >= MaxDepth {
		return core.Errorf(core.CodeDepth,
			"this server already runs %d harnesses deep, and %d is the limit", depth, MaxDepth).
			WithHint("Do the work in this agent instead of delegating it further.").
			WithDetail("depth", depth)
	}
	return nil
}

// withMarker returns env with this marker in place of any it had, and of a name
// that is given twice the last value only: programs disagree on which counts.
func withMarker(env []string, marker string) []string {
	last := make(map[string]int, len(env))
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	out := make([]string, 0, len(env)+1)
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if name != MarkerVar && last[name] == i {
			out = append(out, kv)
		}
	}
	return append(out, MarkerVar+"="+marker)
}

// joinMarker appends our segment to an inherited marker.
func joinMarker(inherited string, s segment) string {
	if inherited == "" {
		return s.String()
	}
	return inherited + "/" + s.String()
}

// lookup returns the value of a variable, or "". Of several the last
// one counts, as in most programs that use the C library.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}
