package transport

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"
)

// httpRefusal is the response to a request that is refused because of its body.
type httpRefusal struct {
	status  int
	message string
}

func (r *httpRefusal) write(w http.ResponseWriter) {
	limitUnreadBody(w)
	w.Header().Set("Connection", "close") // the rest of the body is not read
	if r.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, r.message, r.status)
}

var (
	errBodyType  = &httpRefusal{http.StatusUnsupportedMediaType, "the Content-Type must be application/json"}
	errBodySize  = &httpRefusal{http.StatusRequestEntityTooLarge, "the message is too large"}
	errBodyRoom  = &httpRefusal{http.StatusTooManyRequests, "too many or too large messages at once: try again"}
	errBodySlow  = &httpRefusal{http.StatusRequestTimeout, "the body did not arrive in time"}
	errBodyShort = &httpRefusal{http.StatusBadRequest, "the body ended early"}
)

// readBody reads one message, within the byte limit of its principal and within
// bodyTimeout. held is the number of bytes reserved, also if the request is
// refused; the caller must release them.
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
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))                      // an error means that the writer has no deadline
	defer func() { _ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) }() // it ran during the read
	size := int(r.ContentLength)
	if size < 0 {
		size = bodyStep // the first step of a body of unknown size
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

// limitUnreadBody sets a short read deadline for a body that is not read.
// net/http reads the rest of a body after the response, without a bound if no
// deadline is set: many clients that announce a body and send none would use up
// the connections.
func limitUnreadBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadBodyTimeout)) // an error means that the writer has no deadline
}
