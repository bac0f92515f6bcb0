package harness

// Watch wakes ch, which needs room for one, after each change of a session that
// is hosted here, of any owner, until stop. Wakes merge: the watcher reads what
// has changed.
func (h *Harness) Watch(ch chan<- struct{}) (stop func()) { return h.changes.Watch(ch) }

// WatchProcess wakes ch, which needs room for one, after each change of a process
// that runs here, until stop. It is not ok for any other process.
func (h *Harness) WatchProcess(owner, id string, ch chan<- struct{}) (stop func(), ok bool) {
	if h.processes == nil {
		return nil, false
	}
	return h.processes.Watch(owner, id, ch)
}
