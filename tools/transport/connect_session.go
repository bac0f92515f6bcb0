package transport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// What a bridge remembers of its client, and how it introduces it again.

// introduced returns the session of the last introduction and its number.
func (b *bridge) introduced() (session string, epoch int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session, b.epoch
}

// introduce passes on the client's own introduction. Nothing else of the
// client is read meanwhile: it could only be refused.
func (b *bridge) introduce(e *envelope, line []byte) {
	b.renewing.Lock()
	body, err := b.greet(b.ctx, line)
	b.renewing.Unlock()
	if err == nil {
		err = b.pass(body)
	}
	if err != nil {
		b.fail(e.ID, err)
		return
	}
	b.mu.Lock()
	b.hello = line
	again := b.epoch > 1
	b.mu.Unlock()
	if !again {
		b.spawn(b.listen)
	}
}

// greet sends an introduction until the server answers. It returns the answer,
// and takes over the session that it brought.
func (b *bridge) greet(ctx context.Context, line []byte) ([]byte, error) {
	begun := time.Now()
	for {
		response, err := b.send(ctx, http.MethodPost, line, nil)
		if errors.Is(err, errUnreachable) || errors.Is(err, errLost) {
			if err := b.reach(ctx, begun); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		body, err := b.greeted(response)
		response.close()
		return body, err
	}
}

func (b *bridge) greeted(response *answerBody) ([]byte, error) {
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

// firstResponse skips what comes before the response to an introduction:
// nothing that concerns the client yet.
func firstResponse(events *eventReader) ([]byte, error) {
	for {
		data, err := events.next()
		if err != nil {
			return nil, err
		}
		if e, malformed := open(data); malformed == nil && e.Method == "" {
			return data, nil
		}
	}
}

// renew introduces the client again, unless somebody has since the epoch that
// came to nothing.
func (b *bridge) renew(ctx context.Context, epoch int) error {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	b.mu.Lock()
	hello, known := b.hello, b.epoch > epoch
	b.mu.Unlock()
	switch {
	case known:
		return nil
	case hello == nil:
		return errSessionGone
	}
	b.opts.Log.Info("introducing the client to the server again")
	if _, err := b.greet(ctx, hello); err != nil {
		return err
	}
	session, _ := b.introduced()
	b.repeat(ctx, session, "notifications/initialized", nil)
	b.mu.Lock()
	level := b.level
	uris := make([]string, 0, len(b.uris))
	for uri := range b.uris {
		uris = append(uris, uri)
	}
	b.mu.Unlock()
	if level != nil {
		b.repeat(ctx, session, string(mcp.MethodSetLogLevel), map[string]any{"level": json.RawMessage(level)})
	}
	for _, uri := range uris {
		b.repeat(ctx, session, string(mcp.MethodResourcesSubscribe), map[string]any{"uri": uri})
		// Nobody knows what changed meanwhile.
		_ = b.out.send(newNotification(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri}))
	}
	return nil
}

// repeat says again what the client said in an earlier session. The client has
// had its response.
func (b *bridge) repeat(ctx context.Context, session, method string, params map[string]any) {
	message := map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method}
	if !strings.HasPrefix(method, "notifications/") {
		message["id"], message["params"] = "connect", params
	}
	line, err := json.Marshal(message)
	if err != nil {
		return
	}
	e, _ := open(line)
	response, err := b.send(ctx, http.MethodPost, line, b.headers(&e, line, session))
	if err != nil {
		b.opts.Log.Warn("a message could not be repeated", "method", method, "err", err)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response, maxResponse))
	response.close()
}

// remember keeps what must be said again in the next session.
func (b *bridge) remember(e *envelope, line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch mcp.MCPMethod(e.Method) {
	case mcp.MethodResourcesSubscribe:
		if len(b.uris) < maxFeed {
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

// learn reads of a list of tools which of them may be called twice.
func (b *bridge) learn(e *envelope, body []byte) {
	if mcp.MCPMethod(e.Method) != mcp.MethodToolsList {
		return
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name        string `json:"name"`
				Annotations struct {
					ReadOnly   bool `json:"readOnlyHint"`
					Idempotent bool `json:"idempotentHint"`
				} `json:"annotations"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &list) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.learned = true
	for _, t := range list.Result.Tools {
		if safe := t.Annotations.ReadOnly || t.Annotations.Idempotent; safe || b.safe[t.Name] {
			b.safe[t.Name] = safe
		}
	}
}

// foundRepeatable asks the server for its tools, for a client that never did,
// and reports whether the lost call may be made again.
func (b *bridge) foundRepeatable(ctx context.Context, lost *relay) bool {
	b.learning.Lock()
	defer b.learning.Unlock()
	b.mu.Lock()
	learned := b.learned
	b.mu.Unlock()
	if !learned {
		var body struct {
			Params struct {
				Meta json.RawMessage `json:"_meta,omitempty"`
			} `json:"params"`
		}
		_ = json.Unmarshal(lost.message, &body) // open has read it
		line, err := json.Marshal(map[string]any{
			"jsonrpc": mcp.JSONRPC_VERSION, "id": "connect tools", "method": mcp.MethodToolsList, "params": body.Params})
		if err != nil {
			return false
		}
		e, refused := open(line)
		if refused != nil {
			return false
		}
		if err := b.carry(ctx, &relay{envelope: &e, message: line, own: true}); err != nil {
			return false
		}
	}
	return b.repeatable(lost.envelope)
}

// listen keeps the session's stream of what belongs to no call open.
func (b *bridge) listen() {
	for wait := retryFirst; b.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		session, epoch := b.introduced()
		response, err := b.send(b.ctx, http.MethodGet, nil, b.headers(&envelope{}, nil, session))
		if err == nil {
			switch response.StatusCode {
			case http.StatusOK:
				wait = retryFirst
				_ = b.passEvents(response, epoch, nil)
			case http.StatusMethodNotAllowed:
				response.close()
				return // the server has nothing to say
			case http.StatusNotFound:
				_ = b.renew(b.ctx, epoch)
			}
			response.close()
		}
		_ = pause(b.ctx, wait)
	}
}

// reach waits until the server can be reached, or has it started.
func (b *bridge) reach(ctx context.Context, begun time.Time) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	patience := b.opts.Patience
	if !b.met.Load() {
		patience = b.opts.FirstPatience
	}
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		response, err := b.send(ctx, http.MethodHead, nil, nil)
		if err == nil {
			response.close()
			if response.StatusCode != http.StatusServiceUnavailable {
				return nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(begun) > patience:
			return b.given(cmp.Or(err, errUnreachable))
		case b.opts.Start != nil && errors.Is(err, errUnreachable):
			if err := b.opts.Start(ctx); err != nil {
				return b.given(fmt.Errorf("starting the server: %w", err))
			}
		default:
			b.complain(err, patience-time.Since(begun))
		}
		if err := pause(ctx, min(wait, max(patience-time.Since(begun), retryFirst))); err != nil {
			return err
		}
	}
}

// given is the error of a wait that has been given up.
func (b *bridge) given(err error) error {
	if b.met.Load() {
		return err
	}
	return &noServer{err}
}

// noServer is ErrNoServer with what was found instead.
type noServer struct{ error }

func (n *noServer) Is(target error) bool { return target == ErrNoServer }

func (n *noServer) Unwrap() error { return n.error }

// complain says at once that the server cannot be reached, and where it is
// looked for: the client may not wait long enough to be told.
func (b *bridge) complain(err error, left time.Duration) {
	var why *unreachable
	if errors.As(err, &why) && !b.away.Swap(true) {
		b.opts.Log.Warn("the server cannot be reached; trying again", "server", why.server, "reason", why.reason, "for", left.Round(time.Second))
	}
}

// part ends the session, if the server is there to be told.
func (b *bridge) part() {
	session, _ := b.introduced()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), partingTime)
	defer cancel()
	if response, err := b.send(ctx, http.MethodDelete, nil, b.headers(&envelope{}, nil, session)); err == nil {
		response.close()
	}
}
