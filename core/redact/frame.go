package redact

import (
	"encoding/json"

	"github.com/harness-mcp/harness-mcp/core"
)

// boundFrame is JSON for a provider's frame. Of one longer than MaxRaw only the
// beginning is kept, and so only that is looked at: a copy of the whole, made
// to be cut afterwards, would cost as much as the frame itself.
func (r *Redactor) boundFrame(raw json.RawMessage) json.RawMessage {
	if len(raw) <= core.MaxRaw {
		return r.JSON(raw)
	}
	for room := core.MaxRaw / 2; ; room /= 2 { // in a string again it may grow
		if short := core.TruncatedFrame(len(raw), r.head(raw, room)); len(short) <= core.MaxRaw {
			return short
		}
	}
}

// head gives about the first max bytes of a longer frame without secrets. Of
// the string in which it ends, what may be the beginning of a secret is left
// out.
func (r *Redactor) head(raw json.RawMessage, max int) string {
	s := string(raw[:max])
	w := jsonWalk{r: r, names: true}
	var out []byte
	for i := 0; i < len(s); {
		if s[i] != '"' {
			if !w.structure(s[i]) {
				return r.open(s)
			}
			out = append(out, s[i])
			i++
			continue
		}
		end := stringEnd(s, i)
		if end < 0 {
			return string(append(out, w.rest(s[i:])...))
		}
		now, ok := w.literal(s[i:end])
		if !ok {
			return r.open(s)
		}
		out = append(out, now...)
		i = end
	}
	return string(out)
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

// open gives a text that goes on, as far as it is certain to hold no secret.
func (r *Redactor) open(s string) string {
	var st scanState
	shown, _ := r.scan(&st, s, false)
	return shown
}
