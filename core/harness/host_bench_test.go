package harness_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/core/harness"
	"github.com/harness-mcp/harness-mcp/core/memstore"
)

// tickStore takes as long for a commit as a disk, and counts.
type tickStore struct {
	core.Store
	took    time.Duration
	commits atomic.Int64
	events  atomic.Int64
}

func (s *tickStore) Commit(ctx context.Context, b core.Batch) error {
	s.commits.Add(1)
	s.events.Add(int64(len(b.Events)))
	time.Sleep(s.took)
	return nil
}

// What the host adds to an event: of many sessions that talk at a time.
func BenchmarkHost(b *testing.B) {
	for _, n := range []int{1, 64, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := &tickStore{Store: memstore.New(), took: time.Millisecond}
			h := harness.New(harness.Config{Store: store, Providers: []core.Provider{talker{newFake()}}, Limits: core.Limits{MaxSessions: n}})
			defer h.Shutdown(context.Background())
			ids := make([]string, n)
			dir := b.TempDir()
			for i := range ids {
				v, err := h.StartSession(b.Context(), me, core.StartRequest{Config: core.SessionConfig{Provider: "fake", CWD: dir, SandboxMode: core.SandboxReadOnly}})
				if err != nil {
					b.Fatal(err)
				}
				ids[i] = v.Session.ID
			}
			each := max(1, b.N/n)
			store.commits.Store(0)
			store.events.Store(0)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, id := range ids {
				wg.Go(func() {
					t, err := h.SendMessage(b.Context(), me, core.SendRequest{SessionID: id, Input: core.TurnInput{Prompt: fmt.Sprint(each)}})
					if err == nil {
						_, err = h.Await(b.Context(), me, core.AwaitRequest{IDs: []string{t.ID}, Wait: time.Hour})
					}
					if err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(store.events.Load())/float64(store.commits.Load()), "events/commit")
		})
	}
}
