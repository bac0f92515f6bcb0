// Package core is the domain of harness-mcp: conversations with coding agents
// as supervised resources with a durable journal. It knows no protocol, no
// database and no operating-system process; those are behind the seams Store,
// Provider and Conn, and everything above sees only Harness.
//
// # The model
//
// A session is one conversation with an agent. A turn is one unit of work in
// it. A request is a question or approval that blocks a turn. Each step of all
// of them is an Event in the session's journal, ordered by Seq. Callers see
// snapshots (Session, Turn, Request), and read the journal by cursor.
//
// # Who decides
//
// What a session does is one pure function, step (step.go and its parts): it
// takes the State and an Input and returns the next State and a list of Effects.
// It has no goroutine, clock, channel or I/O. A State has facts; the status that
// callers read is derived from them. So a race is the order of inputs, and every
// order can be played in a test. What becomes of inputs that the store did not
// take (step_unstored.go) and what Telemetry is told (observation.go) are
// functions of the same values.
//
// An actor (actor.go) hosts one session. It takes an input, drains what else
// waits, steps it all, makes one Store.Commit, and then carries out the effects,
// in order. The Harness checks arguments that do not depend on the session, finds
// the actor or hosts the session, and waits.
//
// # What is promised
//
//   - What was told was stored: replies, ops and wakes come after the commit
//     (unless the store fails and the session says that it is degraded).
//   - Seq strictly increases in a journal. A turn has exactly one terminal
//     event, its last; its requests end before it.
//   - Only the provider's own terminal record completes a turn.
//   - Every command gets exactly one reply, and every wait has a bound.
//   - A caller's context ends its wait, never the work. (One exception: a start
//     without key or chosen id, before it is ready.)
//
// # Goroutines
//
// A live session has two goroutines for its whole life: the loop of its actor
// (actor.go) and the reader of its Conn (actor_link.go). An opener, a closer and
// an attempt to write what a failed store missed (catchup.go) run beside them for
// a bounded time. The Harness has one housekeeper and one that takes answers.
// Shutdown waits for all of them. A session at rest has none: the next command
// hosts it again from the store.
package core
