package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// From 2026-07-28 on there are no sessions: a request carries all its state, and
// the end of its response's stream cancels its call.

func (h *Handler) postModern(w http.ResponseWriter, r *http.Request, p *principal, e *envelope, body []byte) {
	if !e.hasID() || e.isResponse() {
		// Ignored: a call is cancelled by closing its response, and an id in a
		// notification could only name the call of another client.
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if refused := h.checkModern(r.Header, e, body); refused != nil {
		writeReply(w, statusOf(refused.Error.Code), *refused)
		return
	}
	c := newClient(h.nextID())
	x := exchange{
		client: c, envelope: e, body: body, key: c.id, only: onlyAccepted(r),
		status:       func(response any) int { return statusOf(errorCode(response)) },
		onWriteError: func(c *call) func() { return c.cancel },
	}
	if mcp.MCPMethod(e.Method) == mcp.MethodSubscriptionsListen {
		if x.only == typeJSON {
			http.Error(w, "the Accept header must list "+typeStream, http.StatusNotAcceptable)
			return
		}
		x.begin = func(_ *call, a *httpResponse) func() { return h.listen(p, c, a) }
	}
	ctx := context.WithValue(r.Context(), principalKey{}, p.name)
	h.serve(withDirectory(ctx, r.Header), w, p, x)
}

// listen lets a client receive notifications that belong to no call while its
// subscriptions/listen lasts.
func (h *Handler) listen(p *principal, c *client, a *httpResponse) (end func()) {
	a.open()
	f := newBroadcastQueue(c, h.log)
	stop := f.start(a)
	if err := h.srv.RegisterSession(p.ctx, f); err != nil {
		h.log.Error("registering a stream", "err", err)
	}
	return func() {
		h.srv.UnregisterSession(p.ctx, c.id)
		stop()
	}
}

// checkModern compares a request's headers with its body. They must agree,
// since proxies act on the headers.
func (h *Handler) checkModern(header http.Header, e *envelope, body []byte) *reply {
	refuse := func(code int, message string) *reply {
		r := errorReply(e.ID, code, message)
		return &r
	}
	stated, said := header.Get(mcp.HeaderProtocolVersion), e.Params.Meta.ProtocolVersion
	switch {
	case header.Get(mcp.HeaderLastEventID) != "":
		return refuse(mcp.HEADER_MISMATCH, "streams cannot be resumed: send the request again")
	case stated == "":
		return refuse(mcp.HEADER_MISMATCH, "the "+mcp.HeaderProtocolVersion+" header is missing")
	case said == "":
		return refuse(mcp.INVALID_PARAMS, "_meta lacks "+mcp.MetaKeyProtocolVersion)
	case stated != said:
		return refuse(mcp.HEADER_MISMATCH, "the "+mcp.HeaderProtocolVersion+" header and _meta name different versions")
	case !mcp.IsValidProtocolVersion(said):
		r := mcp.UnsupportedProtocolVersionError{Version: said, Supported: slices.Clone(mcp.ValidProtocolVersions)}.JSONRPCError()
		return &reply{JSONRPC: mcp.JSONRPC_VERSION, ID: e.ID, Error: &r.Error}
	}
	var message struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return refuse(mcp.PARSE_ERROR, "the message is not valid JSON")
	}
	method := mcp.MCPMethod(e.Method)
	if err := mcp.ValidateStandardHeaders(header.Get, said, method, message.Params); err != nil {
		return refuse(mcp.HEADER_MISMATCH, err.Error())
	}
	if method != mcp.MethodToolsCall {
		return nil
	}
	if tool := h.srv.GetTool(e.Params.Name); tool != nil {
		if err := mcp.ValidateParamHeadersLookup(lookup(header), &tool.Tool, message.Params); err != nil {
			return refuse(mcp.HEADER_MISMATCH, err.Error())
		}
	}
	return nil
}

func lookup(header http.Header) func(string) (string, bool) {
	return func(name string) (string, bool) {
		values := header.Values(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
}

// statusOf returns the HTTP status of a response with an error code, as
// 2026-07-28 prescribes.
func statusOf(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION,
		mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
