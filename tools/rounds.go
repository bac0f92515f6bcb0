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

// Bounds of round trips.
const (
	// maxRounds is how often one call asks its client for input: clients give
	// up after ten.
	maxRounds = 8
	// maxState is the longest state that is looked at, in bytes.
	maxState = 8 << 10
)

// roundState is what a client of 2026-07-28 carries from one round of a call to
// the next. It is signed: a client can neither make one up nor use it for
// another call or another owner.
type roundState struct {
	Tool     string   `json:"tool"`
	Owner    string   `json:"owner"`
	Args     []byte   `json:"args"`           // a hash of the arguments
	Turn     string   `json:"turn,omitempty"` // what the first round began
	Requests []string `json:"requests"`       // what the client was asked, by id
	Round    int      `json:"round"`
}

// sealer signs states. Its key lives as long as the server: requests of a
// server that is gone have expired.
type sealer struct{ key []byte }

func (s sealer) mac(body string) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(body))
	return m.Sum(nil)
}

func (s sealer) seal(st roundState) string {
	body := base64.RawURLEncoding.EncodeToString(encode(st))
	return body + "." + base64.RawURLEncoding.EncodeToString(s.mac(body))
}

func (s sealer) open(sealed string) (st roundState, ok bool) {
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

// inputRequired is the reply that asks a client to have its user answer, and to
// make the call again.
func (c *call) inputRequired(shown []open) *mcp.CallToolResult {
	st := roundState{Tool: c.tool, Owner: c.caller.Owner, Args: c.argsHash(), Round: c.round.Round + 1, Turn: c.round.Turn}
	if c.begun != "" {
		st.Turn = c.begun
	}
	b := server.NewInputRequestBuilder("")
	for _, o := range shown {
		st.Requests = append(st.Requests, o.request.ID)
		b.Elicit(o.request.ID, o.form.params())
	}
	return b.RequestState(c.seal.seal(st)).ToolResult()
}

func (c *call) argsHash() []byte {
	sum := sha256.Sum256(c.given.canonical())
	return sum[:12]
}

func (c *call) tooManyRounds() bool { return c.round.Round >= maxRounds }

// nextRound takes the answers that a client brings with a call that it makes
// again. A person's answer counts even if the client does not wait for the
// rest of the call.
func (c *call) nextRound(req mcp.CallToolRequest) error {
	if req.Params.RequestState == "" {
		return nil
	}
	st, ok := c.seal.open(req.Params.RequestState)
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
			c.said(ctx, id, core.AskedNoAnswer)
			continue
		}
		c.answered(ctx, open{request: *r.Request, form: f}, res)
	}
	return nil
}

// begunBefore gives the turn that an earlier round of this call has begun.
func (c *call) begunBefore(ctx context.Context) (core.Turn, bool, error) {
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

// begin begins a turn, unless an earlier round of this call has.
func (c *call) begin(ctx context.Context, start func() (core.Turn, error)) (core.Turn, error) {
	t, before, err := c.begunBefore(ctx)
	if !before {
		t, err = start()
	}
	c.begun = t.ID
	return t, err
}
