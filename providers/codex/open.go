package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/providers/codex/internal/wire"
	"github.com/harness-mcp/harness-mcp/providers/internal/jsonrpc"
)

// exchange is a call of the opening: the reader runs take in its place among
// the frames, then done hears of it.
type exchange struct {
	take func(json.RawMessage) error
	done chan error
}

// exchanged handles the response to an exchange; mu is held.
func exchanged(m jsonrpc.Message) bool {
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

// ask makes one call of the opening and waits for its response.
func (c *conn) ask(ctx context.Context, method string, params any, take func(json.RawMessage) error) error {
	e := &exchange{take: take, done: make(chan error, 1)}
	err := c.peer.Call(method, params, e, nil)
	if err == nil {
		select {
		case err = <-e.done:
		case <-c.child.Done():
			err = fmt.Errorf("it ended: %s", exitText(c.child.Exit()))
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return core.Errorf(core.CodeStartFailed, "codex did not open (%s): %w", method, err)
	}
	return nil
}

// open shakes hands and starts the thread.
func (c *conn) open(ctx context.Context, method string, params wire.ThreadParams) error {
	hello := wire.InitializeParams{
		ClientInfo:   wire.ClientInfo{Name: "harness-mcp", Title: "harness-mcp", Version: ownVersion()},
		Capabilities: wire.Capabilities{ExperimentalAPI: true, OptOutNotificationMethods: unwanted},
	}
	var server wire.InitializeResponse
	err := c.ask(ctx, wire.Initialize, hello, func(raw json.RawMessage) error { return json.Unmarshal(raw, &server) })
	if err != nil {
		return err
	}
	if err := c.peer.Notify(wire.Initialized, nil); err != nil {
		return core.Errorf(core.CodeStartFailed, "codex does not take messages: %w", err)
	}
	return c.ask(ctx, method, params, func(raw json.RawMessage) error {
		var r wire.ThreadResponse
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
		if r.Thread.ID == "" {
			return errors.New("the thread has no id")
		}
		c.t.opened(r)
		c.ready.ProviderSessionID, c.ready.Model, c.ready.ReasoningEffort = r.Thread.ID, r.Model, r.ReasoningEffort
		c.ready.Version, c.ready.PID = serverVersion(server.UserAgent), c.child.PID()
		return nil
	})
}

// serverVersion reads Codex's version from its user agent, which begins with
// the client's name and that.
func serverVersion(agent string) string {
	_, rest, _ := strings.Cut(agent, "/")
	version, _, _ := strings.Cut(rest, " ")
	return version
}

// ownVersion is the version of this program.
func ownVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
