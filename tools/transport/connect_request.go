package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// ErrNoServer is returned by Connect if there has never been a server at its
// URL.
var ErrNoServer = errors.New("there is no server")

var (
	errSessionGone = errors.New("the server does not know the session")
	errLost        = errors.New("the connection to the server was lost before the response came")
	errMaybeDone   = errors.New("the connection to the server was lost before the response came: the call may have taken effect. Read the present state before calling again")
	errUnreachable = errors.New("the server cannot be reached")
)

// deliver sends a request until it is answered, cancelled or has failed for
// good: after maxAttempts lost connections, or when the server stays
// unreachable.
func (b *bridge) deliver(ctx context.Context, r *forwardedRequest) error {
	begun := time.Now()
	lasting := mcp.MCPMethod(r.envelope.Method) == mcp.MethodSubscriptionsListen
	for attempt := 1; ; attempt++ {
		session, epoch := b.currentSession()
		err := b.exchange(ctx, r, session, epoch)
		switch {
		case err == nil || ctx.Err() != nil || r.cancelled.Load():
			return nil
		case lasting && (errors.Is(err, errUnreachable) || errors.Is(err, errLost)):
			_ = pause(ctx, min(retryFirst<<attempt, retryLast)) // until the client cancels
			attempt = min(attempt, maxAttempts)
			continue
		case errors.Is(err, errUnreachable):
			if err := b.waitReachable(ctx, begun); err != nil {
				return err
			}
			continue // it did not arrive: this is no attempt
		case errors.Is(err, errSessionGone):
			if err := b.reinitialize(ctx, epoch); err != nil {
				return err
			}
		case !errors.Is(err, errLost):
			return err
		case !b.repeatable(r.envelope) && !b.listAndCheckRepeatable(ctx, r):
			return errMaybeDone
		}
		if attempt >= maxAttempts {
			return err
		}
	}
}

// exchange sends a request once and forwards what comes back.
func (b *bridge) exchange(ctx context.Context, r *forwardedRequest, session string, epoch int) error {
	client := b.http
	if !b.repeatable(r.envelope) {
		// On an idle connection, a server that ended before the request
		// cannot be distinguished from one that ended while it worked.
		client = b.noKeepAlive
	}
	response, err := b.sendOn(ctx, client, http.MethodPost, r.message, b.headers(r.envelope, r.message, session))
	if err != nil {
		return err
	}
	defer response.close()
	switch kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); {
	case response.StatusCode == http.StatusAccepted:
		return nil // of a cancelled request
	case response.StatusCode == http.StatusServiceUnavailable:
		return errUnreachable // it is ending or starting
	case response.StatusCode == http.StatusNotFound && kind != "application/json" && session != "":
		return errSessionGone
	case kind == "application/json":
		return b.passBody(r, response)
	case response.StatusCode != http.StatusOK:
		return b.refusal(response)
	default:
		return b.passEvents(response, epoch, r)
	}
}

func (b *bridge) passBody(r *forwardedRequest, response *responseBody) error {
	body, err := io.ReadAll(io.LimitReader(response, maxResponse+1))
	if err != nil {
		return errLost
	}
	if len(body) > maxResponse {
		return fmt.Errorf("the server's response is longer than %d bytes", maxResponse)
	}
	return b.respond(r, body)
}

// passEvents forwards the messages of a stream. The stream of a request is
// complete with its response.
func (b *bridge) passEvents(response *responseBody, epoch int, r *forwardedRequest) error {
	for events := newEventReader(response); ; {
		data, err := events.next()
		if err != nil {
			return errLost
		}
		e, malformed := decodeEnvelope(data)
		if malformed != nil {
			return fmt.Errorf("the server sent no message: %w", malformed)
		}
		switch {
		case e.Method == "" && r != nil && r.subscribed:
			return errLost // the server ends the stream, not the client
		case e.Method == "" && r != nil:
			return b.respond(r, data)
		case e.Method != "" && e.hasID():
			data, err = withMessageID(data, strconv.AppendQuote(nil, strconv.Itoa(epoch)+" "+string(e.ID)))
			if err != nil {
				return err
			}
		case r != nil && !r.isNew(e.Method, data):
			continue
		}
		if err := b.pass(data); err != nil {
			return err
		}
	}
}

// respond forwards the response to a request, unless it was cancelled.
func (b *bridge) respond(r *forwardedRequest, message []byte) error {
	if r.cancelled.Load() {
		return nil
	}
	b.recordSafeTools(r.envelope, message)
	if r.internal {
		return nil
	}
	return b.pass(message)
}

// isNew reports whether a notification is new to the client: a stream that is
// opened again is acknowledged again.
func (r *forwardedRequest) isNew(method string, message []byte) bool {
	if method != mcp.MethodNotificationSubscriptionsAcknowledged {
		return true
	}
	again := r.subscribed
	var ack struct {
		Params struct {
			Notifications map[string]any `json:"notifications"`
		} `json:"params"`
	}
	r.subscribed = json.Unmarshal(message, &ack) == nil && len(ack.Params.Notifications) > 0
	return !again
}

// pass writes one message of the server to the client.
func (b *bridge) pass(message []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, message); err != nil {
		return fmt.Errorf("the server sent no JSON: %w", err)
	}
	return b.out.send(json.RawMessage(line.Bytes()))
}

// withMessageID returns a message with another id.
func withMessageID(message, id []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(message, &fields); err != nil {
		return nil, err
	}
	fields["id"] = id
	return json.Marshal(fields)
}

// forwardResponse forwards the client's response to a request of the server.
// The ids of those carry the epoch of their session, since every session
// numbers them from the start; a response to an earlier session is dropped.
func (b *bridge) forwardResponse(e *envelope, line []byte) {
	var name string
	if json.Unmarshal(e.ID, &name) != nil {
		return
	}
	asked, id, _ := strings.Cut(name, " ")
	session, epoch := b.currentSession()
	if asked != strconv.Itoa(epoch) {
		return
	}
	if line, err := withMessageID(line, []byte(id)); err == nil {
		b.post(e, line, session)
	}
}

// forwardNotification sends a notification, and reports whether it was
// delivered. It is not sent again: reinitialize restores the state.
func (b *bridge) forwardNotification(e *envelope, line []byte) bool {
	session, _ := b.currentSession()
	return b.post(e, line, session)
}

// post sends a message that has no response, and reports whether it was
// delivered.
func (b *bridge) post(e *envelope, line []byte, session string) bool {
	ctx, cancel := context.WithTimeout(b.ctx, maxSilence)
	defer cancel()
	response, err := b.send(ctx, http.MethodPost, line, b.headers(e, line, session))
	if err != nil {
		b.opts.Log.Debug("a message was not delivered", "method", e.Method, "err", err)
		return false
	}
	response.close()
	return true
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
