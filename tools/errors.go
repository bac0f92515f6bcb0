package tools

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/redact"
	"github.com/mark3labs/mcp-go/mcp"
)

// errorObject is the structured half of a failed call.
type errorObject struct {
	Error struct {
		Code      core.Code      `json:"code"`
		Message   string         `json:"message"`
		Hint      string         `json:"hint,omitempty"`
		Retryable bool           `json:"retryable"`
		Details   map[string]any `json:"details,omitempty"`
	} `json:"error"`
	nexts
}

// failure turns an error into a reply. An unexpected error is logged under an
// id, and the reply does not show its cause.
func (c *call) failure(err error) *mcp.CallToolResult {
	if core.IsContext(err) && c.ctx.Err() != nil {
		return c.errorResult(core.Errorf(core.CodeShuttingDown, "the call ended before its answer").
			WithHint("Ask again with inspect, await or list: they show what became of the work.").Retry())
	}
	e := core.AsError(err)
	if e.Code == core.CodeInternal {
		id := core.NewID(core.PrefixFailure)
		c.opts.Logger.Error("a call failed unexpectedly", slog.String("failure", id),
			slog.String("tool", c.tool), slog.Any("error", err))
		e = internalError(id)
	}
	return c.errorResult(e)
}

func internalError(id string) *core.Error {
	return core.Errorf(core.CodeInternal, "the server met an unexpected error, logged as %s", id).
		WithHint("Reading (inspect, replay, list) still works. Whether the call took effect is not known: inspect the present state before you repeat it.").
		WithDetail("failure", id)
}

// errorResult makes the reply for a coded error. The text half repeats every id
// and value of the details, since some clients show their model nothing else.
func (c *call) errorResult(e *core.Error) *mcp.CallToolResult {
	c.code = e.Code
	var o errorObject
	o.Error.Code, o.Error.Retryable = e.Code, e.Retryable
	o.Error.Message, o.Error.Hint = clip(shortenDirs(e.Message), maxErrorText), clip(c.hint(e), maxErrorText)
	o.Error.Details = c.details(e.Details)
	o.Next = c.offeredSuggestions(c.afterError(e, o.Error.Details))

	text := fmt.Sprintf("%s: %s.", o.Error.Code, strings.TrimRight(o.Error.Message, "."))
	if o.Error.Hint != "" {
		text += " " + o.Error.Hint
	}
	if facts := factLine(o.Error.Details); facts != "" {
		text += "\n" + facts
	}
	if l := nextLine(o.Next); l != "" {
		text += "\n" + l
	}
	return &mcp.CallToolResult{
		IsError:           true,
		Content:           []mcp.Content{mcp.NewTextContent(redact.Plain(text))},
		StructuredContent: rawJSON(encode(o)),
	}
}

// hint returns the hint of an error, with what depends on the arguments of the
// call.
func (c *call) hint(e *core.Error) string {
	names, ok := e.Details["providers"].([]string)
	if e.Code != core.CodeProviderUnknown || !ok {
		return shortenDirs(e.Hint)
	}
	hint := "list_providers shows which are ready." // the details list them all
	if near := nearestName(clip(c.given.word("provider"), maxShownValue), names); near != "" {
		hint = fmt.Sprintf("Did you mean %s? %s", near, hint)
	}
	return hint
}

// shortenDirs shortens the list of directories in "Searched: a, b, c. Install
// it".
func shortenDirs(s string) string {
	const searched = "Searched: "
	head, rest, ok := strings.Cut(s, searched)
	list, tail, end := strings.Cut(rest, ". ")
	if dirs := strings.Split(list, ", "); ok && end && len(dirs) > shownDirs+1 {
		return head + searched + firstOf(dirs, shownDirs) + ". " + tail
	}
	return s
}

// details converts domain values in an error into the objects of the MCP
// surface, at most maxErrorText bytes in all.
func (c *call) details(in map[string]any) map[string]any {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]any, len(in))
	room := maxErrorText
	for _, k := range slices.Sorted(maps.Keys(in)) {
		v := c.detail(in[k])
		if dirs, ok := v.([]string); ok && k == "searched" && len(dirs) > shownDirs+1 {
			v = append(dirs[:shownDirs:shownDirs], fmt.Sprintf("and %d more", len(dirs)-shownDirs))
		}
		if b := encode(v); len(b) > room {
			v = clip(strings.Trim(string(b), `"`), room)
		}
		room = max(0, room-len(encode(v)))
		out[k] = v
	}
	return out
}

func (c *call) detail(v any) any {
	switch v := v.(type) {
	case core.SessionView:
		return c.compactSession(v)
	case *core.SessionView:
		return c.compactSession(*v)
	case core.Session:
		return c.compactSession(core.SessionView{Session: v})
	case *core.Session:
		return c.compactSession(core.SessionView{Session: *v})
	case core.Turn:
		return c.compactTurn(v, nil)
	case *core.Turn:
		return c.compactTurn(*v, nil)
	}
	return v
}

// factLine returns details in prose, sorted by name.
func factLine(details map[string]any) string {
	var facts []string
	for _, k := range slices.Sorted(maps.Keys(details)) {
		if row, ok := details[k].(*compactObject); ok {
			facts = append(facts, row.String())
			continue
		}
		raw := encode(details[k])
		value := string(raw)
		var word string
		var words []string
		switch {
		case json.Unmarshal(raw, &word) == nil:
			value = word
		case json.Unmarshal(raw, &words) == nil:
			value = strings.Join(words, ", ")
		}
		facts = append(facts, k+": "+value)
	}
	if len(facts) == 0 {
		return ""
	}
	return clip("("+strings.Join(facts, "; ")+")", maxErrorText)
}

func firstNonEmpty(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}
