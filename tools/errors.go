package tools

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/harness-mcp/harness-mcp/core"
)

const (
	// prefixFailure begins the ids of unexpected errors: what a caller can name
	// to whoever reads the log.
	prefixFailure = "err_"
	// maxErrorText bounds message, hint and details of an error, in bytes each.
	maxErrorText = 2 << 10
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

// failure turns an error into a reply. An unexpected one is logged under an id
// and shows nothing of its cause.
func (c *call) failure(err error) *mcp.CallToolResult {
	if core.IsContext(err) && c.ctx.Err() != nil {
		return c.errorResult(core.Errorf(core.CodeShuttingDown, "the call ended before its answer; the work goes on").
			WithHint("Ask again with inspect, await or list.").Retry())
	}
	e := core.AsError(err)
	if e.Code == core.CodeInternal {
		id := core.NewID(prefixFailure)
		c.opts.Logger.Error("a call failed unexpectedly", slog.String("failure", id),
			slog.String("tool", c.tool), slog.Any("error", err))
		e = internalError(id)
	}
	return c.errorResult(e)
}

func internalError(id string) *core.Error {
	return core.Errorf(core.CodeInternal, "the server met an unexpected error, logged as %s", id).
		WithHint("Reading (inspect, replay, list) still works. Whether the call took effect is not known: look before you repeat it.").
		WithDetail("failure", id)
}

// errorResult shapes a coded error. The text half repeats every id and value of
// the details, since some clients show their model nothing else.
func (c *call) errorResult(e *core.Error) *mcp.CallToolResult {
	c.code = e.Code
	var o errorObject
	o.Error.Code, o.Error.Retryable = e.Code, e.Retryable
	o.Error.Message, o.Error.Hint = clip(fewDirs(e.Message), maxErrorText), clip(c.hint(e), maxErrorText)
	o.Error.Details = c.details(e.Details)
	o.Next = c.keepKnown(c.afterError(e, o.Error.Details))

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
		Content:           []mcp.Content{mcp.NewTextContent(core.Plain(text))},
		StructuredContent: rawJSON(encode(o)),
	}
}

// hint is an error's advice, with what only the call's own words show.
func (c *call) hint(e *core.Error) string {
	names, ok := e.Details["providers"].([]string)
	if e.Code != core.CodeProviderUnknown || !ok {
		return fewDirs(e.Hint)
	}
	hint := "list_providers shows which are ready." // the details name them all
	if near := nearest(clip(c.given.word("provider"), maxShownValue), names); near != "" {
		hint = fmt.Sprintf("Did you mean %s? %s", near, hint)
	}
	return hint
}

// shownDirs is how many of the directories that were searched an error names:
// a caller who does not believe it looks at list_providers.
const shownDirs = 2

// fewDirs shortens the list of directories in "Searched: a, b, c. Install it".
func fewDirs(s string) string {
	const searched = "Searched: "
	head, rest, ok := strings.Cut(s, searched)
	list, tail, end := strings.Cut(rest, ". ")
	if dirs := strings.Split(list, ", "); ok && end && len(dirs) > shownDirs+1 {
		return head + searched + some(dirs, shownDirs) + ". " + tail
	}
	return s
}

// details shows domain values in an error as the objects that callers know, and
// keeps them small.
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
		return c.sessionRow(v)
	case *core.SessionView:
		return c.sessionRow(*v)
	case core.Session:
		return c.sessionRow(core.SessionView{Session: v})
	case *core.Session:
		return c.sessionRow(core.SessionView{Session: *v})
	case core.Turn:
		return c.turnRow(v, nil)
	case *core.Turn:
		return c.turnRow(*v, nil)
	}
	return v
}

// factLine says details in prose, in order of name.
func factLine(details map[string]any) string {
	var facts []string
	for _, k := range slices.Sorted(maps.Keys(details)) {
		if row, ok := details[k].(*rowObject); ok {
			facts = append(facts, row.String())
			continue
		}
		raw := encode(details[k])
		said := string(raw)
		var word string
		var words []string
		switch {
		case json.Unmarshal(raw, &word) == nil:
			said = word
		case json.Unmarshal(raw, &words) == nil:
			said = strings.Join(words, ", ")
		}
		facts = append(facts, k+": "+said)
	}
	if len(facts) == 0 {
		return ""
	}
	return clip("("+strings.Join(facts, "; ")+")", maxErrorText)
}

// afterError suggests what helps after an error, from its code, its details and
// the arguments of the call.
func (c *call) afterError(e *core.Error, details map[string]any) []suggestion {
	var n nexts
	code := e.Code
	session, turn := c.idOf(details, "session_id", "session"), c.idOf(details, "turn_id", "turn")
	switch code {
	case core.CodeProviderUnknown, core.CodeProviderNotReady:
		a := args{}
		if p := c.given.word("provider"); code == core.CodeProviderNotReady && p != "" {
			a["provider"], a["refresh"] = p, true
		}
		n.suggest("list_providers", "what is installed here", a)
	case core.CodeTurnInProgress:
		c.afterTurnInProgress(&n, session, turn)
	case core.CodeQueueFull:
		n.suggest("await", "the queue moves on when a turn ends", args{"ids": []string{session}})
	case core.CodeSessionUnavailable, core.CodeSessionClosed:
		if e.Retryable {
			n.suggest("await", "until it is ready", args{"ids": []string{session}})
			break
		}
		n.suggest("start_session", "continues the conversation", args{"resume": session})
		n.suggest("replay", "what happened", args{"id": session, "view": "summary"})
	case core.CodeSessionInUse, core.CodeSessionUsed, core.CodeNoActiveTurn, core.CodeTurnNotActive, core.CodeTurnUsed,
		core.CodeResponseUncertain, core.CodeCommandInProgress:
		id := first(turn, session, c.given.word("id"))
		if code == core.CodeSessionInUse || code == core.CodeSessionUsed || code == core.CodeNoActiveTurn {
			id = first(session, id)
		}
		n.suggest("inspect", "where it stands", args{"id": id})
	case core.CodeRequestNotPending, core.CodeAction, core.CodeScope, core.CodeMissingAnswer, core.CodeResponseRejected:
		n.suggest("inspect", "what it asks and takes", args{"id": first(c.idOf(details, "request_id", "request"), c.given.word("id"))})
	case core.CodeNotFound:
		n.suggest("list", "the ids that there are", args{"kind": c.missingKind(e)})
	case core.CodeCapacity:
		kind := "sessions"
		if limit, _ := details["limit"].(string); strings.HasPrefix(limit, "max_processes") {
			kind = "processes"
		}
		n.suggest("list", "what can be closed", args{"kind": kind, "live": true})
	case core.CodeReplayUnavailable:
		n.suggest("inspect", "where it stands", args{"id": c.given.word("id")})
	}
	return slices.DeleteFunc(n.Next, func(s suggestion) bool { return !complete(s.Arguments) })
}

func (c *call) afterTurnInProgress(n *nexts, session, turn string) {
	n.suggest("await", "until the running turn ends", args{"ids": []string{first(turn, session)}})
	const shortPrompt = 300
	if p := c.given.word("prompt"); p != "" && len(p) <= shortPrompt {
		n.suggest("follow_up", "queues the prompt behind it", args{"session_id": session, "prompt": p})
	}
	n.suggest("interrupt", "stops it", args{"session_id": session})
}

// complete says whether no id of a suggestion is missing.
func complete(a args) bool {
	for _, v := range a {
		switch v := v.(type) {
		case string:
			if v == "" {
				return false
			}
		case []string:
			if slices.Contains(v, "") {
				return false
			}
		}
	}
	return true
}

// idOf finds an id in an error's details, by itself or inside an object, else
// in the arguments.
func (c *call) idOf(details map[string]any, name, object string) string {
	if s, ok := details[name].(string); ok {
		return s
	}
	if v, ok := details[object]; ok {
		var m map[string]any
		if json.Unmarshal(encode(v), &m) == nil {
			if s, ok := m[name].(string); ok {
				return s
			}
		}
	}
	return c.given.word(name)
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// missingKind is the kind of what was not found: the one that the error's hint
// speaks of, so that both say the same, else that of the call's id.
func (c *call) missingKind(e *core.Error) string {
	for _, kind := range []string{"sessions", "turns", "requests", "processes"} {
		if strings.Contains(e.Hint, strconv.Quote(kind)) {
			return kind
		}
	}
	return kindOfID(first(c.given.word("id"), c.given.word("request_id"), c.given.word("session_id")))
}

// kindOfID is the plural word of what an id of ours names; a chosen id is most
// likely a session's.
func kindOfID(id string) string {
	switch {
	case strings.HasPrefix(id, core.PrefixTurn):
		return "turns"
	case strings.HasPrefix(id, core.PrefixRequest):
		return "requests"
	case strings.HasPrefix(id, core.PrefixProcess):
		return "processes"
	}
	return "sessions"
}
