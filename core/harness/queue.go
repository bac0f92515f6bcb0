package harness

// queue is a bounded queue. Whoever finds it full waits in line; it has no
// memory before the first thing and none behind forget.
type queue[T any] struct {
	lies []T          // at most bound
	line []waiting[T] // not empty only while lies is full
}

// waiting is something that there is no room for yet. in, which has room, gets
// true when it lies in the queue, false when it never will.
type waiting[T any] struct {
	what T
	in   chan bool
}

// put adds to the queue, or else to the line.
func (q *queue[T]) put(x T, bound int) (in <-chan bool) {
	if len(q.lies) < bound {
		q.lies = append(q.lies, x)
		return nil
	}
	w := waiting[T]{x, make(chan bool, 1)}
	q.line = append(q.line, w)
	return w.in
}

// leave takes something off the line. It is not ok when it is not there any
// more.
func (q *queue[T]) leave(in <-chan bool) (ok bool) {
	for i, w := range q.line {
		if w.in == in {
			q.line = append(q.line[:i:i], q.line[i+1:]...)
			return true
		}
	}
	return false
}

// take moves the first n to into, and what waits into their place.
func (q *queue[T]) take(n int, into []T) []T {
	bound := len(q.lies) // what waits shows that it is full
	into = append(into, q.lies[:n]...)
	left := copy(q.lies, q.lies[n:])
	clear(q.lies[left:])
	q.lies = q.lies[:left]
	for len(q.line) > 0 && len(q.lies) < bound {
		q.lies = append(q.lies, q.line[0].what)
		q.line[0].in <- true
		q.line[0] = waiting[T]{}
		q.line = q.line[1:]
	}
	return into
}

// close empties the queue, turns the line away and gives what lay there.
func (q *queue[T]) close() []T {
	for _, w := range q.line {
		w.in <- false
	}
	lies := q.lies
	q.lies, q.line = nil, nil
	return lies
}

// forget gives the memory of an empty queue back.
func (q *queue[T]) forget() { q.lies, q.line = nil, nil }
