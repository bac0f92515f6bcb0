package transport

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
)

// ServeHTTP implements http.Handler. It checks Host and Origin, then the path,
// then the bearer token.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 {
		limitUnreadBody(w) // until readBody extends it
	}
	if !h.hostAllowed(r) {
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
	case PathMCP, PathMCP + "/", PathAbout:
		h.authorize(w, r)
	default:
		http.NotFound(w, r)
	}
}

// hostAllowed reports whether Host and Origin are allowed. A page in a browser
// names itself in Origin, and in Host if its own name resolves to our address
// (DNS rebinding).
func (h *Handler) hostAllowed(r *http.Request) bool {
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

// LoopbackHosts returns the values of the Host header that are valid for a
// server that listens on a loopback address.
func LoopbackHosts(addr *net.TCPAddr) []string {
	_, port, _ := net.SplitHostPort(addr.String())
	hosts := []string{strings.ToLower(addr.String())}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	return hosts
}

// authorize finds the principal of a request and routes it.
func (h *Handler) authorize(w http.ResponseWriter, r *http.Request) {
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

// authenticate returns the name of the bearer, or what is wrong.
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
