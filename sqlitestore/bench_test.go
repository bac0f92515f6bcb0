//go:build linux

package sqlitestore

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/harness-mcp/harness-mcp/core"
)

// The benchmarks compare the store with a floor that is measured in the same
// run, turn by turn: the same bytes appended to a file and synced, or read
// from one. x_floor is the median ratio of the floor's time to the store's, so
// 1 is as fast as the disk and 0.5 takes twice as long. Absolute times say
// more about the machine than about the store.

// ratio collects pairs of times.
type ratio struct{ floor, store []time.Duration }

func (r *ratio) add(floor, store func()) {
	start := time.Now()
	floor()
	middle := time.Now()
	store()
	r.floor = append(r.floor, middle.Sub(start))
	r.store = append(r.store, time.Since(middle))
}

func (r *ratio) report(b *testing.B, events int) {
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2])
	}
	floor, store := median(r.floor), median(r.store)
	b.ReportMetric(floor/store, "x_floor")
	b.ReportMetric(store/float64(events)/1e3, "us/event")
	b.ReportMetric(0, "ns/op") // floor and store together: says nothing
}

// floorFile is the file that the floor is measured on.
func floorFile(b *testing.B) *os.File {
	f, err := os.Create(b.TempDir() + "/floor")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// appendSynced writes bytes as a plain journal would.
func appendSynced(b *testing.B, f *os.File, data []byte) {
	if _, err := f.Write(data); err != nil {
		b.Fatal(err)
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		b.Fatal(err)
	}
}

func openBench(b *testing.B, durability string) *Store {
	s, err := Open(b.Context(), b.TempDir()+"/harness.db", Options{Durability: durability})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Error(err)
	}
}

// batchBytes is about what the events of a batch come to.
func batchBytes(n int) []byte { return make([]byte, n*400) }

func BenchmarkCommit(b *testing.B) {
	for _, durability := range []string{Full, Normal} {
		for _, n := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("%s/%d", durability, n), func(b *testing.B) {
				s, f, data := openBench(b, durability), floorFile(b), batchBytes(n)
				must(b, s.Commit(b.Context(), newSession("s")))
				var r ratio
				last := uint64(0)
				for b.Loop() {
					batch := furtherBatch("s", last, n)
					last += uint64(n)
					r.add(
						func() { appendSynced(b, f, data) },
						func() { must(b, s.Commit(b.Context(), batch)) },
					)
				}
				r.report(b, n)
			})
		}
	}
}

// BenchmarkCommit64Sessions lets 64 sessions commit at once, each its next
// batch as soon as the one before is durable. The floor is what a perfect
// group commit would do: one append and one sync for a round of all.
func BenchmarkCommit64Sessions(b *testing.B) {
	const sessions, rounds = 64, 8
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, f, data := openBench(b, Full), floorFile(b), batchBytes(n*sessions)
			for i := range sessions {
				must(b, s.Commit(b.Context(), newSession(fmt.Sprint("s", i))))
			}
			var r ratio
			base := uint64(0)
			for b.Loop() {
				batches := make([][]core.Batch, sessions)
				for i := range batches {
					for k := range rounds {
						batches[i] = append(batches[i], furtherBatch(fmt.Sprint("s", i), base+uint64(k*n), n))
					}
				}
				base += uint64(rounds * n)
				r.add(
					func() {
						for range rounds {
							appendSynced(b, f, data)
						}
					},
					func() {
						var wg sync.WaitGroup
						for _, own := range batches {
							wg.Go(func() {
								for _, batch := range own {
									must(b, s.Commit(b.Context(), batch))
								}
							})
						}
						wg.Wait()
					},
				)
			}
			r.report(b, sessions*rounds*n)
		})
	}
}

// BenchmarkReplay reads pages at random places of a journal that was written
// together with 63 others. The floor reads the same bytes from a file.
func BenchmarkReplay(b *testing.B) {
	const sessions, perSession, batch = 64, 4096, 16
	s := openBench(b, Normal)
	for i := range sessions {
		must(b, s.Commit(b.Context(), newSession(fmt.Sprint("s", i))))
	}
	for seq := 0; seq < perSession; seq += batch {
		var wg sync.WaitGroup
		for i := range sessions {
			wg.Go(func() { must(b, s.Commit(b.Context(), furtherBatch(fmt.Sprint("s", i), uint64(seq), batch))) })
		}
		wg.Wait()
	}
	f := floorFile(b)
	if _, err := f.Write(batchBytes(perSession)); err != nil {
		b.Fatal(err)
	}
	for _, page := range []int{100, 1000} {
		queries := map[string]core.EventQuery{
			"cursor": {Owner: owner, Resource: "s7", Limit: page},
			"turn":   {Owner: owner, Resource: "s7", Limit: page, TurnID: "trn_0123456789"},
			"tail":   {Owner: owner, Resource: "s7", Limit: page, Tail: true},
		}
		for _, name := range []string{"cursor", "turn", "tail"} {
			b.Run(fmt.Sprintf("%s/%d", name, page), func(b *testing.B) {
				buf := batchBytes(page)
				q := queries[name]
				var r ratio
				for n := 0; b.Loop(); n++ {
					if !q.Tail {
						q.After = uint64(n * 977 % (perSession - page))
					}
					r.add(
						func() {
							if _, err := f.ReadAt(buf, int64(q.After)*400); err != nil {
								b.Fatal(err)
							}
						},
						func() {
							got, err := s.Events(b.Context(), q)
							if err != nil || len(got) != page {
								b.Fatalf("%d events, %v", len(got), err)
							}
						},
					)
				}
				r.report(b, page)
			})
		}
	}
}
