package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/harness-mcp/harness-mcp/core"
	"github.com/harness-mcp/harness-mcp/sqlitestore"
)

const owner = "bench"

// payload is the data of an event of about 400 bytes in all.
func payload(n uint64) json.RawMessage {
	return fmt.Appendf(nil, `{"item":"msg_1","text":"%0300d"}`, n)
}

// eventBytes is what an event of payload comes to.
const eventBytes = 400

func session(id string) core.Batch {
	now := time.Now()
	return core.Batch{Owner: owner, Resource: id, Instance: "ins_bench", Create: true, Session: &core.SessionRecord{
		Session: core.Session{ID: id, Owner: owner, Provider: "bench", Status: core.StatusIdle, CreatedAt: now, UpdatedAt: now}}}
}

// further is a batch of n events behind after.
func further(id string, after uint64, n int) core.Batch {
	b := core.Batch{Owner: owner, Resource: id, Instance: "ins_bench", ExpectSeq: after}
	for i := range n {
		seq := after + uint64(i) + 1
		b.Events = append(b.Events, core.Event{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: id, Seq: seq,
			TurnID: "trn_0123456789", Provider: "bench", Type: core.TypeMessageDelta, At: time.Now(), Data: payload(seq)})
	}
	return b
}

// floor appends to a file and syncs, as a plain journal would.
type floor struct{ f *os.File }

func newFloor(dir string) (*floor, error) {
	f, err := os.Create(filepath.Join(dir, "floor"))
	return &floor{f}, err
}

func (f *floor) write(n int) error {
	if _, err := f.f.Write(make([]byte, n)); err != nil {
		return err
	}
	return unix.Fdatasync(int(f.f.Fd()))
}

// appending compares commits of many sessions with the floor: what a perfect
// group commit would do is one append and one sync for a round of all.
func appending(ctx context.Context, dir string) (rows []row, err error) {
	for _, c := range []struct {
		sessions, perRound int
		goal               string
	}{{1, 200, "-"}, {64, 100, "0.7"}, {1000, 20, "0.4"}} {
		if *sessionsOnly != 0 && c.sessions != *sessionsOnly {
			continue
		}
		ratios, err := appendWith(ctx, dir, c.sessions, c.perRound)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("durable append, the store alone, %d sessions / raw append and fdatasync", c.sessions), spread(ratios), c.goal})
	}
	return rows, nil
}

func appendWith(ctx context.Context, dir string, sessions, perRound int) (ratios []float64, err error) {
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, fmt.Sprintf("append%d.db", sessions)), sqlitestore.Options{Durability: sqlitestore.Full})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f, err := newFloor(dir)
	if err != nil {
		return nil, err
	}
	defer f.f.Close()
	for i := range sessions {
		if err := s.Commit(ctx, session(fmt.Sprint("s", i))); err != nil {
			return nil, err
		}
	}
	base := uint64(0)
	for range *rounds {
		batches := make([][]core.Batch, sessions)
		for i := range batches {
			for k := range perRound {
				batches[i] = append(batches[i], further(fmt.Sprint("s", i), base+uint64(k), 1))
			}
		}
		base += uint64(perRound)
		write, stop := f.grouped()
		defer stop()
		begin := time.Now()
		if err := sideBySide(sessions, func(int) error {
			for range perRound {
				if err := write(eventBytes); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		middle, cpu := time.Now(), processorTime()
		if err := sideBySide(sessions, func(i int) error {
			for _, b := range batches[i] {
				if err := s.Commit(ctx, b); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		took := time.Since(middle)
		details("%d sessions: floor %.2f, journal %.2f us/event, of which %.2f us of processor time", sessions,
			per(middle.Sub(begin), sessions*perRound), per(took, sessions*perRound), per(processorTime()-cpu, sessions*perRound))
		ratios = append(ratios, float64(middle.Sub(begin))/float64(took))
	}
	return ratios, nil
}

// sideBySide runs f n times at once.
func sideBySide(n int, f func(i int) error) error {
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// pacing lets 1,000 sessions write 20 events a second each, and measures how
// long each waits for its acknowledgement. The floor is a file with the same
// group commit before it.
func pacing(ctx context.Context, dir string) ([]row, error) {
	const sessions, every = 1000, 50 * time.Millisecond
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "paced.db"), sqlitestore.Options{Durability: sqlitestore.Full})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f, err := newFloor(dir)
	if err != nil {
		return nil, err
	}
	defer f.f.Close()
	for i := range sessions {
		if err := s.Commit(ctx, session(fmt.Sprint("s", i))); err != nil {
			return nil, err
		}
	}
	last := make([]uint64, sessions)
	var ratios []float64
	var worst, base []time.Duration
	for range max(3, *rounds/2) {
		write, stop := f.grouped()
		raw, err := pace(sessions, every, func(int) error { return write(eventBytes) })
		stop()
		if err != nil {
			return nil, err
		}
		ours, err := pace(sessions, every, func(i int) error {
			b := further(fmt.Sprint("s", i), last[i], 1)
			last[i]++
			return s.Commit(ctx, b)
		})
		if err != nil {
			return nil, err
		}
		base, worst = append(base, quantile(raw, 0.99)), append(worst, quantile(ours, 0.99))
		ratios = append(ratios, float64(worst[len(worst)-1])/float64(base[len(base)-1]))
	}
	return []row{{"1,000 sessions at 20 events/s: acknowledged p99 / the floor's p99",
		fmt.Sprintf("%s; %s / %s", spread(ratios), ms(median(worst)), ms(median(base))), "at most 3"}}, nil
}

// grouped is the floor behind a group commit as simple as one can be: callers
// wait for one writer, which appends what lies there and syncs once for all.
func (f *floor) grouped() (write func(n int) error, stop func()) {
	type wish struct {
		n    int
		done chan error
	}
	queue := make(chan wish, 4096)
	go func() {
		for first := range queue {
			group, bytes := []wish{first}, first.n
			for more := true; more; {
				select {
				case w, ok := <-queue:
					if more = ok; ok {
						group, bytes = append(group, w), bytes+w.n
					}
				default:
					more = false
				}
			}
			err := f.write(bytes)
			for _, w := range group {
				w.done <- err
			}
		}
	}()
	return func(n int) error {
		w := wish{n, make(chan error, 1)}
		queue <- w
		return <-w.done
	}, func() { close(queue) }
}

func pace(sessions int, every time.Duration, write func(i int) error) (took []time.Duration, err error) {
	each := make([][]time.Duration, sessions)
	end := time.Now().Add(*paced)
	err = sideBySide(sessions, func(i int) error {
		next := time.Now().Add(every * time.Duration(i) / time.Duration(sessions))
		for next.Before(end) {
			time.Sleep(time.Until(next))
			begin := time.Now()
			if err := write(i); err != nil {
				return err
			}
			each[i] = append(each[i], time.Since(begin))
			next = next.Add(every)
		}
		return nil
	})
	for _, d := range each {
		took = append(took, d...)
	}
	return took, err
}

// disk packs the recorded conversations of real agents and compares what the
// file grows by with what they are.
func disk(ctx context.Context, dir string) ([]row, error) {
	files, err := filepath.Glob(filepath.Join(*root, "providers/*/testdata/*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("no recorded transcripts"))
	}
	path := filepath.Join(dir, "disk.db")
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Durability: sqlitestore.Normal})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	before, err := s.Size(ctx)
	if err != nil {
		return nil, err
	}
	raw, n := int64(0), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		id := strings.ReplaceAll(filepath.Base(file), ".jsonl", "") + fmt.Sprint(n)
		b := session(id)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if !json.Valid([]byte(line)) {
				continue
			}
			seq := uint64(len(b.Events) + 1)
			b.Events = append(b.Events, core.Event{SchemaVersion: core.SchemaVersion, ID: core.NewEventID(), Resource: id, Seq: seq, TurnID: "trn_0123456789",
				Provider: "bench", Type: core.TypeProviderEvent, At: time.Now(), Data: json.RawMessage(line), Raw: json.RawMessage(line)})
			raw += 2 * int64(len(line))
			n++
		}
		if err := s.Commit(ctx, b); err != nil {
			return nil, err
		}
	}
	if err := s.Pack(ctx); err != nil {
		return nil, err
	}
	after, err := s.Size(ctx)
	if err != nil {
		return nil, err
	}
	return []row{{fmt.Sprintf("disk per event after packing / its bytes, %d recorded frames as data and as raw", n), fmt.Sprintf("%.2f", float64(after-before)/float64(raw)), "at most 0.4"}}, nil
}
