package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Crash is how a store is tried by killing the process that writes to it.
type Crash struct {
	// Open opens the data at a path, and makes it when there is none.
	Open func(ctx context.Context, path string) (core.Store, error)
	// Check returns what is wrong with the data beyond what the interface of a
	// store shows; may be nil.
	Check func(ctx context.Context, s core.Store) error
}

const (
	// crashVar makes a test binary the writer of RunCrash: its value is the
	// path of the data.
	crashVar = "STORETEST_CRASH_PATH"

	crashRounds  = 3 // with one writer, and so many kills again with three side by side
	crashWriters = 3
	crashStreams = 4 // resources that each writer writes side by side
	crashLeast   = 40
	crashMost    = 300                   // acknowledged commits before the kill
	crashWait    = 50 * time.Millisecond // at most this long after them, at random
	crashPause   = 10 * time.Millisecond // at most, between two commits of a resource
)

// Writer is for the test binary that calls RunCrash, first in TestMain:
// in a process that RunCrash started it writes until it is killed, and does not
// return; in any other it does nothing.
func (c Crash) Writer() {
	path := os.Getenv(crashVar)
	if path == "" {
		return
	}
	if err := c.write(context.Background(), path, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(1) // it was to be killed
}

// write commits batch after batch to some resources of its own and prints each
// that the store has acknowledged.
func (c Crash) write(ctx context.Context, path string, out io.Writer) error {
	s, err := c.Open(ctx, path)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	failed := make(chan error, crashStreams)
	for n := range crashStreams {
		go func() {
			id := fmt.Sprintf("%s-%d", s.Instance(), n)
			for seq := uint64(0); ; {
				b := crashBatch(id, s.Instance(), seq)
				if err := s.Commit(ctx, b); err != nil {
					failed <- err
					return
				}
				seq = b.Events[len(b.Events)-1].Seq
				mu.Lock()
				fmt.Fprintln(out, id, seq)
				mu.Unlock()
				time.Sleep(rand.N(crashPause)) // agents pause too, and another may open the store meanwhile
			}
		}()
	}
	return <-failed
}

// crashBatch is the batch of a resource after seq: its content follows from that
// alone, so that a reader knows what must be there.
func crashBatch(id, instance string, seq uint64) core.Batch {
	b := core.Batch{Owner: ann, Resource: id, Instance: instance, ExpectSeq: seq, Create: seq == 0}
	for range 1 + seq%4 {
		seq++
		b.Events = append(b.Events, event(id, seq))
	}
	b.Session = session(ann, id, int(seq))
	b.Turns = []core.TurnRecord{turn(ann, id, crashID(id, seq), int(seq))}
	b.Keys = []core.KeyRecord{{Owner: ann, Tool: "tool", Key: crashID(id, seq), ArgsHash: "h", Resource: id, At: at(int(seq))}}
	return b
}

func crashID(id string, seq uint64) string { return id + "-" + strconv.FormatUint(seq, 10) }

// RunCrash has processes of this test binary write to one place and kills them
// at random moments, again and again, while others go on. What was acknowledged
// must be there, whole, and of what was not all of a batch or nothing.
func RunCrash(t *testing.T, c Crash) {
	for writers := 1; writers <= crashWriters; writers += crashWriters - 1 {
		t.Run(fmt.Sprintf("%d writers", writers), func(t *testing.T) {
			path := t.TempDir() + "/data"
			all := map[string]uint64{}
			running := make([]*crashWriter, writers)
			for i := range running {
				running[i] = startCrashWriter(t, path)
			}
			for range crashRounds / writers {
				for i, w := range running {
					acked := w.kill(t)
					if err := c.inspect(t.Context(), path, acked); err != nil {
						t.Fatal(err)
					}
					maps.Copy(all, acked)
					running[i] = startCrashWriter(t, path)
				}
			}
			for _, w := range running {
				maps.Copy(all, w.kill(t))
			}
			if err := c.inspect(t.Context(), path, all); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d resources were written", len(all))
		})
	}
}

// inspect opens the data, as the next process would, and looks through it.
func (c Crash) inspect(ctx context.Context, path string, acked map[string]uint64) error {
	s, err := c.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("opening after a kill: %w", err)
	}
	defer s.Close()
	if c.Check != nil {
		if err := c.Check(ctx, s); err != nil {
			return err
		}
	}
	for id, seq := range acked {
		if err := crashed(ctx, s, id, seq); err != nil {
			return fmt.Errorf("%s, acknowledged up to %d: %w", id, seq, err)
		}
	}
	return nil
}

// crashed wants of a resource all batches up to an acknowledged seq, and maybe
// one more. A writer that goes on has many more.
func crashed(ctx context.Context, s core.Store, id string, acked uint64) error {
	last, err := s.LastSeq(ctx, ann, id)
	if err != nil {
		return err
	}
	if last < acked {
		return fmt.Errorf("the last seq is %d: an acknowledged commit is gone", last)
	}
	got, err := s.Events(ctx, core.EventQuery{Owner: ann, Resource: id, Until: last, Limit: int(last) + 1})
	if err != nil {
		return err
	}
	var want []core.Event
	for uint64(len(want)) < last {
		b := crashBatch(id, "", uint64(len(want)))
		end := b.Events[len(b.Events)-1].Seq
		if end > last {
			return fmt.Errorf("the last seq is %d: half a batch is there", last)
		}
		want = append(want, b.Events...)
		if end+4 < acked && end%17 != 0 {
			continue // of old batches only some rows are looked at
		}
		if _, err := s.Turn(ctx, ann, crashID(id, end)); err != nil {
			return fmt.Errorf("the turn of seq %d: %w", end, err)
		}
		if _, err := s.Key(ctx, ann, "tool", crashID(id, end)); err != nil {
			return fmt.Errorf("the key of seq %d: %w", end, err)
		}
	}
	return same("the events", got, want)
}

// crashWriter is a process that writes until it is killed.
type crashWriter struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startCrashWriter(t *testing.T, path string) *crashWriter {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = []string{crashVar + "=" + path, "HOME=" + home, "TMPDIR=" + home}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &crashWriter{cmd: cmd, lines: bufio.NewScanner(out)}
}

// kill ends the writer at some moment and returns what it had printed: that has
// been acknowledged.
func (w *crashWriter) kill(t *testing.T) (acked map[string]uint64) {
	t.Helper()
	acked = map[string]uint64{}
	note := func() bool {
		var id string
		var seq uint64
		if !w.lines.Scan() {
			return false
		}
		if n, _ := fmt.Sscan(w.lines.Text(), &id, &seq); n == 2 { // the last line may be torn
			acked[id] = max(acked[id], seq)
		}
		return true
	}
	for range crashLeast + rand.IntN(crashMost-crashLeast) {
		if !note() {
			t.Fatal("the writer ended by itself; TestMain calls Writer first")
		}
	}
	timer := time.AfterFunc(rand.N(crashWait), func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	for note() {
	}
	var exit *exec.ExitError
	if err := w.cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the killed writer ended with %v", err)
	}
	return acked
}
