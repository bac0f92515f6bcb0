package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// The revisions up to 2025-11-25: initialize makes a session, every later
// request names it, a GET stream has the notifications that belong to no call.

// discard is a sink for notifications that nobody can receive.
type discard struct{}

func (discard) send(any) error { return nil }

func (h *Handler) postLegacy(w http.ResponseWriter, r *http.Request, p *principal, e *envelope, body []byte) {
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		http.Error(w, "this protocol version is not supported", http.StatusBadRequest)
		return
	}
	// A client that starts again may still send the id of a session that has
	// ended.
	if mcp.MCPMethod(e.Method) == mcp.MethodInitialize && e.hasID() && p.session(r.Header.Get(mcp.HeaderSessionID)) == nil {
		h.initialize(w, r, p, e, body)
		return
	}
	s := findSession(w, r, p)
	if s == nil {
		return
	}
	defer s.leave()
	switch {
	case e.isResponse():
		s.client.requests.resolve(*e)
		w.WriteHeader(http.StatusAccepted)
	case e.Method == "notifications/cancelled":
		s.cancelCall(string(e.Params.RequestID))
		w.WriteHeader(http.StatusAccepted)
	case !e.hasID():
		h.handle(s.ctx, s.client, e, body, discard{}, func(any) error { return nil })
		w.WriteHeader(http.StatusAccepted)
	default:
		h.serve(withDirectory(s.ctx, r.Header), w, p, exchange{
			client: s.client, envelope: e, body: body, key: s.key(e.ID), only: onlyAccepted(r),
			status:       func(any) int { return http.StatusOK },
			onWriteError: func(*call) func() { return nil },
			begin: func(c *call, _ *httpResponse) func() {
				s.cancelIfEarly(c, string(e.ID))
				return cancelWhenLost(r.Context(), c)
			},
		})
	}
}

// cancelWhenLost ends a call some time after its connection is lost. Up to
// 2025-11-25 that is no cancellation, so the call has lostGrace to do its work;
// then it must free its place. A call that has not started does not start. The
// returned function ends the watch.
func cancelWhenLost(connection context.Context, c *call) (end func()) {
	stop := context.AfterFunc(connection, func() {
		if !c.started.Load() {
			c.cancel()
			return
		}
		time.AfterFunc(lostGrace, c.cancel)
	})
	return func() { stop() }
}

// findSession returns the session that a request names, or writes the error
// response. The caller must call leave.
func findSession(w http.ResponseWriter, r *http.Request, p *principal) *httpSession {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		http.Error(w, "the "+mcp.HeaderSessionID+" header is missing: initialize first", http.StatusBadRequest)
		return nil
	}
	s := p.session(id)
	if s == nil || !s.enter() {
		http.Error(w, "there is no such session: initialize again", http.StatusNotFound)
		return nil
	}
	return s
}

// initialize makes a session, if the server accepts it.
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, p *principal, e *envelope, body []byte) {
	s := h.newSession(p)
	defer s.leave()
	opened := false
	h.serve(s.ctx, w, p, exchange{
		client: s.client, envelope: e, body: body, key: s.key(e.ID), only: onlyAccepted(r),
		onWriteError: func(*call) func() { return nil },
		status: func(response any) int {
			if errorCode(response) != 0 {
				return http.StatusBadRequest
			}
			if opened = h.openSession(s); !opened {
				return http.StatusServiceUnavailable
			}
			w.Header().Set(mcp.HeaderSessionID, s.id)
			return http.StatusOK
		},
	})
	if !opened {
		s.cancel()
	}
}

// get opens the stream of notifications that belong to no call.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, p *principal) {
	if !accepts(r, "text/event-stream") {
		http.Error(w, "the Accept header must list text/event-stream", http.StatusNotAcceptable)
		return
	}
	s := findSession(w, r, p)
	if s == nil {
		return
	}
	defer s.leave()
	stream, refused := p.calls.admit(s.ctx, h.nextID(), classStream, 0)
	if refused != nil {
		http.Error(w, refused.message, http.StatusTooManyRequests)
		return
	}
	defer stream.end()
	defer context.AfterFunc(r.Context(), stream.cancel)()
	a := newHTTPResponse(w, typeStream, h.opts.KeepAlive, stream.cancel)
	defer a.close()
	a.open()
	s.broadcasts.read(a, stream.ctx.Done())
}

// delete ends a session on behalf of its client.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, p *principal) {
	s := findSession(w, r, p)
	if s == nil {
		return
	}
	defer s.leave()
	h.endSession(s)
	w.WriteHeader(http.StatusNoContent)
}
