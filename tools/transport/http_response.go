package transport

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

var (
	errResponseSent = errors.New("the response was sent already")
	errNoStream     = errors.New("the client accepts no event stream")
)

// The content types of a response.
const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// httpResponse is the HTTP response to one message of a client. It is one JSON
// object, unless something is sent before the response or the response takes
// longer than the keep-alive time: then it is an event stream, in which
// comments keep the connection alive. For a client that accepts only one of the
// two it is always that one: without a stream nothing can be sent before the
// response; a stream begins with the response at the latest, but an error whose
// status is not 200 is always JSON. It is a sink, and safe for concurrent use.
type httpResponse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	every   time.Duration // between comments
	only    string        // the one content type that the client accepts, or ""

	mu           sync.Mutex
	streaming    bool
	done         bool
	err          error
	timer        *time.Timer
	onWriteError func() // called once, after a failed write
}

// newHTTPResponse prepares the response. onWriteError is called once after a
// failed write; it may be nil. The caller must call close.
func newHTTPResponse(w http.ResponseWriter, only string, every time.Duration, gone func()) *httpResponse {
	a := &httpResponse{w: w, only: only, control: http.NewResponseController(w), every: every, onWriteError: gone}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(every, a.keepAlive)
	return a
}

// open turns the response into a stream at once.
func (a *httpResponse) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeEvent(": open\n\n", nil, "")
}

// send sends a message before the response. It returns errNoStream if the
// client accepts JSON only.
func (a *httpResponse) send(message any) error {
	if a.only == typeJSON {
		return errNoStream
	}
	return a.write(message, func(body []byte) { a.writeEvent("event: message\ndata: ", body, "\n") })
}

// finish sends the response; nothing follows it. The status counts only if
// the response is no stream by then.
func (a *httpResponse) finish(status int, message any) error {
	return a.write(message, func(body []byte) {
		if a.streaming || a.only == typeStream && status == http.StatusOK {
			a.writeEvent("event: message\ndata: ", body, "\n")
		} else {
			header := a.w.Header()
			header.Set("Content-Type", typeJSON)
			header.Set("Content-Length", strconv.Itoa(len(body)))
			a.extend()
			a.w.WriteHeader(status)
			if _, a.err = a.w.Write(body); a.err == nil {
				a.err = a.control.Flush() // the handler may have ended this goroutine
			}
		}
		a.end()
	})
}

// write encodes a message and passes it to do with a.mu held, unless the
// response was sent.
func (a *httpResponse) write(message any, do func(body []byte)) error {
	e, err := encode(message)
	if err != nil {
		return err
	}
	defer e.free()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return errResponseSent
	}
	do(e.buf.Bytes())
	return a.err
}

// close ends the response if it has not been sent: a message without a response
// was accepted.
func (a *httpResponse) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	if !a.streaming {
		a.w.WriteHeader(http.StatusAccepted)
	}
	a.end()
}

func (a *httpResponse) end() {
	a.done = true
	a.timer.Stop()
}

func (a *httpResponse) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || a.err != nil || a.only == typeJSON {
		return
	}
	a.writeEvent(": waiting\n\n", nil, "")
	a.timer.Reset(a.every)
}

// writeEvent writes a part of the stream, and begins the stream if needed. a.mu
// is held.
func (a *httpResponse) writeEvent(head string, data []byte, tail string) {
	if a.err != nil {
		return
	}
	a.extend()
	if !a.streaming {
		a.streaming = true
		header := a.w.Header()
		header.Set("Content-Type", typeStream)
		header.Set("X-Accel-Buffering", "no") // proxies must not buffer
		a.w.WriteHeader(http.StatusOK)
	}
	_, err := a.w.Write([]byte(head))
	if err == nil && data != nil {
		if _, err = a.w.Write(data); err == nil {
			_, err = a.w.Write([]byte(tail))
		}
	}
	if err == nil {
		err = a.control.Flush()
	}
	if a.err = err; err != nil && a.onWriteError != nil {
		a.onWriteError()
	}
}

// extend sets the write deadline for the next write.
func (a *httpResponse) extend() {
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // an error means that the writer has no deadline
}

// writeReply writes a response without a call.
func writeReply(w http.ResponseWriter, status int, r reply) {
	e, err := encode(r)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	defer e.free()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(e.buf.Bytes()) // the client may have disconnected
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

// accepts reports whether the client accepts a content type. Without an Accept
// header it accepts all.
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

// onlyAccepted returns the one content type of a response that the client
// accepts, "" if it accepts both.
func onlyAccepted(r *http.Request) string {
	switch json, stream := accepts(r, typeJSON), accepts(r, typeStream); {
	case json && !stream:
		return typeJSON
	case stream && !json:
		return typeStream
	}
	return ""
}
