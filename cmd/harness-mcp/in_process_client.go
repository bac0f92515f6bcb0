package main

import (
	"context"
	"errors"
	"io"
)

// local serves MCP to a client in this process, so that what a command shows
// is what any client gets. The server ends with the returned function.
func (h *app) local(ctx context.Context, c *Common) (*client, func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := h.serve(ctx, c, toServer, fromServer)
		fromServer.Close()
		served <- err
	}()
	end := func() error {
		fromClient.Close()
		defer cancel()
		return <-served
	}
	cl := newClient(toClient, fromClient)
	if err := cl.initialize(ctx); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return cl, end, nil
}
