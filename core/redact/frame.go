package redact

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

// boundFrame returns a provider's frame without secrets, as JsonFrame does. Of a
// frame longer than MaxRaw only the beginning is kept, so only that is looked
// at: a copy of the whole would cost as much as the frame itself.
func (r *Redactor) boundFrame(raw json.RawMessage) json.RawMessage {
	if len(raw) <= core.MaxRaw {
		return core.JsonFrame(r.JSON(raw))
	}
	for room := core.MaxRaw / 2; ; room /= 2 { // in a string again it may grow
		if short := core.TruncatedFrame(len(raw), r.head(raw, room)); len(short) <= core.MaxRaw {
			return short
		}
	}
}

// head returns about the first max bytes of a longer frame without secrets. Of
// the string in which it ends, what may be the beginning of a secret is left
// out.
func (r *Redactor) head(raw json.RawMessage, max int) string {
	s := string(raw[:max])
	w := jsonWalk{r: r, names: true, partial: true}
	if out, ok := w.text(s); ok {
		return out
	}
	return r.open(s)
}

// rest rewrites a string that has no end here.
func (w *jsonWalk) rest(lit string) string {
	if w.key {
		return ""
	}
	level := jsonLevel{}
	if len(w.stack) > 0 {
		level = w.stack[len(w.stack)-1]
	}
	if w.secret || !level.object && level.secret {
		return `"` + Redacted
	}
	const longestEscape = len(`\ud83d\ude00`)
	for cut := range longestEscape {
		if len(lit)-cut < 1 {
			break
		}
		if s, ok := unquote(lit[:len(lit)-cut] + `"`); ok {
			q := quote(w.r.open(s))
			return q[:len(q)-1]
		}
	}
	return `"`
}

// open returns the beginning of a text that goes on, as far as it certainly has
// no secret.
func (r *Redactor) open(s string) string {
	var st scanState
	shown, _ := r.scan(&st, s, false)
	return shown
}
