package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

var (
	errClientGone  = errors.New("the client is gone: it can no longer answer")
	errTooManyAsks = errors.New("too many requests await the client's answer")
)

// asks holds the requests we sent to the client and routes the answers back,
// by id. It is safe for concurrent use.
type asks struct {
	mu      sync.Mutex
	last    int64
	waiting map[string]chan envelope
	gone    chan struct{}
	closed  bool
}

func newAsks() *asks {
	return &asks{gone: make(chan struct{})}
}

type askMessage struct {
	JSONRPC string        `json:"jsonrpc"`
	ID      int64         `json:"id"`
	Method  mcp.MCPMethod `json:"method"`
	Params  any           `json:"params"`
}

// ask sends one request and waits for its answer, for the end of ctx or for
// the end of the client. When ctx ends first the client is told that nobody
// waits any more.
func (a *asks) ask(ctx context.Context, to sink, method mcp.MCPMethod, params, result any) error {
	id, answer, err := a.enter()
	if err != nil {
		return err
	}
	defer a.leave(id)
	if err := to.send(askMessage{mcp.JSONRPC_VERSION, id, method, params}); err != nil {
		return err
	}
	select {
	case e := <-answer:
		return e.decodeAnswer(string(method), result)
	case <-a.gone:
		return errClientGone
	case <-ctx.Done():
		_ = to.send(cancelledNotification(id, context.Cause(ctx).Error()))
		return ctx.Err()
	}
}

func (a *asks) enter() (int64, chan envelope, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, nil, errClientGone
	}
	if len(a.waiting) >= maxAsks {
		return 0, nil, errTooManyAsks
	}
	a.last++
	answer := make(chan envelope, 1)
	if a.waiting == nil {
		a.waiting = make(map[string]chan envelope)
	}
	a.waiting[strconv.FormatInt(a.last, 10)] = answer
	return a.last, answer, nil
}

func (a *asks) leave(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, strconv.FormatInt(id, 10))
}

// answer routes a response of the client. Only the first one with its id
// counts; an unknown id is ignored.
func (a *asks) answer(e envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ch := a.waiting[string(e.ID)]; ch != nil {
		delete(a.waiting, string(e.ID))
		ch <- e
	}
}

// close fails every request that waits, and all later ones.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.closed = true
		close(a.gone)
	}
}

func (e *envelope) decodeAnswer(method string, result any) error {
	if e.Error != nil && string(e.Error) != "null" {
		var refused mcp.JSONRPCErrorDetails
		if err := json.Unmarshal(e.Error, &refused); err != nil {
			return fmt.Errorf("%s: the client's error is malformed: %w", method, err)
		}
		return fmt.Errorf("%s: the client refused: %s (%d)", method, refused.Message, refused.Code)
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return fmt.Errorf("%s: the client's answer is malformed: %w", method, err)
	}
	return nil
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
