package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// serveLines passes each message of in to receive, in order, until end of
// input, the end of ctx, a failed write to out, or an error from fatal, which
// may be nil. It returns nil at end of input, else the cause.
//
// The goroutine that reads ends with the read under way: through
// SetReadDeadline where in has it, else when the caller closes in. After
// serveLines has returned it passes nothing on.
func serveLines(ctx context.Context, in io.Reader, out *lineWriter, fatal <-chan error, receive func(line []byte)) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	read := make(chan error, 1)
	go func() { read <- readLines(reading, newLineReader(in, MaxMessage), out, receive) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-out.failed:
		err = fmt.Errorf("write to the client: %w", out.writeErr())
	case err = <-fatal:
	}
	stop()
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(time.Unix(1, 0)) // files that do not support it are left blocked
	}
	return err
}

// readLines reads until end of input. After the end of ctx it passes no
// message on.
func readLines(ctx context.Context, in *lineReader, out *lineWriter, receive func(line []byte)) error {
	for {
		line, err := in.next()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, errLineTooLong) {
			_ = out.post(errorReply(nil, mcp.PARSE_ERROR, fmt.Sprintf("the message is longer than %d bytes", MaxMessage)))
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			receive(line)
		}
		switch {
		case err == nil:
		case err == io.EOF:
			return nil
		default:
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}
