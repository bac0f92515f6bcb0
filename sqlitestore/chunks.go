package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Compression of chunks. One encoder and one decoder serve the whole process;
// each call of theirs stands alone. A block unpacks to at most maxChunk.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow))
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

// readChunk returns the blocks of a chunk.
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

// turnsIn returns the turns that a block's events belong to.
func turnsIn(events []byte) (turns []string, err error) {
	f := framesOf(events)
	for f.next() {
		turns = withTurn(turns, f.turn)
	}
	return turns, f.err()
}

// chunk is a chunk that is to be written.
type chunk struct {
	first, last uint64
	n           int
	types       int64
	turns       []string
	data, raw   []byte
}

// withTurn adds a turn to those that a chunk has events of.
func withTurn(turns []string, id string) []string {
	if n := len(turns); id == "" || n > 0 && turns[n-1] == id || slices.Contains(turns, id) {
		return turns
	}
	return append(turns, id)
}

// chunker packs a run of events of one resource into chunks.
type chunker struct {
	after uint64 // what comes up to here is left out
	done  []chunk
	open  chunk
	block block
}

// add takes the events of a block and their raw frames.
func (c *chunker) add(events, raw []byte) error {
	f, raws := framesOf(events), rawFrames{reader: reader{data: raw}}
	for f.next() {
		if f.seq <= c.after {
			continue
		}
		if c.open.n == 0 {
			c.open.first = f.seq
		}
		c.block.addFrame(&f.frame, raws.of(f.seq))
		c.open.last, c.open.types, c.open.turns = f.seq, c.open.types|f.mask(), withTurn(c.open.turns, f.turn)
		if c.open.n++; c.open.n == chunkEvents || len(c.block.events)+len(c.block.raw) >= chunkBytes {
			c.close()
		}
	}
	if raws.bad {
		return errBlock
	}
	return f.err()
}

// close ends the open chunk, if it has anything.
func (c *chunker) close() {
	if c.open.n == 0 {
		return
	}
	c.open.data = compress(c.block.events)
	if len(c.block.raw) > 0 {
		c.open.raw = compress(c.block.raw)
	}
	c.done = append(c.done, c.open)
	c.open = chunk{}
	c.block = block{events: c.block.events[:0], raw: c.block.raw[:0]}
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
