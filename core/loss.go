package core

import (
	"context"
	"time"
)

// LossNotes is what a Store may have beside its data: a place where a server
// notes whose journal is not being written, for the case that it dies before it
// is again. The data itself cannot say so, since that is what fails. Notes are
// for the next server only and a best effort: one that cannot be made is no
// error for anyone but the log.
type LossNotes interface {
	// NoteLoss notes that this server has what is not stored of a resource.
	NoteLoss(owner, id string) error
	// ForgetLoss drops the note of an instance; one that is not there is no
	// error.
	ForgetLoss(instance, owner, id string) error
	// LossNoted says whether an instance has noted a resource.
	LossNoted(instance, owner, id string) bool
	// SweepLosses drops notes of dead instances that are older than before.
	SweepLosses(before time.Time) error
}

// noteWait bounds how long anyone waits for a note: the disk it is on may be
// the one that stands still.
const noteWait = 100 * time.Millisecond

// noteLoss notes that a resource's journal is not being written, or is again.
func noteLoss(store Store, owner, id string, lost bool) {
	notes, ok := store.(LossNotes)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), noteWait)
	go func() {
		defer cancel()
		if lost {
			_ = notes.NoteLoss(owner, id) // it is a best effort
		} else {
			_ = notes.ForgetLoss(store.Instance(), owner, id)
		}
	}()
	<-ctx.Done()
}
