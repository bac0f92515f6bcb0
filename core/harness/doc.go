// Package harness hosts sessions and is what callers use: it starts, finds,
// resumes and ends sessions and processes, reads their journals, joins calls with
// the same idempotency key, waits, and recovers what dead servers left.
//
// # One goroutine per session
//
// An actor (actor.go) hosts one live session in one goroutine for its whole life.
// The loop computes its next deadline, waits for a command, a report or a timer,
// steps all that is there, makes one Store.Commit and then releases what the
// effects ask for, in order. Nothing blocks it but its inbox and the store.
// Commands have a channel of their own, so none waits behind output. A full
// channel of reports blocks the reader of the Conn, which is the back-pressure on
// the agent.
//
// Beside it a session has one reader of its Conn (actor_link.go); an opener, a
// closer and an attempt to write what a failed store missed run for a bounded
// time. A Harness has one housekeeper and one goroutine that takes answers.
// Shutdown waits for all of them. A session that is not live has none: the next
// command hosts it again from the store.
package harness
