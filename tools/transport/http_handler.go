package transport

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The paths that a Handler serves.
const (
	PathMCP   = "/mcp"
	pathLive  = "/healthz"
	PathReady = "/readyz"
	PathAbout = "/about"
)

// HTTPOptions configure a Handler. The zero value serves every client as
// LocalPrincipal: it is fit for a Unix socket and nothing else.
type HTTPOptions struct {
	// Options hold for each principal: MaxCalls is how many of its tool calls
	// run at once, over all its connections.
	Options

	// Tokens are the accepted bearer tokens; nil means every client that can
	// connect.
	Tokens *Tokens

	// Hosts are the values of the Host header that are served, with the port;
	// nil means all. A server on a loopback address needs them against DNS
	// rebinding: the name of a web page can resolve to that address.
	Hosts []string

	// About is returned by PathAbout as JSON to every authorized client; nil is
	// null.
	About any

	// SessionTTL is how long a legacy session is kept without a request and
	// without a stream; 0 means DefaultSessionTTL.
	SessionTTL time.Duration

	// KeepAlive is the time between comments on a response that waits; 0
	// means DefaultKeepAlive.
	KeepAlive time.Duration
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	o.Options = o.Options.withDefaults()
	if o.SessionTTL <= 0 {
		o.SessionTTL = DefaultSessionTTL
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = DefaultKeepAlive
	}
	return o
}

// Handler serves MCP over streamable HTTP at PathMCP, in both protocol eras,
// liveness at /healthz, readiness at /readyz, and a description of the server
// at PathAbout.
//
// A request is checked in this order: its source (Host, Origin), its principal
// (bearer token), the limits, and only then its contents. Everything that a
// request can reach belongs to its principal: sessions, calls in flight with
// their ids, and requests to the client. So a principal can neither see, cancel
// nor answer for another, and has limits of its own. Principal returns to
// handlers whom they serve.
//
// It must be closed. It is safe for concurrent use.
type Handler struct {
	dispatcher
	opts   HTTPOptions
	ctx    context.Context // of everything that does not belong to one request
	cancel context.CancelFunc
	swept  chan struct{}
	prefix string        // of the ids of this handler's clients
	last   atomic.Uint64 // number of the last client or stream

	mu         sync.Mutex
	principals map[string]*principal
	closing    bool
}

// NewHandler returns a Handler for the tools of srv. Several transports may
// serve one srv.
func NewHandler(srv *server.MCPServer, opts HTTPOptions) *Handler {
	opts = opts.withDefaults()
	h := &Handler{
		dispatcher: dispatcher{srv: srv, log: opts.Log},
		opts:       opts,
		swept:      make(chan struct{}),
		prefix:     "http-" + rand.Text()[:8] + "-", // unique among the transports of srv
		principals: make(map[string]*principal),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	go h.sweep()
	return h
}

// Close refuses new calls, ends the streams, and gives the calls in flight
// Options.Grace before their contexts end. It returns when they have ended, or
// abandonAfter later. All sessions end with it.
func (h *Handler) Close() {
	h.mu.Lock()
	first := !h.closing
	h.closing = true
	h.mu.Unlock()
	if first {
		h.drain()
		h.cancel()
	}
	<-h.swept
}

func (h *Handler) drain() {
	var wg sync.WaitGroup
	for _, p := range h.principalsCopy() {
		wg.Go(func() {
			if left := p.calls.drain(h.opts.Grace); left > 0 {
				h.log.Warn("calls still running at the end of the server", "principal", p.name, "calls", left)
			}
			for _, s := range p.sessionsCopy() {
				h.endSession(s)
			}
		})
	}
	wg.Wait()
}

func (h *Handler) principalsCopy() []*principal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.principals))
}

// principal returns the state of a principal, or nil while the server ends.
// There are no more of them than names in Tokens.
func (h *Handler) principal(name string) *principal {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil
	}
	p := h.principals[name]
	if p == nil {
		p = newPrincipal(h.ctx, name, h.opts.MaxCalls)
		h.principals[name] = p
	}
	return p
}

func (h *Handler) isClosing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closing
}

// nextID returns the id of a client or a stream. It is not secret and grants no
// access.
func (h *Handler) nextID() string {
	return h.prefix + strconv.FormatUint(h.last.Add(1), 10)
}

// route serves a request that was authorized.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, p *principal) {
	switch {
	case r.URL.Path == PathAbout:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(h.opts.About) // the client may have disconnected
	case r.Method == http.MethodPost:
		h.post(w, r, p)
	case mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		w.Header().Set("Allow", "POST")
		http.Error(w, "sessions and their streams ended with protocol revision "+mcp.ProtocolVersion20260728, http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet:
		h.get(w, r, p)
	case r.Method == http.MethodDelete:
		h.delete(w, r, p)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// post serves one message.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, p *principal) {
	if !accepts(r, typeJSON) && !accepts(r, typeStream) {
		http.Error(w, "the Accept header must list "+typeJSON+" and "+typeStream, http.StatusNotAcceptable)
		return
	}
	if _, ok := readDirectory(r.Header.Get(HeaderDirectory)); !ok {
		http.Error(w, "the "+HeaderDirectory+" header is no absolute path, percent-encoded", http.StatusBadRequest)
		return
	}
	body, held, refused := readBody(w, r, p)
	defer func() { p.calls.releaseBytes(held) }()
	if refused != nil {
		refused.write(w)
		return
	}
	e, malformed := decodeEnvelope(body)
	switch {
	case malformed != nil:
		writeReply(w, http.StatusBadRequest, errorReply(nil, malformed.code, malformed.message))
	case e.modern() || mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		h.postModern(w, r, p, &e, body)
	default:
		h.postLegacy(w, r, p, &e, body)
	}
}
