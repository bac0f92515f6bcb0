package storetest

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// TestWhatACrashMayNotLeaveIsNoticed runs the check after a crash on a store that
// has lost something.
func TestWhatACrashMayNotLeaveIsNoticed(t *testing.T) {
	const id = "ins_x-0"
	const stored = 10 // 1 + 2 + 4 + 3
	whole := func(*core.Batch) {}
	for name, c := range map[string]struct {
		acked  uint64
		change func(b *core.Batch) // of each batch
		says   string
	}{
		"nothing":                 {stored, whole, ""},
		"more than was said":      {3, whole, ""},
		"an acknowledged commit":  {stored + 3, whole, "acknowledged commit is gone"},
		"half a batch":            {6, func(b *core.Batch) { b.Events = b.Events[:min(len(b.Events), 3)] }, "half a batch"},
		"the turn of the last":    {stored, func(b *core.Batch) { b.Turns = nil }, "the turn of seq"},
		"the key of the last":     {stored, func(b *core.Batch) { b.Keys = nil }, "the key of seq"},
		"what stands in an event": {stored, func(b *core.Batch) { b.Events[0].Data = []byte(`{}`) }, "the events:"},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			for seq := uint64(0); seq < stored; {
				b := crashBatch(id, "ins_x", seq)
				seq = b.Events[len(b.Events)-1].Seq
				b.Events = slices.Clone(b.Events)
				c.change(&b)
				if err := s.Commit(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				if name == "half a batch" && seq >= 7 {
					break
				}
			}
			err := crashed(t.Context(), s, id, c.acked)
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("the look after the crash says: %v", err)
			}
		})
	}
}

func TestAWriterSaysWhatWasAcknowledgedUntilTheStoreFails(t *testing.T) {
	s := memstore.New()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Crash{Open: func(context.Context, string) (core.Store, error) { return s, nil }}.write(t.Context(), "", in)
	}()
	buf := make([]byte, 256)
	if n, err := out.Read(buf); err != nil || !strings.HasPrefix(string(buf[:n]), s.Instance()) {
		t.Errorf("it says %q, %v", buf[:n], err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := <-done; err == nil {
		t.Error("it goes on without a store")
	}
	in.Close()
}
