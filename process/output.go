package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is our end of a command's output pipe. It frees the pipe when its
// reader has met the end.
type output struct {
	f    *os.File
	once sync.Once
}

// Read reads as a file does and ends with io.EOF, whatever ended it.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The tree is gone, but a process outside it holds the pipe. What is
		// in the pipe now is all that the command wrote.
		if n := readNow(o.f, p); n > 0 {
			return n, nil
		}
	}
	o.f.Close()
	return n, io.EOF
}

// finish is called when the tree is gone: a reader waits no longer than
// DrainWait for others who hold the pipe.
func (o *output) finish() {
	o.once.Do(func() { _ = o.f.SetReadDeadline(time.Now().Add(DrainWait)) })
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (c *child) closePipes() {
	closeAll([]*os.File{c.stdin, c.stdout.f, c.stderr.f})
}
