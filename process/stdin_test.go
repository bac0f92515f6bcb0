//go:build unix

package process

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/harness-mcp/harness-mcp/core"
)

// inputPipe returns the ends of a pipe as a child's input has them.
func inputPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	rfd, wfd, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.SetNonblock(rfd, true)
	_ = unix.SetNonblock(wfd, true)
	r, w = os.NewFile(uintptr(rfd), "r"), os.NewFile(uintptr(wfd), "w")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestInputArrivesInOrderAndThenItsEnd(t *testing.T) {
	r, w := inputPipe(t)
	f := newStdinWriter(w, false)
	long := strings.Repeat("0123456789", 20_000)
	for _, s := range []string{"a", long} {
		if err := f.put([]byte(s), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.put([]byte("z"), true); err != nil {
		t.Fatal(err)
	}
	if err := f.put([]byte("late"), false); core.CodeOf(err) != core.CodeStdinClosed {
		t.Errorf("behind the end: %v", err)
	}
	got, err := io.ReadAll(r)
	if want := "a" + long + "z"; err != nil || string(got) != want {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

func TestInputThatIsNotReadIsRefusedAndNothingOfItWritten(t *testing.T) {
	r, w := inputPipe(t)
	f := newStdinWriter(w, false)
	block := []byte(strings.Repeat("x", core.MaxInput))
	if err := f.put(block, false); err != nil {
		t.Fatal(err)
	}
	// Until the writer is stuck, what it has written makes room.
	eventually(t, "a full pipe", func() bool { return f.put([]byte("y"), false) == nil || heldOf(f) < core.MaxInput })
	err := f.put(block, true)
	if core.CodeOf(err) != core.CodeStdinBusy || !core.AsError(err).Retryable {
		t.Fatalf("more than is held: %v", err)
	}
	go func() {
		time.Sleep(time.Millisecond)
		_ = f.put(nil, true)
	}()
	got, err := io.ReadAll(r)
	if n := strings.Count(string(got), "x"); err != nil || n != core.MaxInput {
		t.Errorf("%d bytes of the first input, want %d; %v", n, core.MaxInput, err)
	}
}

func heldOf(f *stdinWriter) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

func TestInputOfAProcessThatIsGoneIsRefused(t *testing.T) {
	r, w := inputPipe(t)
	f := newStdinWriter(w, false)
	r.Close()
	eventually(t, "stdin_closed", func() bool { return core.CodeOf(f.put([]byte("x"), false)) == core.CodeStdinClosed })
}
