package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	data := bytes.Clone(blank)
	digits := strconv.AppendUint(nil, n, 10)
	copy(data[len(data)-len(`"}`)-len(digits):], digits)
	return data
}

var blank = fmt.Appendf(nil, `{"item":"msg_1","text":"%0300d"}`, 0)

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

func (f *floor) write(b []byte) error {
	if _, err := f.f.Write(b); err != nil {
		return err
	}
	return unix.Fdatasync(int(f.f.Fd()))
}

// untilPacked is the wait after which earlier writes are packed.
const untilPacked = 8 * time.Second

// appending compares commits of many sessions with the floor: the same callers
// with the same events before one that appends their bytes to a file and syncs.
func appending(ctx context.Context, dir string) (rows []row, err error) {
	for _, c := range []struct {
		sessions, perRound int
		goal               string
	}{{1, 200, "-"}, {64, 100, "0.7"}, {1000, 20, "0.4"}} {
		if *onlySessions != 0 && c.sessions != *onlySessions {
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
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, fmt.Sprintf("append%d.db", sessions)), sqlitestore.Options{Durability: *durability})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	f, err := newFloor(dir)
	if err != nil {
		return nil, err
	}
	defer f.f.Close()
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = fmt.Sprint("s", i)
		if err := s.Commit(ctx, session(ids[i])); err != nil {
			return nil, err
		}
	}
	write, stop := f.grouped()
	defer stop()
	first := *rounds * perRound // a journal that has been in use for a while
	if _, _, err := closedLoop(ids, 0, first, func(b core.Batch) error { return s.Commit(ctx, b) }); err != nil {
		return nil, err
	}
	time.Sleep(untilPacked)
	for r := range *rounds {
		base := uint64(first + r*perRound)
		raw, rawCPU, err := closedLoop(ids, base, perRound, func(b core.Batch) error { return write(b.Events[0]) })
		if err != nil {
			return nil, err
		}
		ours, cpu, err := closedLoop(ids, base, perRound, func(b core.Batch) error { return s.Commit(ctx, b) })
		if err != nil {
			return nil, err
		}
		details("%d sessions, us/event (of processor time): floor %.2f (%.2f), journal %.2f (%.2f)", sessions, raw, rawCPU, ours, cpu)
		ratios = append(ratios, raw/ours)
	}
	return ratios, nil
}

// closedLoop lets each session write events, one after another, and says what
// an event took in microseconds, of time and of the processor's.
func closedLoop(ids []string, base uint64, each int, write func(b core.Batch) error) (took, cpu float64, err error) {
	return timed(len(ids)*each, func() error {
		return sideBySide(len(ids), func(i int) error {
			for k := range each {
				if err := write(further(ids[i], base+uint64(k), 1)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// timed returns the time, and the processor's time, of each of n in microseconds.
func timed(n int, f func() error) (took, cpu float64, err error) {
	begin, used := time.Now(), processorTime()
	err = f()
	return per(time.Since(begin), n), per(processorTime()-used, n), err
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
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "paced.db"), sqlitestore.Options{Durability: *durability})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f, err := newFloor(dir)
	if err != nil {
		return nil, err
	}
	defer f.f.Close()
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = fmt.Sprint("s", i)
		if err := s.Commit(ctx, session(ids[i])); err != nil {
			return nil, err
		}
	}
	last := make([]uint64, sessions)
	var ratios []float64
	var worst, base []time.Duration
	for range max(5, *rounds/2) {
		write, stop := f.grouped()
		raw, err := pace(sessions, every, func(i int) error { return write(further(ids[i], 0, 1).Events[0]) })
		stop()
		if err != nil {
			return nil, err
		}
		ours, err := pace(sessions, every, func(i int) error {
			b := further(ids[i], last[i], 1)
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
// wait for one writer, which appends all that is queued and syncs once for all.
func (f *floor) grouped() (write func(ev core.Event) error, stop func()) {
	type wish struct {
		ev   core.Event
		done chan error
	}
	queue := make(chan wish, 4096)
	go func() {
		var group []wish
		var bytes []byte
		for first := range queue {
			group = append(group[:0], first)
			for more := true; more; {
				select {
				case w, ok := <-queue:
					if more = ok; ok {
						group = append(group, w)
					}
				default:
					more = false
				}
			}
			bytes = bytes[:0]
			for _, w := range group {
				bytes = append(bytes, w.ev.Data...)
				bytes = append(bytes, blank[:eventBytes-len(w.ev.Data)]...)
			}
			err := f.write(bytes)
			for _, w := range group {
				w.done <- err
			}
		}
	}()
	return func(ev core.Event) error {
		w := wish{ev, make(chan error, 1)}
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
