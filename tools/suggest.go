package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// suggestion is a call that a client can make unchanged.
type suggestion struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Why       string         `json:"why"`

	rest *turnObject // the turn whose truncated answer this call reads on
}

// args are the arguments of a suggestion.
type args = map[string]any

// nexts is embedded in every object that can be a whole reply, right after its
// ids and status.
type nexts struct {
	Next []suggestion `json:"next,omitempty"`
}

func (n *nexts) nextCalls() *[]suggestion { return &n.Next }

// suggest adds a call. The first maxNext are shown.
func (n *nexts) suggest(tool, why string, a args) {
	n.Next = append(n.Next, suggestion{Tool: tool, Arguments: a, Why: why})
}

// suggestRest adds the call that reads the rest of a truncated answer. It is
// shown only in a half of the reply in which the answer is truncated.
func (n *nexts) suggestRest(t *turnObject) {
	n.Next = append(n.Next, suggestion{Tool: "inspect", Why: "the answer from where it is cut", rest: t})
}

// visibleSuggestions returns the suggestions of a half of the reply, after
// truncation.
func visibleSuggestions(next []suggestion) []suggestion {
	var out []suggestion
	for _, s := range next {
		if s.rest != nil {
			if !s.rest.Truncated {
				continue
			}
			s.Arguments = args{"id": s.rest.TurnID, "offset": s.rest.truncatedAt}
		}
		if len(out) < maxNext {
			out = append(out, s)
		}
	}
	return out
}

// offeredSuggestions drops suggestions of tools that this server does not
// offer, and all after the first maxNext that are always shown.
func (c *call) offeredSuggestions(next []suggestion) []suggestion {
	out := next[:0]
	sure := 0
	for _, n := range next {
		if !c.offers(n.Tool) || sure == maxNext {
			continue
		}
		if n.rest == nil {
			sure++
		}
		out = append(out, n)
	}
	return out
}

// nextLine returns suggestions in prose.
func nextLine(next []suggestion) string {
	if len(next) == 0 {
		return ""
	}
	calls := make([]string, len(next))
	for i, n := range next {
		calls[i] = fmt.Sprintf("%s %s (%s)", n.Tool, encode(n.Arguments), n.Why)
	}
	return "Next: " + strings.Join(calls, "; or ") + "."
}

// afterTurn suggests calls that follow a turn in its present state.
func (c *call) afterTurn(o *turnObject) {
	turn, session := o.TurnID, o.SessionID
	if len(o.PendingRequests) > 0 {
		if q, ok := o.PendingRequests[0].(*requestObject); ok {
			c.suggestAnswers(&o.nexts, q)
			return
		}
	}
	switch {
	case !o.Status.Ended():
		o.suggest("await", "waits for it", args{"ids": []string{turn}})
		if o.Status == core.TurnIsQueued {
			o.suggest("interrupt", "takes it out of the queue", args{"session_id": session, "turn_id": turn})
		}
	case o.Status == core.TurnDoneCompleted:
		o.suggestRest(o)
		o.suggest("replay", "the steps it took", args{"id": turn, "view": "summary"})
		switch {
		case o.resumable:
			o.suggest("start_session", "continues the conversation", args{"resume": session})
		case o.sessionCloses:
			o.suggest("await", "waits for the end of its session", args{"ids": []string{session}})
		case !o.sessionEnded:
			o.suggest("close", "ends the session when you are done", args{"id": session})
		}
	default:
		o.suggestRest(o)
		o.suggest("replay", "what led to it", args{"id": turn, "view": "summary"})
		o.suggest("inspect", "what the session can still do", args{"id": session})
	}
}

// settingsNotStored are the arguments that a resume needs again.
var settingsNotStored = []string{"env", "mcp_servers", "provider_options"}

// canResume reports whether a session that has ended can be continued with its
// id alone: its provider can resume a conversation, no sign-in is missing, and
// this call started it with nothing that is not stored.
func (c *call) canResume(provider, transport string, failures ...*turnError) bool {
	for _, e := range failures {
		if e != nil && e.Code == core.TurnAuthRequired {
			return false
		}
	}
	for _, name := range settingsNotStored {
		if _, ok := c.given[name]; ok {
			return false
		}
	}
	t, known := c.h.ProviderSpec(provider).Transport(transport)
	return !known || t.Capabilities.Resume.OK()
}

// afterSession suggests calls that follow a session in its present state.
func (c *call) afterSession(o *sessionObject) {
	id := o.SessionID
	switch {
	case len(o.PendingRequests) > 0:
		if q, ok := o.PendingRequests[0].(*requestObject); ok {
			c.suggestAnswers(&o.nexts, q)
		}
	case !o.Live:
		o.suggest("replay", "what happened", args{"id": id, "view": "summary"})
		if c.canResume(o.Provider, o.Transport, o.Error, o.lastError()) {
			o.suggest("start_session", "continues the conversation", args{"resume": id})
		}
	case o.CurrentTurn != nil:
		o.suggest("await", "waits for its turn", args{"ids": []string{o.CurrentTurn.TurnID}})
		o.suggest("replay", "what it has done so far", args{"id": id, "view": "summary"})
	case o.Status == core.StatusIdle:
		o.suggest("send_message", "with your own prompt", args{"session_id": id, "prompt": "<your prompt>"})
		o.suggest("close", "ends it when you are done", args{"id": id})
	case o.Status == core.StatusClosing:
		o.suggest("await", "waits for its end", args{"ids": []string{id}})
	default:
		o.suggest("await", "waits until it is ready", args{"ids": []string{id}})
	}
}

func (c *call) afterRequest(o *requestObject) {
	c.suggestAnswers(&o.nexts, o)
	if o.Status == core.RequestPending {
		return
	}
	if r, err := c.h.Get(c.ctx, c.caller.Owner, o.TurnID); err == nil && r.Done() {
		o.suggest("inspect", "how its turn ended", args{"id": o.TurnID})
		return
	}
	o.suggest("await", "what the turn does next", args{"ids": []string{o.TurnID}})
}

// suggestAnswers adds calls that answer a request or, where only a person may
// answer, the call that waits for the answer.
func (c *call) suggestAnswers(n *nexts, q *requestObject) {
	if q.Status != core.RequestPending {
		return
	}
	if c.opts.AnswerByUser || q.asking || q.AskedUser == core.AskedNoAnswer {
		n.suggest("await", "until a person has answered", args{
			"ids": []string{q.TurnID}, "ignore_requests": []string{q.RequestID}})
	}
	if c.opts.AnswerByUser {
		return
	}
	respond := func(why string, a args) {
		a["request_id"] = q.RequestID
		n.suggest("respond", why, a)
	}
	for _, a := range q.Actions {
		switch a {
		case core.ActionAnswer:
			q.suggestAnswer(respond)
		case core.ActionApprove:
			q.suggestApproval(respond)
		case core.ActionDeny:
			respond("refuses this step, the turn goes on", args{"action": a})
		case core.ActionCancel:
			respond("refuses and stops the turn", args{"action": a})
		}
	}
}

// suggestApproval adds approve. Where the agent does not offer to approve just
// once, it includes the scope, so that the caller sees it.
func (o *requestObject) suggestApproval(respond func(string, args)) {
	if len(o.Scopes) == 0 || slices.Contains(o.Scopes, core.ScopeOnce) {
		respond("allows it; read it first", args{"action": core.ActionApprove})
		return
	}
	respond("allows it and all alike, which is all that is offered; read it first",
		args{"action": core.ActionApprove, "scope": o.Scopes[0]})
}

// suggestAnswer adds the choices of a single question, or one call that answers
// several.
func (o *requestObject) suggestAnswer(respond func(string, args)) {
	switch {
	case len(o.Questions) == 1:
		for i, ch := range o.Questions[0].Choices {
			if i < shownChoices {
				respond("answers: "+oneLine(firstNonEmpty(ch.Label, ch.Value), maxPreview), args{"action": "answer", "answer": ch.Value})
			}
		}
	case len(o.Questions) > 1:
		answers := map[string][]string{}
		for _, x := range o.Questions {
			if len(x.Choices) == 0 {
				return
			}
			answers[x.ID] = []string{x.Choices[0].Value}
		}
		respond("answers all, here with the first choices", args{"action": "answer", "answers": answers})
	}
}

func (c *call) afterProcess(o *processObject) {
	if o.Status.Ended() {
		o.suggestOutput()
		if o.Leftover > 0 {
			o.suggest("close", "ends what it left running", args{"id": o.ProcessID})
		}
		return
	}
	if o.Matched != nil {
		from := o.Matched.Seq
		if o.Output != nil {
			from = max(from, o.Output.To)
		}
		o.suggest("replay", "what it says from here on", args{"id": o.ProcessID, "after": from})
	}
	if o.Unmatched {
		o.suggestPattern()
	}
	if o.dialogueStep && len(o.Next) > 0 {
		return
	}
	if !o.Unmatched {
		o.suggest("await", "waits for its end", args{"ids": []string{o.ProcessID}})
	}
	o.suggestOutput()
	o.suggest("close", "stops it", args{"id": o.ProcessID})
}

// suggestOutput adds the call that shows more of the output than the reply: the
// last lines, or all of it if those are shown. It does not use the tail of
// replay, which counts events and not lines.
func (o *processObject) suggestOutput() {
	written := o.StdoutBytes + o.StderrBytes
	switch {
	case o.Output != nil:
	case o.Tail == "" && (written > 0 || !o.Status.Ended()):
		o.suggest("inspect", "its last lines", args{"id": o.ProcessID})
	case written > int64(len(o.Tail)):
		o.suggest("replay", "all of its output", args{"id": o.ProcessID, "types": []string{string(core.TypeStdout), string(core.TypeStderr)}})
	}
}

// suggestPattern adds the call that continues the search for a pattern, from
// the same cursor as this one: the beginning of an unfinished line is part of
// the line.
func (o *processObject) suggestPattern() {
	a := args{"ids": []string{o.ProcessID}, "pattern": o.pattern}
	if o.after > 0 {
		a["after"] = o.after
	}
	o.suggest("await", "goes on looking for it", a)
}
