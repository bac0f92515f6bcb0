// Package core is the domain of harness-mcp: conversations with coding agents
// as supervised resources with a durable journal. It has the values (sessions,
// turns, requests, processes, events, errors, ids) and the seams (Store,
// Provider, Conn, Processes, Workspace, Telemetry). It decides nothing and does
// nothing: that is for the packages below it.
//
//   - core/machine: what a session does on an input, a pure function.
//   - core/harness: the host of sessions, and what callers use.
//   - core/journal: the events of one live resource.
//   - core/redact: secrets out of everything that is stored or shown.
//   - core/memstore: a Store in memory.
//   - core/storetest, core/providertest: the conformance suites of the seams.
//
// # The model
//
// A session is one conversation with an agent. A turn is one unit of work in
// it. A request is a question or approval that blocks a turn. A process is a
// managed OS process that a caller started. A session or a process has a
// journal: each step is an Event, ordered by Seq. Callers read snapshots
// (Session, Turn, Request, ProcessSnapshot), and the journal by cursor.
//
// # What is promised
//
//   - A reply, an op to a provider and a wake come after the commit that makes
//     them true, unless the store fails and an event says so first.
//   - Seq strictly increases in a journal. A turn has exactly one terminal
//     event, its last; its requests end before it.
//   - Only the provider's own terminal record completes a turn.
//   - Every command gets exactly one reply, and every wait has a bound.
//   - A caller's context ends its wait, never the work. (One exception: a start
//     without key or chosen id, before it is ready.)
package core
