package codex

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// brief shows a notice as one line without its raw frame, for golden files and
// for messages of failed tests.
func brief(n core.Notice) string {
	switch n := n.(type) {
	case core.Content:
		if e, ok := n.Payload.(core.ProviderEvent); ok {
			e.Data = nil
			n.Payload = e
		}
		return fmt.Sprintf("[%s] %s %s", n.Turn, n.Payload.EventType(), jsonOf(n.Payload))
	case core.OpDone:
		return fmt.Sprintf("op %d done ref=%s err=%s", n.Op, n.Ref, jsonOf(n.Err))
	case core.TurnBegan:
		return fmt.Sprintf("[%s] began ref=%s", n.Turn, n.Ref)
	case core.TurnEnded:
		return fmt.Sprintf("[%s] ended %s %s", n.Turn, n.Verdict, resultOf(n.Result))
	case core.RequestRaised:
		return fmt.Sprintf("[%s] request %s %s", n.Turn, n.Ref, jsonOf(n.Spec))
	case core.RequestWithdrawn:
		return "request withdrawn " + n.Ref
	case core.SessionChanged:
		n.Raw = nil
		return "session " + jsonOf(n)
	}
	return fmt.Sprintf("%T", n)
}

// resultOf shows what a result says, and nothing of what it does not.
func resultOf(r core.Result) string {
	raw, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	var said map[string]any
	if err := json.Unmarshal(raw, &said); err != nil {
		return err.Error()
	}
	delete(said, "Observed") // is the harness's own
	for name, v := range said {
		if v == nil || v == "" {
			delete(said, name)
		}
	}
	return jsonOf(said)
}

func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, c := range string(raw) {
		if c < 128 {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "\\u%04x", c) // golden files are ASCII
		}
	}
	return b.String()
}
