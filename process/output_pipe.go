package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// output is the reading end of a command's output pipe. One goroutine reads; settle
// and finish may be called concurrently with it. Read closes the pipe at the end.
type output struct {
	f    *os.File
	once sync.Once

	mu       sync.Mutex
	finished bool          // the tree is gone
	quiet    time.Duration // of a settling output, 0 for any other
	until    time.Time     // when it is settled at the latest
	late     int           // bytes read after that
}

// errSettled is the error of Read when a settling output has ended.
var errSettled = errors.New("the output has settled")

// Read implements io.Reader. Every read error is returned as io.EOF, except
// errSettled of a settling output.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	if err == nil {
		o.goOn(n)
		return n, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The command, or the whole tree, is gone, but another process holds
		// the pipe. What is in the pipe now is all that the command wrote.
		if n := readNow(o.f, p); n > 0 && o.goOn(n) {
			return n, nil
		}
		if o.settled() {
			return 0, errSettled
		}
	}
	o.f.Close()
	return max(n, 0), io.EOF
}

// settle is called when the command has ended while other processes hold its output.
// Read then returns errSettled when nothing came for quiet, or after most, but not
// before it has returned all that was in the pipe at that time.
func (o *output) settle(quiet, most time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.finished {
		return
	}
	o.quiet, o.until = quiet, time.Now().Add(most)
	_ = o.f.SetReadDeadline(time.Now().Add(quiet))
}

// goOn records n more bytes of a settling output, and reports whether they may be the
// command's: after the deadline only as many as fit in a pipe may.
func (o *output) goOn(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quiet == 0 || o.finished {
		return true
	}
	if next := time.Now().Add(o.quiet); next.Before(o.until) {
		_ = o.f.SetReadDeadline(next)
		return true
	}
	_ = o.f.SetReadDeadline(o.until)
	if time.Now().Before(o.until) {
		return true
	}
	o.late += n
	return o.late <= PipeSize
}

func (o *output) settled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.quiet != 0 && !o.finished
}

// discard reads until every process that holds the pipe has closed it, so that
// leftover processes do not fail when they write.
func (o *output) discard() {
	o.mu.Lock()
	if !o.finished {
		o.quiet = 0
		_ = o.f.SetReadDeadline(time.Time{})
	}
	o.mu.Unlock()
	b := make([]byte, 4<<10)
	for {
		if _, err := o.Read(b); err != nil {
			return
		}
	}
}

// finish is called when the tree is gone. It bounds further reads by DrainWait, in
// case a process outside the tree holds the pipe.
func (o *output) finish() {
	o.once.Do(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.finished = true
		_ = o.f.SetReadDeadline(time.Now().Add(DrainWait))
	})
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (c *child) closePipes() {
	closeAll([]*os.File{c.stdin, c.stdout.f, c.stderr.f, c.terminal})
}
