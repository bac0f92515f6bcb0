package core

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// BatchDigest identifies a batch by its content. It is keyed with secrets of
// this process, so that nobody can make two batches with one digest, and means
// nothing in another process: a batch is only ever repeated by its writer.
type BatchDigest [2 * digestWord]byte

const (
	digestWord = 8
	// digestInline is from what length, in bytes, a text is hashed by itself
	// instead of being copied to the others.
	digestInline = 1 << 10
	// digestKeep is the largest buffer that is kept for the next digest, in
	// bytes.
	digestKeep = 64 << 10
)

var (
	digestSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	digestBuf   = sync.Pool{New: func() any { return new(digester) }}
)

// digester gathers what is to be hashed.
type digester struct{ buf []byte }

func (d *digester) num(n uint64)  { d.buf = binary.AppendUvarint(d.buf, n) }
func (d *digester) text(s string) { d.num(uint64(len(s))); d.buf = append(d.buf, s...) }

func (d *digester) flag(on bool) {
	n := uint64(0)
	if on {
		n = 1
	}
	d.num(n)
}

func (d *digester) blob(b []byte) {
	d.num(uint64(len(b)))
	if len(b) < digestInline {
		d.buf = append(d.buf, b...)
		return
	}
	for _, seed := range digestSeeds {
		d.buf = binary.LittleEndian.AppendUint64(d.buf, maphash.Bytes(seed, b))
	}
}

func (d *digester) sum() (sum BatchDigest) {
	for i, seed := range digestSeeds {
		binary.LittleEndian.PutUint64(sum[i*digestWord:], maphash.Bytes(seed, d.buf))
	}
	return sum
}

// digest hashes all that a batch would write, each part with its length.
func (e *EncodedBatch) digest() BatchDigest {
	d := digestBuf.Get().(*digester)
	defer func() {
		if cap(d.buf) <= digestKeep {
			digestBuf.Put(d)
		}
	}()
	d.buf = d.buf[:0]
	d.text(e.Owner)
	d.text(e.Resource)
	d.text(e.Instance)
	d.num(e.ExpectSeq)
	d.flag(e.Create)
	d.flag(e.Replace)
	d.num(uint64(len(e.Events)))
	for i := range e.Events {
		ev := &e.Events[i]
		d.num(ev.Seq)
		d.text(ev.ID)
		d.text(ev.TurnID)
		d.text(ev.RequestID)
		d.text(ev.Provider)
		d.text(string(ev.Type))
		d.num(uint64(ev.At.UnixNano()))
		d.blob(ev.Data)
		d.blob(ev.Raw)
	}
	d.num(uint64(len(e.Rows)))
	for _, r := range e.Rows {
		d.text(string(r.Kind))
		d.blob(r.Body)
	}
	for i := range e.Keys {
		k := &e.Keys[i]
		for _, s := range [...]string{k.Owner, k.Tool, k.Key, k.ArgsHash, k.Resource, k.TurnID, k.Request} {
			d.text(s)
		}
	}
	return d.sum()
}
