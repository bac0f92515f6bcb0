package ndjson

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// freeing returns memory to the system after long lines. An idle Go program
// collects garbage only every two minutes and returns memory slowly. There is one
// for all readers. Its timer ends freeUntil after the last long line, and no
// reader waits for it.
var freeing struct {
	last    atomic.Int64 // when the last long line came, in Unix nanoseconds
	running atomic.Bool  // the timer runs
}

// freeLater notes a long line, and starts the timer unless it runs.
func freeLater() {
	freeing.last.Store(time.Now().UnixNano())
	if freeing.running.CompareAndSwap(false, true) {
		time.AfterFunc(freeEvery, freeMemory)
	}
}

func freeMemory() {
	debug.FreeOSMemory()
	if time.Since(time.Unix(0, freeing.last.Load())) < freeUntil {
		time.AfterFunc(freeEvery, freeMemory)
		return
	}
	freeing.running.Store(false)
}
