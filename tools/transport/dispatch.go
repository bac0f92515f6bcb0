package transport

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// dispatcher serves single messages for all transports: client identifies the
// sender, and the caller supplies where notifications and the response go.
type dispatcher struct {
	srv *server.MCPServer
	log *slog.Logger
}

// handle serves one message of a client: its notifications go to notes, then
// its response goes to send, also if the handler ended its goroutine.
func (h *dispatcher) handle(ctx context.Context, c *client, e *envelope, message []byte, notes sink, send func(any) error) {
	s := newRequestSession(ctx, c, notes, e)
	var response any
	defer func() {
		s.close()
		if response != nil {
			h.respond(e.ID, response, send)
		}
	}()
	h.call(h.srv.WithContext(ctx, s), s, e, message, &response)
}

// call passes the message to mcp-go. A panic, and a handler that ends its
// goroutine, become an internal error with the id of an incident in the log.
func (h *dispatcher) call(ctx context.Context, s *requestSession, e *envelope, message []byte, response *any) {
	finished := false
	defer func() {
		if finished {
			return
		}
		reason := recover()
		incident := rand.Text()[:10]
		h.log.Error("a handler panicked", "incident", incident, "method", e.Method, "tool", e.Params.Name,
			"panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		if e.hasID() {
			*response = errorReply(e.ID, mcp.INTERNAL_ERROR, "internal error (incident "+incident+", see the server's log)")
		}
	}()
	if answer := h.srv.HandleMessage(ctx, message); answer != nil {
		*response = e.withURI(e.withErrorCode(withID(e.ID, answer)))
		if s.modern {
			if missing := missingCapabilities(answer, s.GetClientCapabilities()); len(missing) > 0 {
				*response = missingCapabilityReply(e.ID, missing)
			}
		}
	}
	finished = true
}

func (h *dispatcher) respond(id json.RawMessage, response any, send func(any) error) {
	err := send(response)
	var bad *unencodable
	if errors.As(err, &bad) {
		h.log.Error("a response has no JSON form", "error", bad.err)
		_ = send(errorReply(id, mcp.INTERNAL_ERROR, "internal error: the result cannot be encoded"))
	} // any other error ends the connection
}
