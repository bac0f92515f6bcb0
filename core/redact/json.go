package redact

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// maxNesting is how deep JSON inside JSON strings is looked into.
const maxNesting = 4

// JSON returns raw with every secret in its strings replaced, and every string
// under a key that SecretName names. Order, numbers, white space and structure
// stay as they are; it returns raw itself when nothing changed. JSON that
// is the text of a string is looked through as well. What is not JSON is read
// as text.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	return r.walk(raw, jsonWalk{names: true})
}

// SecretsIn returns the strings of a JSON configuration that are under names
// which look secret, such as the variables and headers of an MCP server. Of a
// header with a scheme ("Bearer ...") it returns what follows, too.
func SecretsIn(raw json.RawMessage) []string {
	var secrets []string
	w := jsonWalk{r: noSecrets, names: true, take: func(s string) {
		secrets = append(secrets, s)
		if _, rest, ok := strings.Cut(s, " "); ok {
			secrets = append(secrets, rest)
		}
	}}
	w.text(string(raw))
	return secrets
}

// noSecrets knows shapes only.
var noSecrets = New(nil)

// schema is JSON for a JSON Schema, whose keys name fields and do not hold
// their values.
func (r *Redactor) schema(raw json.RawMessage) json.RawMessage {
	return r.walk(raw, jsonWalk{})
}

// walk rewrites raw with w, or as plain text if raw is not JSON. It returns raw
// itself if nothing changed, so that callers keep the original bytes.
func (r *Redactor) walk(raw json.RawMessage, w jsonWalk) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	s := string(raw)
	w.r = r
	out, ok := w.text(s)
	if !ok {
		out = r.String(s)
	}
	if out == s {
		return raw
	}
	return json.RawMessage(out)
}

// jsonWalk rewrites the strings of one JSON text. It is a lexer, not a parser:
// order and spelling of all else stay.
type jsonWalk struct {
	r     *Redactor
	names bool // keys name what is secret
	depth int  // of JSON in strings

	partial bool // the text is the beginning of a longer one

	// subst, when set, sees every decoded string first; true means that it has
	// dealt with it.
	subst func(s string) (string, bool)

	// take, when set, sees every string that its name makes secret.
	take func(s string)

	stack  []jsonLevel
	key    bool // the next string is a key
	secret bool // the key of the next value names a secret
	named  string
}

// jsonLevel is an object or array that is open.
type jsonLevel struct {
	object bool
	secret bool // strings right in here are secret
	pair   bool // a name in here makes its value secret
}

// text returns the rewritten text, and false when s is not JSON.
func (w *jsonWalk) text(s string) (string, bool) {
	var out []byte
	kept := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c != '"' {
			if !w.structure(c) {
				return "", false
			}
			i++
			continue
		}
		end := stringEnd(s, i)
		if end < 0 && w.partial {
			return string(append(append(out, s[kept:i]...), w.rest(s[i:])...)), true
		}
		if end < 0 {
			return "", false
		}
		lit := s[i:end]
		now, ok := w.literal(lit)
		if !ok {
			return "", false
		}
		if now != lit {
			out = append(append(out, s[kept:i]...), now...)
			kept = end
		}
		i = end
	}
	if len(w.stack) > 0 && !w.partial {
		return "", false
	}
	if out == nil {
		return s, true
	}
	return string(append(out, s[kept:]...)), true
}

// structure follows a byte outside strings and reports whether JSON may have it.
func (w *jsonWalk) structure(c byte) bool {
	switch c {
	case '{', '[':
		var up jsonLevel
		if len(w.stack) > 0 {
			up = w.stack[len(w.stack)-1]
		}
		secret := w.secret || !up.object && up.secret
		if c == '{' {
			// A lone key names one value; its plural may hold many by name.
			secret = secret && (len(w.stack) > 0 && up.secret || strings.HasSuffix(w.named, "s"))
		}
		w.stack = append(w.stack, jsonLevel{object: c == '{', secret: secret})
		w.key, w.secret = c == '{', false
	case '}', ']':
		if len(w.stack) == 0 {
			return false
		}
		w.stack = w.stack[:len(w.stack)-1]
		w.key, w.secret = false, false
	case ',':
		w.key, w.secret = len(w.stack) > 0 && w.stack[len(w.stack)-1].object, false
	case ':':
		w.key = false
	case ' ', '\t', '\r', '\n', '+', '-', '.', 'E',
		'0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
		't', 'r', 'u', 'e', 'f', 'a', 'l', 's', 'n':
	default:
		return false
	}
	return true
}

// literal rewrites one string, given and returned in its quotes.
func (w *jsonWalk) literal(lit string) (string, bool) {
	s, ok := unquote(lit)
	if !ok {
		return "", false
	}
	now := ""
	if w.key {
		now = w.r.String(s)
		w.noteKey(s)
	} else {
		now = w.value(s)
	}
	if now == s {
		return lit, true
	}
	return quote(now), true
}

// noteKey records whether a key makes the value that follows secret.
func (w *jsonWalk) noteKey(key string) {
	if !w.names {
		return
	}
	level := &w.stack[len(w.stack)-1]
	w.named = key
	w.secret = level.secret || level.pair && key == "value" || SecretName(key)
}

// value rewrites a decoded string that is not a key. The order matters: a string
// that its name makes secret is replaced whole, before its content is looked at;
// then subst; then the secrets within it; then JSON within it, to maxNesting.
func (w *jsonWalk) value(s string) string {
	var level *jsonLevel
	if len(w.stack) > 0 {
		level = &w.stack[len(w.stack)-1]
	}
	secret := w.secret || level != nil && !level.object && level.secret
	w.secret = false
	switch {
	case s == "":
		return s
	case secret:
		if w.take != nil {
			w.take(s)
		}
		return Redacted
	}
	// Lists of variables and headers are often {"name": ..., "value": ...}.
	if level != nil && level.object && w.names && (w.named == "name" || w.named == "key") {
		level.pair = SecretName(s)
	}
	if w.subst != nil {
		if now, ok := w.subst(s); ok {
			return now
		}
	}
	s = w.r.String(s)
	if !w.names || w.depth == maxNesting || !looksJSON(s) {
		return s
	}
	inner := jsonWalk{r: w.r, names: true, depth: w.depth + 1, subst: w.subst, take: w.take}
	if now, ok := inner.text(s); ok {
		return now
	}
	return s
}

// unquote returns the text of a JSON string.
func unquote(lit string) (s string, ok bool) {
	if strings.IndexByte(lit, '\\') < 0 {
		return lit[1 : len(lit)-1], true
	}
	var v string // apart from s, which so stays off the heap
	err := json.Unmarshal([]byte(lit), &v)
	return v, err == nil
}

// looksJSON reports whether s may be a JSON object or array. It spares the lexer
// most strings.
func looksJSON(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 2 && (s[0] == '{' && s[len(s)-1] == '}' || s[0] == '[' && s[len(s)-1] == ']')
}

// stringEnd returns the index after the string that begins at i, or -1.
func stringEnd(s string, i int) int {
	for i++; ; {
		j := strings.IndexByte(s[i:], '"')
		if j < 0 {
			return -1
		}
		slashes := 0
		for k := i + j - 1; k >= i && s[k] == '\\'; k-- {
			slashes++
		}
		i += j + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

// Error returns e without secrets, in its cause and details as well. It returns
// e itself when there are none.
func (r *Redactor) Error(e *core.Error) *core.Error {
	if e == nil {
		return nil
	}
	c := *e
	c.Message, c.Hint = r.String(e.Message), r.String(e.Hint)
	changed := c.Message != e.Message || c.Hint != e.Hint
	if e.Err != nil {
		if was := e.Err.Error(); r.String(was) != was {
			c.Err, changed = errors.New(r.String(was)), true
		}
	}
	if len(e.Details) > 0 {
		// Details are shown as JSON; one that cannot be is not shown at all.
		was, err := json.Marshal(e.Details)
		if now := r.JSON(was); err != nil || string(now) != string(was) {
			c.Details, changed = nil, true
			_ = json.Unmarshal(now, &c.Details)
		}
	}
	if !changed {
		return e
	}
	return &c
}

// TurnError returns e without secrets: e itself when there are none.
func (r *Redactor) TurnError(e *core.TurnError) *core.TurnError {
	if e == nil {
		return nil
	}
	c := core.TurnError{Code: e.Code, Message: r.String(e.Message), Provider: r.JSON(e.Provider)}
	if c.Message == e.Message && string(c.Provider) == string(e.Provider) {
		return e
	}
	return &c
}
