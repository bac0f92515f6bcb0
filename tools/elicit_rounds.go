package tools

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/harness-mcp/harness-mcp/core"
)

// roundState is what a client of 2026-07-28 carries from one round of a call to
// the next. It is signed: a client can neither forge one nor use it for another
// call or another owner.
type roundState struct {
	Tool     string   `json:"tool"`
	Owner    string   `json:"owner"`
	Args     []byte   `json:"args"`           // a hash of the arguments
	Turn     string   `json:"turn,omitempty"` // the turn that the first round started
	Requests []string `json:"requests"`       // what the client was asked, by id
	Round    int      `json:"round"`
}

// stateSigner signs states. Its key lives as long as the server: a state of an
// earlier server is refused, and its requests have expired.
type stateSigner struct{ key []byte }

func (s stateSigner) mac(body string) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(body))
	return m.Sum(nil)
}

func (s stateSigner) sign(st roundState) string {
	body := base64.RawURLEncoding.EncodeToString(encode(st))
	return body + "." + base64.RawURLEncoding.EncodeToString(s.mac(body))
}

func (s stateSigner) verify(sealed string) (st roundState, ok bool) {
	body, sum, found := strings.Cut(sealed, ".")
	if !found || len(sealed) > maxState {
		return st, false
	}
	mac, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, s.mac(body)) {
		return st, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return st, false
	}
	return st, json.Unmarshal(raw, &st) == nil
}

// inputRequired returns the reply that asks a client to have its user answer
// and to make the call again.
func (c *call) inputRequired(shown []openForm) *mcp.CallToolResult {
	st := roundState{Tool: c.tool, Owner: c.caller.Owner, Args: c.argsHash(), Round: c.round.Round + 1, Turn: c.round.Turn}
	if c.startedTurn != "" {
		st.Turn = c.startedTurn
	}
	b := server.NewInputRequestBuilder("")
	for _, o := range shown {
		st.Requests = append(st.Requests, o.request.ID)
		b.Elicit(o.request.ID, o.form.params())
	}
	return b.RequestState(c.signer.sign(st)).ToolResult()
}

func (c *call) argsHash() []byte {
	sum := sha256.Sum256(c.given.canonical())
	return sum[:12]
}

func (c *call) tooManyRounds() bool { return c.round.Round >= maxRounds }

// resumeRound applies the answers that a client sends with a call that it makes
// again. An answer of the user counts even if the client does not wait for the
// rest of the call.
func (c *call) resumeRound(req mcp.CallToolRequest) error {
	if req.Params.RequestState == "" {
		return nil
	}
	st, ok := c.signer.verify(req.Params.RequestState)
	if !ok || st.Tool != c.tool || st.Owner != c.caller.Owner || !hmac.Equal(st.Args, c.argsHash()) {
		return core.Errorf(core.CodeInvalidArgument, "requestState is not of this call, or of a server that has ended").
			WithHint("Nothing was started. list {kind: \"turns\"} shows what an earlier call has begun.")
	}
	c.round = st
	ctx := context.WithoutCancel(c.ctx)
	for _, id := range st.Requests {
		r, err := c.h.Get(ctx, c.caller.Owner, id)
		if err != nil || r.Request == nil || r.Session == nil || r.Request.Status != core.RequestPending {
			continue // it has been answered, or has ended
		}
		res := server.ElicitationResponse(req.Params.InputResponses, id)
		f := newForm(r.Session.Session, *r.Request, server.RequestProtocolVersion(c.ctx))
		if res == nil || f == nil {
			c.recordUnanswered(ctx, id, core.AskedNoAnswer)
			continue
		}
		c.applyFormResult(ctx, openForm{request: *r.Request, form: f}, res)
	}
	return nil
}

// earlierRoundTurn returns the turn that an earlier round of this call has
// started.
func (c *call) earlierRoundTurn(ctx context.Context) (core.Turn, bool, error) {
	if c.round.Turn == "" {
		return core.Turn{}, false, nil
	}
	r, err := c.h.Get(ctx, c.caller.Owner, c.round.Turn)
	if err != nil {
		return core.Turn{}, true, err
	}
	if r.Turn == nil {
		return core.Turn{}, true, core.Errorf(core.CodeInternal, "%s is no turn", c.round.Turn)
	}
	return *r.Turn, true, nil
}

// startTurnOnce starts a turn, unless an earlier round of this call has.
func (c *call) startTurnOnce(ctx context.Context, start func() (core.Turn, error)) (core.Turn, error) {
	t, before, err := c.earlierRoundTurn(ctx)
	if !before {
		t, err = start()
	}
	c.startedTurn = t.ID
	return t, err
}
