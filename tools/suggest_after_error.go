package tools

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// afterError suggests calls after an error, from its code, its details and the
// arguments of the call.
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
		if r, err := c.h.Get(c.ctx, c.caller.Owner, session); err == nil && r.Session != nil {
			if o := c.session(*r.Session); !o.Live && c.canResume(o.Provider, o.Transport, o.Error, o.lastError()) {
				n.suggest("start_session", "continues the conversation", args{"resume": session})
			}
		}
		n.suggest("replay", "what happened", args{"id": session, "view": "summary"})
	case core.CodeSessionInUse, core.CodeSessionUsed, core.CodeNoActiveTurn, core.CodeTurnNotActive, core.CodeTurnUsed,
		core.CodeResponseUncertain, core.CodeCommandInProgress:
		id := firstNonEmpty(turn, session, c.given.word("id"))
		if code == core.CodeSessionInUse || code == core.CodeSessionUsed || code == core.CodeNoActiveTurn {
			id = firstNonEmpty(session, id)
		}
		n.suggest("inspect", "where it stands", args{"id": id})
	case core.CodeRequestNotPending, core.CodeAction, core.CodeScope, core.CodeMissingAnswer, core.CodeResponseRejected:
		n.suggest("inspect", "what it asks and takes", args{"id": firstNonEmpty(c.idOf(details, "request_id", "request"), c.given.word("id"))})
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
	return slices.DeleteFunc(n.Next, func(s suggestion) bool { return !hasAllIDs(s.Arguments) })
}

func (c *call) afterTurnInProgress(n *nexts, session, turn string) {
	n.suggest("await", "until the running turn ends", args{"ids": []string{firstNonEmpty(turn, session)}})
	if p := c.given.word("prompt"); p != "" && len(p) <= shortPrompt {
		n.suggest("follow_up", "queues the prompt behind it", args{"session_id": session, "prompt": p})
	}
	n.suggest("interrupt", "stops it", args{"session_id": session})
}

// hasAllIDs reports whether no id of a suggestion is empty.
func hasAllIDs(a args) bool {
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

// idOf returns an id from an error's details, at the top or inside an object,
// else from the arguments.
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

// missingKind returns the kind of what was not found: the one that the error's
// hint names, else that of the call's id.
func (c *call) missingKind(e *core.Error) string {
	for _, kind := range []string{"sessions", "turns", "requests", "processes"} {
		if strings.Contains(e.Hint, strconv.Quote(kind)) {
			return kind
		}
	}
	return kindOfID(firstNonEmpty(c.given.word("id"), c.given.word("request_id"), c.given.word("session_id")))
}

// kindOfID returns the plural name of the kind of an id. An id chosen by a
// caller is most likely a session's.
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
