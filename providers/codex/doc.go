// Package codex drives OpenAI's Codex by `codex app-server`: a JSON-RPC
// conversation on stdin and stdout, one process a session.
//
// # Layers
//
//   - providers/internal/ndjson, jsonrpc and link: lines, ids and the outbox;
//     the process, the connection and the notices that wait for Recv;
//   - internal/wire: the vendor's messages under the vendor's names;
//   - translate*.go: a pure translator. Frames and ops go in; notices and
//     frames come out. It does no I/O and has no clock, so recorded
//     conversations test it;
//   - conn.go and open.go: the only I/O, and the steps of the opening.
//
// # From the protocol to notices
//
// A turn is accepted by the response to turn/start and ends by turn/completed,
// by nothing else. An answer to one of Codex's requests has its proof in
// serverRequest/resolved.
//
// Codex completes no item that an interrupt, a steer or an error cut, so the
// translator closes what is open before it reports the end: messages with what
// was streamed of them, marked partial. Deltas that lack their last piece get
// it before the message, so that they join to it.
//
// turn/interrupt stops the model and leaves a running command alone, as a
// "background terminal". The end of an interrupted turn is therefore held back
// until its commands have ended too, for drainTimeout at most. Between the
// response to turn/start and turn/started Codex refuses the turn's own id, but
// takes an empty one.
//
// turn/start during a turn does not fail: it adds to that turn. A turn that
// Codex began by itself (such as compaction) delays ours; if the two cross
// on the wire, one end ends both.
//
// The protocol has no way to deny a question: one that nobody answered gets
// an empty answer, and the turn continues; cancelling it interrupts the turn.
//
// turn/steer cuts the model's message; version 0.150 lets it finish first.
//
// Codex shows a command once it has run for about 150 ms, or has ended before
// that. Its output until then is in no delta, and in 0.150 not in the whole
// output either; one that its sandbox refuses by then has no item at all.
//
// # Who is billed
//
// By default Codex uses whatever sign-in and model provider it finds. With the
// option auth set to subscription it is held to a sign-in by ChatGPT, and the
// session is refused when anything might bill another account: see auth.go.
//
// # Modes
//
// See modes.go for the table. auto_edit is the adapter's: Codex is set to ask
// for everything, and edits of files within the workspace are accepted here.
package codex
