package tools

import (
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
)

func TestAtALimitTheListOfWhatCountsIsSuggested(t *testing.T) {
	for limit, kind := range map[string]string{
		"max_sessions": "sessions", "max_sessions_per_owner": "sessions",
		"max_processes": "processes", "max_processes_per_owner": "processes",
	} {
		c := &call{surface: &surface{}}
		next := c.afterError(core.Errorf(core.CodeCapacity, "full").Retry(), map[string]any{"limit": limit})
		if len(next) != 1 || next[0].Tool != "list" || next[0].Arguments["kind"] != kind {
			t.Errorf("%s: %+v", limit, next)
		}
	}
}
