package harness

import "github.com/harness-mcp/harness-mcp/core/machine"

// unstored carries out what the machine decided of a batch that the store did
// not take because of err. failed is the batch as it was built when it may still
// come to the disk, nil when it cannot.
func (a *actor) unstored(before mark, batch []machine.Input, u machine.Unstored, failed *pendingBatch, err error) {
	if u.Stands {
		a.commit(before, batch, u.Effects)
		return
	}
	if u.Taken {
		a.log().Error("another server has taken the session; it ends here", "err", err)
		a.taken = true
	}
	if failed != nil {
		a.log().Log(a.host.ctx, a.host.outage.Began(), "the journal could not be written; sessions that write to it are stopped", "err", err)
	}
	a.goBack(before) // timers that were due fire again by themselves
	a.again = append(u.Again, a.again...)
	if u.Ends {
		a.endUnstored(failed)
	}
	for _, r := range u.Refused {
		a.answer(r)
	}
}

// endUnstored ends the session without a commit. With a batch that failed, what
// it would have stored is kept for the store's return.
func (a *actor) endUnstored(failed *pendingBatch) {
	if failed != nil {
		a.newLost(*failed)
	}
	out := a.step(machine.StoreFailed{Message: "the journal could not be written", Stop: true})
	b := a.build(out)
	if failed != nil {
		a.keepLost(b)
	}
	a.committed(b)
	a.release(out)
}
