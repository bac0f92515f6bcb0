package transport

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// ServeHTTP lets a request in, or says why not.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 {
		abandonBody(w) // until somebody wants to read it
	}
	if !h.expects(r) {
		http.Error(w, "this Host or Origin is not served", http.StatusForbidden)
		return
	}
	switch r.URL.Path {
	case pathLive:
		_, _ = io.WriteString(w, "ok\n")
	case PathReady:
		if h.isClosing() {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	case PathMCP, PathAbout:
		h.admit(w, r)
	default:
		http.NotFound(w, r)
	}
}

// abandonBody is for a body that nobody reads. net/http waits for what is left
// of it after the answer, without end if no deadline is set: enough strangers
// who announce a body and send none would fill the server.
func abandonBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strayTimeout)) // a writer that has none needs none
}

// expects reports whether a request was meant for this server. A page in a
// browser names itself in Origin, and in Host where it has given its own name
// our address.
func (h *Handler) expects(r *http.Request) bool {
	if h.opts.Hosts != nil && !slices.Contains(h.opts.Hosts, strings.ToLower(r.Host)) {
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		origin = strings.ToLower(origin)
		if own := "://" + strings.ToLower(r.Host); origin != "http"+own && origin != "https"+own {
			return false
		}
	}
	return true
}

// LoopbackHosts are the values of the Host header under which a server that
// listens on a loopback address can be meant.
func LoopbackHosts(addr *net.TCPAddr) []string {
	_, port, _ := net.SplitHostPort(addr.String())
	hosts := []string{strings.ToLower(addr.String())}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	return hosts
}

// admit finds out on whose behalf a request comes.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) {
	name, problem := h.authenticate(r)
	if problem != "" {
		challenge, message := `Bearer realm="harness-mcp"`, "a bearer token is needed"
		if problem == "invalid_token" {
			challenge += `, error="invalid_token"`
			message = "this token is not known here"
		}
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, message, http.StatusUnauthorized)
		return
	}
	p := h.principal(name)
	if p == nil {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	h.route(w, r, p)
}

// authenticate returns the bearer's name, or what is wrong.
func (h *Handler) authenticate(r *http.Request) (name, problem string) {
	given := r.Header.Values("Authorization")
	switch {
	case h.opts.Tokens == nil:
		return LocalPrincipal, ""
	case len(given) == 0:
		return "", "no_token"
	case len(given) > 1:
		return "", "invalid_token"
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	name, ok := h.opts.Tokens.principal(strings.TrimSpace(token))
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", "invalid_token"
	}
	return name, ""
}

// accepts reports whether the client takes a content type. One that does not
// say takes everything.
func accepts(r *http.Request, want string) bool {
	all := r.Header.Values("Accept")
	kind, _, _ := strings.Cut(want, "/")
	for _, line := range all {
		for _, item := range strings.Split(line, ",") {
			given, _, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(given)) {
			case want, kind + "/*", "*/*":
				return true
			}
		}
	}
	return len(all) == 0
}

// httpRefusal is a request refused for its body.
type httpRefusal struct {
	status  int
	message string
}

func (r *httpRefusal) write(w http.ResponseWriter) {
	abandonBody(w)
	w.Header().Set("Connection", "close") // what is left of the body is not read
	if r.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, r.message, r.status)
}

var (
	errBodyType  = &httpRefusal{http.StatusUnsupportedMediaType, "the Content-Type must be application/json"}
	errBodySize  = &httpRefusal{http.StatusRequestEntityTooLarge, "the message is too large"}
	errBodyRoom  = &httpRefusal{http.StatusTooManyRequests, "too many or too large messages at once: try again"}
	errBodySlow  = &httpRefusal{http.StatusRequestTimeout, "the body was too slow in coming"}
	errBodyShort = &httpRefusal{http.StatusBadRequest, "the body ended early"}
)

// readBody reads one message, within the room of its principal and within
// time. The room is held for the caller, also beside a refusal; the caller
// must release it.
func readBody(w http.ResponseWriter, r *http.Request, p *principal) (message []byte, held int, _ *httpRefusal) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, 0, errBodyType
	}
	if r.ContentLength > MaxMessage {
		return nil, 0, errBodySize
	}
	defer p.reading.Add(-1)
	if p.reading.Add(1) > maxBodies {
		return nil, 0, errBodyRoom
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))                      // a writer that has none needs none
	defer func() { _ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) }() // it ran while the body came
	size := int(r.ContentLength)
	if size < 0 {
		size = bodyStep // of a body of unknown size, to begin with
	}
	var buf []byte
	for filled := 0; ; size = min(2*size, MaxMessage+1) {
		if !p.calls.hold(size - len(buf)) {
			return nil, len(buf), errBodyRoom
		}
		buf = append(make([]byte, 0, size), buf...)[:size]
		n, err := io.ReadFull(r.Body, buf[filled:])
		filled += n
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, len(buf), errBodySlow
		case filled > MaxMessage:
			return nil, len(buf), errBodySize
		case err == nil && r.ContentLength >= 0, ended && r.ContentLength < 0:
			_ = control.SetReadDeadline(time.Time{})
			return buf[:filled], len(buf), nil
		case err != nil:
			return nil, len(buf), errBodyShort
		}
	}
}

// writeReply answers without a call.
func writeReply(w http.ResponseWriter, status int, r reply) {
	e, err := encode(r)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	defer e.free()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(e.buf.Bytes()) // the client may be gone
}

// errorCode returns the code of an error response, 0 for a result.
func errorCode(response any) int {
	switch r := response.(type) {
	case reply:
		if r.Error != nil {
			return r.Error.Code
		}
	case mcp.JSONRPCError:
		return r.Error.Code
	}
	return 0
}
