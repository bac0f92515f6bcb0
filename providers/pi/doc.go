// Package pi drives Pi by `pi --mode rpc`: commands and their responses, events
// and dialogs as lines of JSON on stdin and stdout, one process a session.
//
// # Layers
//
//   - providers/internal/ndjson and link: lines and the outbox; the process, the
//     connection and the notices that wait for Recv;
//   - internal/wire: the vendor's records under the vendor's names;
//   - translate*.go, requests.go, tools.go and configure.go: a pure translator.
//     Records and ops go in; notices and commands come out. It does no I/O and
//     has no clock, so recorded conversations test it;
//   - conn.go and open.go: the only I/O, and the steps of the opening.
//
// # From the protocol to notices
//
// Pi prints nothing when it is ready; the first answer to get_state is the sign.
// A prompt is accepted by its response. A run may be followed by others of the
// same turn (retries, compaction, steering), so agent_end does not end a turn:
// agent_settled does. Releases without that record are asked by get_state after
// every agent_end, until Pi is idle twice in a row.
//
// turn_start and turn_end frame one answer of the model and its tools, of which
// a turn has many. They are not reported, nor is what only repeats: prompts,
// the system prompt and results of tools as messages, the arguments of a tool
// as they are written. message_end is authoritative over the deltas before it.
//
// Pi has queues of its own. Follow-ups never go there: core keeps them until
// the turn has ended. A steering message that comes too late for its turn would
// go to the model with the next prompt, so the queue is cleared before that.
//
// abort hangs while a dialog of an extension is open, and leaves Pi's queues
// full: an interrupt cancels the dialogs, clears the queues and aborts, in this
// order. A dialog that belongs to no turn is dismissed at once, since its
// extension would wait without limit. One with a time-out of its own is withdrawn
// when that has passed; Pi does not report it.
//
// Pi has extensions, commands, skills and templates after a leading slash. A
// prompt is text, so a line break is put before it. Extensions may begin runs
// of their own: turns that the provider began, which hold ours back.
//
// # Approvals
//
// Pi itself never asks. The adapter adds an extension, gate.js, which asks
// before every tool that is not known to read only, and blocks the tool unless
// it is allowed; without the extension a session that is to ask does not open.
// The rules are here and not in the extension, so that approval_mode can change
// in a live session: default and prompt ask for everything, auto_edit lets
// edits of files in the session's directories pass, auto_approve asks nothing.
// The gate is no sandbox: what an approved command does, and what other
// extensions do, it does not see. Pi has no sandbox, so none is offered.
package pi
