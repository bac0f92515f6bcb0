package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrGone means that the other side ended before it answered.
var ErrGone = errors.New("jsonrpc: the peer is gone")

// exchange is the tag of a request that somebody waits for.
type exchange struct {
	take func(json.RawMessage) error
	done chan error // of one
}

// Ask sends a request and waits for its response, as the steps of an opening
// need it. The reader, who calls Answered with every message, runs take on the
// result in its place among the messages; Ask returns take's error.
//
// Errors: those of Call, an *Error, ErrGone when gone is closed first, ctx's.
func (p *Peer) Ask(ctx context.Context, gone <-chan struct{}, method string, params any, take func(json.RawMessage) error) error {
	e := &exchange{take: take, done: make(chan error, 1)}
	if err := p.Call(method, params, e, nil); err != nil {
		return err
	}
	select {
	case err := <-e.done:
		return err
	case <-gone:
		return ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Answered reports whether a message is the response to an Ask, and if so passes
// it on.
func Answered(m Message) bool {
	if m.Call == nil {
		return false
	}
	e, ok := m.Call.Tag.(*exchange)
	if !ok {
		return false
	}
	if m.Error != nil {
		e.done <- m.Error
		return true
	}
	e.done <- e.take(m.Result)
	return true
}
