package ndjson

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// longLine is from where on a line has its memory given back.
	longLine = 4 << 20
	// reliefEvery is the pause before memory is given back and between two
	// times; reliefUntil is how long after the last long line that ends: by
	// then it has been stored, packed and read.
	reliefEvery = 3 * time.Second
	reliefUntil = 12 * time.Second
)

// relief is who gives memory back after long lines: a server that waits
// collects only every two minutes by itself, and returns what is free slowly.
// There is one for all readers, and nobody who reads waits for it.
var relief struct {
	last  atomic.Int64 // when the last long line came
	under atomic.Bool  // a timer runs
}

// relieve is told of a long line.
func relieve() {
	relief.last.Store(time.Now().UnixNano())
	if relief.under.CompareAndSwap(false, true) {
		time.AfterFunc(reliefEvery, giveBack)
	}
}

func giveBack() {
	debug.FreeOSMemory()
	if time.Since(time.Unix(0, relief.last.Load())) < reliefUntil {
		time.AfterFunc(reliefEvery, giveBack)
		return
	}
	relief.under.Store(false)
}
