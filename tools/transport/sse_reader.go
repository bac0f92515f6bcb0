package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// eventReader reads the messages of an event stream (server-sent events): the
// data of its events. Names and ids of events, and comments, are ignored.
type eventReader struct{ r *bufio.Reader }

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{bufio.NewReaderSize(r, readBuffer)}
}

// next returns the data of the next event that has any. An event without its
// end at the end of the stream is dropped.
func (e *eventReader) next() ([]byte, error) {
	var data []byte
	for {
		line, err := e.readLine(maxResponse - len(data))
		if err != nil {
			return nil, err
		}
		switch {
		case len(line) == 0 && len(data) > 0:
			return data, nil
		case bytes.HasPrefix(line, []byte("data:")):
			line = bytes.TrimPrefix(line[len("data:"):], []byte(" "))
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, line...)
		}
	}
}

// readLine returns the next line without its end.
func (e *eventReader) readLine(room int) ([]byte, error) {
	var line []byte
	for {
		part, err := e.r.ReadSlice('\n')
		if len(line)+len(part) > room {
			return nil, fmt.Errorf("a message of the server is longer than %d bytes", maxResponse)
		}
		line = append(line, part...)
		switch err {
		case nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case bufio.ErrBufferFull:
		default:
			return nil, err
		}
	}
}
