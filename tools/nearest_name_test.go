package tools

import (
	"testing"
)

func TestTheNearestNameIsFound(t *testing.T) {
	names := []string{"session_id", "prompt", "wait_ms", "turn_id", "attachments", "output_schema"}
	for _, tc := range []struct{ wrong, want string }{
		{"sessionId", "session_id"}, {"session", "session_id"}, {"sesion_id", "session_id"}, {"Prompt", "prompt"},
		{"promtp", "prompt"}, {"wait", "wait_ms"}, {"waitMs", "wait_ms"}, {"timeout_ms", ""}, {"schema", "output_schema"},
		{"attachment", "attachments"}, {"x", ""}, {"", ""}, {"message", ""}, {"turn", "turn_id"},
	} {
		if got := nearestName(tc.wrong, names); got != tc.want {
			t.Errorf("%q is nearest to %q, want %q", tc.wrong, got, tc.want)
		}
	}
}
