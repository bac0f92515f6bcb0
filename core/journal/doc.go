// Package journal keeps the events of one live resource, a session or a process:
// the recent ones in memory (Ring), wakes for those who watch (Wakes), the reading
// of both memory and store, and the one writer of what a failing store has missed
// (Catchup). Journal is all of that for the host of a process.
//
// A reader never copies per subscriber: it is woken, wakes merge, and it reads
// again from its cursor.
package journal
