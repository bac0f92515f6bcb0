package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// ErrNoServer says that there has never been a server where one was looked for.
var ErrNoServer = errors.New("there is no server")

var (
	errSessionGone = errors.New("the server has forgotten the session")
	errLost        = errors.New("the connection to the server was lost before the response came")
	errMaybeDone   = errors.New("the connection to the server was lost before the response came: the call may have taken effect. See what there is before calling again")
	errUnreachable = errors.New("the server cannot be reached")
)

// unreachable is errUnreachable with a place and a reason.
type unreachable struct {
	server string
	reason error
}

func (u *unreachable) Error() string {
	return fmt.Sprintf("%v at %s: %v", errUnreachable, u.server, u.reason)
}

func (u *unreachable) Unwrap() error { return errUnreachable }

// carry sends a request until it is answered, cancelled or hopeless.
func (b *bridge) carry(ctx context.Context, r *relay) error {
	begun := time.Now()
	lasting := mcp.MCPMethod(r.envelope.Method) == mcp.MethodSubscriptionsListen
	for attempt := 1; ; attempt++ {
		session, epoch := b.introduced()
		err := b.exchange(ctx, r, session, epoch)
		switch {
		case err == nil || ctx.Err() != nil || r.cancelled.Load():
			return nil
		case lasting && (errors.Is(err, errUnreachable) || errors.Is(err, errLost)):
			_ = pause(ctx, min(retryFirst<<attempt, retryLast)) // as long as the client is there
			attempt = min(attempt, maxAttempts)
			continue
		case errors.Is(err, errUnreachable):
			if err := b.reach(ctx, begun); err != nil {
				return err
			}
			continue // it never arrived: no attempt
		case errors.Is(err, errSessionGone):
			if err := b.renew(ctx, epoch); err != nil {
				return err
			}
		case !errors.Is(err, errLost):
			return err
		case !b.repeatable(r.envelope) && !b.foundRepeatable(ctx, r):
			return errMaybeDone
		}
		if attempt >= maxAttempts {
			return err
		}
	}
}

// repeatable reports whether a request may be sent twice.
func (b *bridge) repeatable(e *envelope) bool {
	if mcp.MCPMethod(e.Method) != mcp.MethodToolsCall {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.safe[e.Params.Name]
}

// exchange sends a request once and passes on what comes back.
func (b *bridge) exchange(ctx context.Context, r *relay, session string, epoch int) error {
	client := b.http
	if !b.repeatable(r.envelope) {
		// On a connection that was idle, nobody can tell a server that has
		// gone from one that goes while it works.
		client = b.fresh
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
		return errUnreachable // it is going, or not there yet
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

func (b *bridge) passBody(r *relay, response *answerBody) error {
	body, err := io.ReadAll(io.LimitReader(response, maxResponse+1))
	if err != nil {
		return errLost
	}
	if len(body) > maxResponse {
		return fmt.Errorf("the server's response is longer than %d bytes", maxResponse)
	}
	return b.respond(r, body)
}

// passEvents passes on the messages of a stream. For a request it is complete
// with the response.
func (b *bridge) passEvents(response *answerBody, epoch int, r *relay) error {
	for events := newEventReader(response); ; {
		data, err := events.next()
		if err != nil {
			return errLost
		}
		e, malformed := open(data)
		if malformed != nil {
			return fmt.Errorf("the server sent no message: %w", malformed)
		}
		switch {
		case e.Method == "" && r != nil && r.subscribed:
			return errLost // the server ends, not the client's interest
		case e.Method == "" && r != nil:
			return b.respond(r, data)
		case e.Method != "" && e.hasID():
			data, err = renamed(data, strconv.AppendQuote(nil, strconv.Itoa(epoch)+" "+string(e.ID)))
			if err != nil {
				return err
			}
		case r != nil && !r.first(e.Method, data):
			continue
		}
		if err := b.pass(data); err != nil {
			return err
		}
	}
}

// respond passes on the response to a request that was not cancelled.
func (b *bridge) respond(r *relay, message []byte) error {
	if r.cancelled.Load() {
		return nil
	}
	b.learn(r.envelope, message)
	if r.own {
		return nil
	}
	return b.pass(message)
}

// first reports whether a notification is new to the client: a stream that is
// opened again acknowledges itself again.
func (r *relay) first(method string, message []byte) bool {
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

// renamed gives a message another id.
func renamed(message, id []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(message, &fields); err != nil {
		return nil, err
	}
	fields["id"] = id
	return json.Marshal(fields)
}

// answer takes the client's answer to a question of the server. Questions are
// numbered anew in every session, so what answers one of an earlier session
// goes nowhere.
func (b *bridge) answer(e *envelope, line []byte) {
	var name string
	if json.Unmarshal(e.ID, &name) != nil {
		return
	}
	asked, id, _ := strings.Cut(name, " ")
	session, epoch := b.introduced()
	if asked != strconv.Itoa(epoch) {
		return
	}
	if line, err := renamed(line, []byte(id)); err == nil {
		b.post(e, line, session)
	}
}

// tell sends a notification, and reports whether it arrived. It is not sent
// again: where it mattered, renew says the same.
func (b *bridge) tell(e *envelope, line []byte) bool {
	session, _ := b.introduced()
	return b.post(e, line, session)
}

// post sends what is owed no response, and reports whether it arrived.
func (b *bridge) post(e *envelope, line []byte, session string) bool {
	ctx, cancel := context.WithTimeout(b.ctx, silence)
	defer cancel()
	response, err := b.send(ctx, http.MethodPost, line, b.headers(e, line, session))
	if err != nil {
		b.opts.Log.Debug("a message was not delivered", "method", e.Method, "err", err)
		return false
	}
	response.close()
	return true
}

func (b *bridge) headers(e *envelope, message []byte, session string) map[string]string {
	if version := e.Params.Meta.ProtocolVersion; mcp.IsModernProtocol(version) {
		var body struct {
			Params json.RawMessage `json:"params"`
		}
		_ = json.Unmarshal(message, &body) // open has read it
		headers := mcp.StandardHeaders(version, mcp.MCPMethod(e.Method), body.Params)
		headers[mcp.HeaderProtocolVersion] = version
		return headers
	}
	headers := make(map[string]string, 2)
	if session != "" {
		headers[mcp.HeaderSessionID] = session
		b.mu.Lock()
		headers[mcp.HeaderProtocolVersion] = b.version
		b.mu.Unlock()
	}
	return headers
}

// answerBody is a response whose body fails after too long a silence.
type answerBody struct {
	*http.Response
	cancel context.CancelFunc
	timer  *time.Timer
}

func (a *answerBody) Read(p []byte) (int, error) {
	a.timer.Reset(silence)
	return a.Body.Read(p)
}

func (a *answerBody) close() {
	a.timer.Stop()
	a.cancel()
	_ = a.Body.Close()
}

// refusal is what the server says against a request.
func (b *bridge) refusal(a *answerBody) error {
	text, _ := io.ReadAll(io.LimitReader(a, maxRefusal))
	err := fmt.Errorf("the server refused: %s: %s", a.Status, bytes.TrimSpace(text))
	if a.StatusCode == http.StatusUnauthorized && b.opts.TokenFrom != "" {
		err = fmt.Errorf("%w (the token is from %s)", err, b.opts.TokenFrom)
		b.opts.Log.Warn("the server does not know the token", "server", b.opts.Name, "from", b.opts.TokenFrom)
	}
	return err
}

// send makes one HTTP request. Its error is errUnreachable if nothing of it
// can have arrived, else errLost.
func (b *bridge) send(ctx context.Context, method string, body []byte, headers map[string]string) (*answerBody, error) {
	return b.sendOn(ctx, b.http, method, body, headers)
}

func (b *bridge) sendOn(ctx context.Context, client *http.Client, method string, body []byte, headers map[string]string) (*answerBody, error) {
	ctx, cancel := context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, method, b.opts.URL, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if b.opts.Token != "" {
		request.Header.Set("Authorization", "Bearer "+b.opts.Token)
	}
	if b.opts.Directory != "" {
		request.Header.Set(HeaderDirectory, writeDirectory(b.opts.Directory))
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	timer := time.AfterFunc(silence, cancel)
	response, err := client.Do(request)
	if err != nil {
		timer.Stop()
		cancel()
		b.opts.Log.Debug("a request failed", "err", err)
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return nil, &unreachable{b.opts.Name, dial.Err}
		}
		return nil, errLost
	}
	b.met.Store(true)
	b.away.Store(false)
	return &answerBody{response, cancel, timer}, nil
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
