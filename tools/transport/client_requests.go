package transport

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

var (
	errClientGone      = errors.New("the client has disconnected and cannot answer")
	errTooManyRequests = errors.New("too many requests await the client's answer")
)

// clientRequests holds the requests that were sent to the client and routes the
// responses, by id. It is safe for concurrent use.
type clientRequests struct {
	mu      sync.Mutex
	last    int64
	waiting map[string]chan envelope
	done    chan struct{}
	closed  bool
}

func newClientRequests() *clientRequests {
	return &clientRequests{done: make(chan struct{})}
}

type requestMessage struct {
	JSONRPC string        `json:"jsonrpc"`
	ID      int64         `json:"id"`
	Method  mcp.MCPMethod `json:"method"`
	Params  any           `json:"params"`
}

// request sends one request and waits for its response, for the end of ctx or
// for the end of the client. When ctx ends first, the request is cancelled.
func (a *clientRequests) request(ctx context.Context, to sink, method mcp.MCPMethod, params, result any) error {
	id, answer, err := a.add()
	if err != nil {
		return err
	}
	defer a.remove(id)
	if err := to.send(requestMessage{mcp.JSONRPC_VERSION, id, method, params}); err != nil {
		return err
	}
	select {
	case e := <-answer:
		return e.decodeResponse(string(method), result)
	case <-a.done:
		return errClientGone
	case <-ctx.Done():
		_ = to.send(cancelledNotification(id, context.Cause(ctx).Error()))
		return ctx.Err()
	}
}

func (a *clientRequests) add() (int64, chan envelope, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, nil, errClientGone
	}
	if len(a.waiting) >= maxClientRequests {
		return 0, nil, errTooManyRequests
	}
	a.last++
	answer := make(chan envelope, 1)
	if a.waiting == nil {
		a.waiting = make(map[string]chan envelope)
	}
	a.waiting[strconv.FormatInt(a.last, 10)] = answer
	return a.last, answer, nil
}

func (a *clientRequests) remove(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, strconv.FormatInt(id, 10))
}

// resolve routes a response of the client. Only the first one with its id
// counts; an unknown id is ignored.
func (a *clientRequests) resolve(e envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch := a.waiting[string(e.ID)]; ch != nil {
		delete(a.waiting, string(e.ID))
		ch <- e
	}
}

// close fails every waiting request, and all later ones.
func (a *clientRequests) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		close(a.done)
	}
}

func cancelledNotification(id int64, reason string) mcp.JSONRPCNotification {
	return newNotification("notifications/cancelled", map[string]any{"requestId": id, "reason": reason})
}

func newNotification(method string, params map[string]any) mcp.JSONRPCNotification {
	return mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: method,
			Params: mcp.NotificationParams{AdditionalFields: params},
		},
	}
}
