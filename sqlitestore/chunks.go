package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/harness-mcp/harness-mcp/core"
)

// Compression of chunks. One encoder and one decoder serve the whole process;
// each call of theirs stands alone. A block unpacks to at most maxChunk.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(readerConns+1), zstd.WithDecoderMaxMemory(maxChunk))
		if err != nil {
			panic(err)
		}
		return d
	})
)

func compress(b []byte) []byte { return encoder().EncodeAll(b, nil) }

func decompress(b []byte) ([]byte, error) {
	out, err := decoder().DecodeAll(b, nil)
	if err != nil {
		return nil, fmt.Errorf("unpacking a chunk: %w", err)
	}
	return out, nil
}

// readChunk gives the blocks of a chunk.
func readChunk(ctx context.Context, c *conn, key int64, raw bool) (events, frames []byte, err error) {
	var data []byte
	if _, err = c.one(ctx, "SELECT data FROM chunk WHERE key = ?", []any{key}, &data); err != nil {
		return nil, nil, err
	}
	if events, err = decompress(data); err != nil || !raw {
		return events, nil, err
	}
	data = nil
	if found, err := c.one(ctx, "SELECT data FROM chunk_raw WHERE chunk = ?", []any{key}, &data); err != nil || !found {
		return events, nil, err
	}
	frames, err = decompress(data)
	return events, frames, err
}

// turnsOf gives the turns that a chunk's events belong to.
func turnsOf(data []byte) (turns []string, err error) {
	events, err := decompress(data)
	if err != nil {
		return nil, err
	}
	err = eachEvent(events, "", func(ev core.Event) bool {
		if ev.TurnID != "" && !slices.Contains(turns, ev.TurnID) {
			turns = append(turns, ev.TurnID)
		}
		return true
	})
	return turns, err
}

// chunk is a chunk that is to be written.
type chunk struct {
	first, last uint64
	n           int
	types       int64
	turns       []string
	data, raw   []byte
}

// chunksOf packs a run of events.
func chunksOf(events []core.Event) (out []chunk) {
	for len(events) > 0 {
		c := chunk{first: events[0].Seq}
		var b block
		for c.n < len(events) && c.n < chunkEvents && (c.n == 0 || len(b.events)+len(b.raw) < chunkBytes) {
			ev := events[c.n]
			b.add(ev)
			c.types |= typeMask(ev.Type)
			if ev.TurnID != "" && (len(c.turns) == 0 || c.turns[len(c.turns)-1] != ev.TurnID) && !slices.Contains(c.turns, ev.TurnID) {
				c.turns = append(c.turns, ev.TurnID)
			}
			c.last = ev.Seq
			c.n++
		}
		events = events[c.n:]
		c.data = compress(b.events)
		if len(b.raw) > 0 {
			c.raw = compress(b.raw)
		}
		out = append(out, c)
	}
	return out
}

func (c *chunk) put(tx *tx, resource int64) error {
	r, err := tx.exec("INSERT INTO chunk (resource, first, last, types, n, data) VALUES (?, ?, ?, ?, ?, ?)",
		resource, c.first, c.last, c.types, c.n, c.data)
	if err != nil {
		return err
	}
	key, err := r.LastInsertId()
	if err != nil {
		return err
	}
	for _, turn := range c.turns {
		if _, err := tx.run("INSERT INTO chunk_turn (resource, turn, chunk) VALUES (?, ?, ?)", resource, turn, key); err != nil {
			return err
		}
	}
	if c.raw == nil {
		return nil
	}
	_, err = tx.run("INSERT INTO chunk_raw (chunk, data) VALUES (?, ?)", key, c.raw)
	return err
}
