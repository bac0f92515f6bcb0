package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// responseBody is a response whose body fails after maxSilence without data.
type responseBody struct {
	*http.Response
	cancel context.CancelFunc
	timer  *time.Timer
}

func (a *responseBody) Read(p []byte) (int, error) {
	a.timer.Reset(maxSilence)
	return a.Body.Read(p)
}

func (a *responseBody) close() {
	a.timer.Stop()
	a.cancel()
	_ = a.Body.Close()
}

// refusal returns the error for a response that refuses a request.
func (b *bridge) refusal(a *responseBody) error {
	text, _ := io.ReadAll(io.LimitReader(a, maxRefusal))
	err := fmt.Errorf("the server refused: %s: %s", a.Status, bytes.TrimSpace(text))
	if a.StatusCode == http.StatusUnauthorized && b.opts.TokenFrom != "" {
		err = fmt.Errorf("%w (the token is from %s)", err, b.opts.TokenFrom)
		b.opts.Log.Warn("the server does not know the token", "server", b.opts.Name, "from", b.opts.TokenFrom)
	}
	return err
}

// send makes one HTTP request. Its error is errUnreachable if no part of it can
// have arrived, else errLost.
func (b *bridge) send(ctx context.Context, method string, body []byte, headers map[string]string) (*responseBody, error) {
	return b.sendOn(ctx, b.http, method, body, headers)
}

func (b *bridge) sendOn(ctx context.Context, client *http.Client, method string, body []byte, headers map[string]string) (*responseBody, error) {
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
	timer := time.AfterFunc(maxSilence, cancel)
	response, err := client.Do(request)
	if err != nil {
		timer.Stop()
		cancel()
		b.opts.Log.Debug("a request failed", "err", err)
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return nil, &unreachableError{b.opts.Name, dial.Err}
		}
		return nil, errLost
	}
	b.reached.Store(true)
	b.unreachable.Store(false)
	return &responseBody{response, cancel, timer}, nil
}

func (b *bridge) headers(e *envelope, message []byte, session string) map[string]string {
	if version := e.Params.Meta.ProtocolVersion; mcp.IsModernProtocol(version) {
		var body struct {
			Params json.RawMessage `json:"params"`
		}
		_ = json.Unmarshal(message, &body) // decodeEnvelope has parsed it
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

// unreachableError is errUnreachable with an address and a reason.
type unreachableError struct {
	server string
	reason error
}

func (u *unreachableError) Error() string {
	return fmt.Sprintf("%v at %s: %v", errUnreachable, u.server, u.reason)
}

func (u *unreachableError) Unwrap() error { return errUnreachable }
