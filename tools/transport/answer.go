package transport

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

var errAnswered = errors.New("the response was sent already")

// answer is the HTTP response to one message of a client. It is one JSON
// object, unless something comes before the response or the response is long
// in coming: then it is an event stream, in which comments keep the
// connection alive. It is a sink, and safe for concurrent use.
type answer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	every   time.Duration // between comments

	mu        sync.Mutex
	streaming bool
	done      bool
	err       error
	timer     *time.Timer
	gone      func() // called once, after a failed write
}

// newAnswer prepares the response. gone is called when the client turns out
// not to read it; nil if nobody wants to know. The caller must close the
// answer.
func newAnswer(w http.ResponseWriter, every time.Duration, gone func()) *answer {
	a := &answer{w: w, control: http.NewResponseController(w), every: every, gone: gone}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(every, a.keepAlive)
	return a
}

// open makes the response a stream at once.
func (a *answer) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.event(": open\n\n", nil, "")
}

// send passes on what comes before the response.
func (a *answer) send(message any) error {
	e, err := encode(message)
	if err != nil {
		return err
	}
	defer e.free()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return errAnswered
	}
	a.event("event: message\ndata: ", e.buf.Bytes(), "\n")
	return a.err
}

// finish sends the response; nothing follows it. The status counts only if
// the response is no stream by then.
func (a *answer) finish(status int, message any) error {
	e, err := encode(message)
	if err != nil {
		return err
	}
	defer e.free()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return errAnswered
	}
	if a.streaming {
		a.event("event: message\ndata: ", e.buf.Bytes(), "\n")
	} else {
		header := a.w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(e.buf.Len()))
		a.extend()
		a.w.WriteHeader(status)
		if _, a.err = a.w.Write(e.buf.Bytes()); a.err == nil {
			a.err = a.control.Flush() // the handler may have ended this goroutine
		}
	}
	a.end()
	return a.err
}

// close ends the response if it has not been sent. A message that is owed no
// response was accepted.
func (a *answer) close() {
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

func (a *answer) end() {
	a.done = true
	a.timer.Stop()
}

func (a *answer) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || a.err != nil {
		return
	}
	a.event(": waiting\n\n", nil, "")
	a.timer.Reset(a.every)
}

// event writes a piece of the stream and begins it first, if need be. a.mu is
// held.
func (a *answer) event(head string, data []byte, tail string) {
	if a.err != nil {
		return
	}
	a.extend()
	if !a.streaming {
		a.streaming = true
		header := a.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("X-Accel-Buffering", "no") // proxies must not wait for more
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
	if a.err = err; err != nil && a.gone != nil {
		a.gone()
	}
}

// extend gives the client time to read what is written next.
func (a *answer) extend() {
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer that has none needs none
}
