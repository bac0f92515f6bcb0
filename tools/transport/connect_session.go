package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// The state of the client that a bridge keeps, and how it is sent again to a new
// session.

// currentSession returns the session of the last initialize and its number.
func (b *bridge) currentSession() (session string, epoch int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session, b.epoch
}

// forwardInitialize forwards the client's initialize. No other message of the
// client is read meanwhile: the server would refuse it.
func (b *bridge) forwardInitialize(e *envelope, line []byte) {
	b.initializing.Lock()
	body, err := b.sendInitialize(b.ctx, line)
	b.initializing.Unlock()
	if err == nil {
		err = b.pass(body)
	}
	if err != nil {
		b.fail(e.ID, err)
		return
	}
	b.mu.Lock()
	b.initializeMessage = line
	again := b.epoch > 1
	b.mu.Unlock()
	if !again {
		b.goWork(b.listen)
	}
}

// sendInitialize sends an initialize until the server answers. It returns the
// response, and keeps the session that it names.
func (b *bridge) sendInitialize(ctx context.Context, line []byte) ([]byte, error) {
	begun := time.Now()
	for {
		response, err := b.send(ctx, http.MethodPost, line, nil)
		if errors.Is(err, errUnreachable) || errors.Is(err, errLost) {
			if err := b.waitReachable(ctx, begun); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		body, err := b.readInitialize(response)
		response.close()
		return body, err
	}
}

func (b *bridge) readInitialize(response *responseBody) ([]byte, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	var body []byte
	var err error
	switch {
	case kind == "text/event-stream":
		body, err = firstResponse(newEventReader(response))
	case kind == "application/json":
		body, err = io.ReadAll(io.LimitReader(response, maxResponse))
	default:
		return nil, b.refusal(response)
	}
	if err != nil {
		return nil, errLost
	}
	var answer struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the server sent no JSON: %w", err)
	}
	if session := response.Header.Get(mcp.HeaderSessionID); session != "" {
		b.mu.Lock()
		b.session, b.version = session, answer.Result.ProtocolVersion
		b.epoch++
		b.mu.Unlock()
	}
	return body, nil
}

// firstResponse returns the response to an initialize. Notifications before it
// do not concern the client.
func firstResponse(events *eventReader) ([]byte, error) {
	for {
		data, err := events.next()
		if err != nil {
			return nil, err
		}
		if e, malformed := decodeEnvelope(data); malformed == nil && e.Method == "" {
			return data, nil
		}
	}
}

// reinitialize sends the client's initialize again, unless that was done since
// the given epoch.
func (b *bridge) reinitialize(ctx context.Context, epoch int) error {
	b.initializing.Lock()
	defer b.initializing.Unlock()
	b.mu.Lock()
	hello, known := b.initializeMessage, b.epoch > epoch
	b.mu.Unlock()
	switch {
	case known:
		return nil
	case hello == nil:
		return errSessionGone
	}
	b.opts.Log.Info("sending the initialize of the client to the server again")
	if _, err := b.sendInitialize(ctx, hello); err != nil {
		return err
	}
	session, _ := b.currentSession()
	b.resend(ctx, session, "notifications/initialized", nil)
	b.mu.Lock()
	level := b.level
	uris := slices.Collect(maps.Keys(b.uris))
	b.mu.Unlock()
	if level != nil {
		b.resend(ctx, session, string(mcp.MethodSetLogLevel), map[string]any{"level": json.RawMessage(level)})
	}
	for _, uri := range uris {
		b.resend(ctx, session, string(mcp.MethodResourcesSubscribe), map[string]any{"uri": uri})
		// It may have changed meanwhile.
		_ = b.out.send(newNotification(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri}))
	}
	return nil
}

// resend repeats a message of an earlier session. The client has its response
// already.
func (b *bridge) resend(ctx context.Context, session, method string, params map[string]any) {
	message := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method}
	if !strings.HasPrefix(method, "notifications/") {
		message["id"], message["params"] = "connect", params
	}
	line, err := json.Marshal(message)
	if err != nil {
		return
	}
	e, _ := decodeEnvelope(line)
	response, err := b.send(ctx, http.MethodPost, line, b.headers(&e, line, session))
	if err != nil {
		b.opts.Log.Warn("a message could not be repeated", "method", method, "err", err)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response, maxResponse))
	response.close()
}

// recordState records what must be sent again in the next session.
func (b *bridge) recordState(e *envelope, line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodResourcesSubscribe:
		if len(b.uris) < maxBroadcasts {
			b.uris[e.Params.URI] = struct{}{}
		}
	case mcp.MethodResourcesUnsubscribe:
		delete(b.uris, e.Params.URI)
	case mcp.MethodSetLogLevel:
		var body struct {
			Params struct {
				Level json.RawMessage `json:"level"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &body) == nil {
			b.level = body.Params.Level
		}
	}
}

// listen keeps the session's stream of notifications that belong to no call
// open, until the end of b.ctx.
func (b *bridge) listen() {
	for wait := retryFirst; b.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		session, epoch := b.currentSession()
		response, err := b.send(b.ctx, http.MethodGet, nil, b.headers(&envelope{}, nil, session))
		if err == nil {
			switch response.StatusCode {
			case http.StatusOK:
				wait = retryFirst
				_ = b.passEvents(response, epoch, nil)
			case http.StatusMethodNotAllowed:
				response.close()
				return // the server has no such stream
			case http.StatusNotFound:
				_ = b.reinitialize(b.ctx, epoch)
			}
			response.close()
		}
		_ = pause(b.ctx, wait)
	}
}

// endSession deletes the session, if the server can be reached.
func (b *bridge) endSession() {
	session, _ := b.currentSession()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), endSessionTime)
	defer cancel()
	if response, err := b.send(ctx, http.MethodDelete, nil, b.headers(&envelope{}, nil, session)); err == nil {
		response.close()
	}
}
