package harness

import (
	"encoding/json"
	"fmt"

	"github.com/harness-mcp/harness-mcp/core"
)

// boundRaw keeps a notice's provider frame within MaxRaw, or drops it.
func boundRaw(n core.Notice, drop bool) core.Notice {
	fit := func(raw json.RawMessage) json.RawMessage {
		if drop {
			return nil
		}
		return rawJSON(raw)
	}
	same := n
	switch n := n.(type) {
	case core.OpDone:
		n.Raw = fit(n.Raw)
		return n
	case core.TurnBegan:
		n.Raw = fit(n.Raw)
		return n
	case core.Content:
		if len(n.Raw) == 0 {
			return same // nearly all have none, and what is given anew is garbage of every event
		}
		n.Raw = fit(n.Raw)
		return n
	case core.RequestRaised:
		n.Raw = fit(n.Raw)
		return n
	case core.RequestWithdrawn:
		n.Raw = fit(n.Raw)
		return n
	case core.TurnEnded:
		n.Raw = fit(n.Raw)
		return n
	case core.SessionChanged:
		n.Raw = fit(n.Raw)
		return n
	}
	return n
}

// long says whether a notice brings more than is kept of it: in the frame that
// it came with, or in a text that the adapter gathered.
func long(n core.Notice) bool {
	var raw, text int
	switch n := n.(type) {
	case core.Content:
		raw = len(n.Raw)
		switch p := n.Payload.(type) {
		case core.Message:
			text = len(p.Text)
		case core.Reasoning:
			text = len(p.Text)
		case core.ToolCompleted:
			text = len(p.Output)
		}
	case core.RequestRaised:
		raw = len(n.Raw)
	case core.TurnEnded:
		raw, text = len(n.Raw), len(n.Result.Text)
	}
	return max(raw, text) > core.MaxText
}

// rawJSON gives a frame as JSON that is at most about MaxRaw long: as it is, as
// a string when it is not JSON, or cut and marked.
func rawJSON(raw []byte) json.RawMessage {
	switch {
	case len(raw) == 0:
		return nil
	case len(raw) > core.MaxRaw:
		return core.TruncatedFrame(len(raw), core.Truncate(string(raw[:core.MaxRaw+1]), core.MaxRaw))
	case !json.Valid(raw):
		return core.EncodeData(string(raw))
	}
	return raw
}

// withLate adds to an event's data the turn that it came too late for.
func withLate(data json.RawMessage, turn string) json.RawMessage {
	id := core.EncodeData(turn)
	if len(data) < 2 || data[0] != '{' {
		return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s,"value":%s}`, id, data))
	}
	if string(data) == "{}" {
		return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s}`, id))
	}
	return json.RawMessage(fmt.Sprintf(`{"late_turn_id":%s,%s`, id, data[1:]))
}
