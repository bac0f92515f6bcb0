package transport

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"
)

// httpRefusal is a request refused for its body.
type httpRefusal struct {
	status  int
	message string
}

func (r *httpRefusal) write(w http.ResponseWriter) {
	limitUnreadBody(w)
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
		if !p.calls.reserveBytes(size - len(buf)) {
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

// limitUnreadBody is for a body that nobody reads. net/http waits for what is left
// of it after the answer, without end if no deadline is set: enough strangers
// who announce a body and send none would fill the server.
func limitUnreadBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadBodyTimeout)) // a writer that has none needs none
}
