package harness

// Watch wakes ch, which needs room for one, after each change of a session that
// is hosted here, whoever owns it. Wakes merge: the watcher looks for itself
// what has changed, as its owner.
func (h *Harness) Watch(ch chan<- struct{}) (stop func()) { return h.changes.Watch(ch) }

// WatchProcess wakes ch after each change of a process that runs here. It is
// not ok for any other.
func (h *Harness) WatchProcess(owner, id string, ch chan<- struct{}) (stop func(), ok bool) {
	if h.processes == nil {
		return nil, false
	}
	return h.processes.Watch(owner, id, ch)
}
