package transport

import (
	"bytes"
	"encoding/json"
	"sync"
)

// sink takes JSON-RPC messages for the client, in order.
type sink interface {
	// send encodes and sends one message. It may block while the client does
	// not read.
	send(message any) error
}

// encoding is a reusable JSON encoder; Encode ends every message with the
// newline that lines need.
type encoding struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encodings = sync.Pool{New: func() any {
	e := new(encoding)
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

// unencodable is a message that has no JSON form. Nothing of it was written.
type unencodable struct{ err error }

func (u *unencodable) Error() string { return "encode message: " + u.err.Error() }
func (u *unencodable) Unwrap() error { return u.err }

// encode returns a message as JSON with a newline. The caller must call free.
func encode(message any) (*encoding, error) {
	e := encodings.Get().(*encoding)
	e.buf.Reset()
	if err := e.enc.Encode(message); err != nil {
		return nil, &unencodable{err}
	}
	return e, nil
}

func (e *encoding) free() {
	if e.buf.Cap() <= maxSpareBytes {
		encodings.Put(e)
	}
}
