// Package acp drives any agent that speaks the Agent Client Protocol, version
// 1: JSON-RPC on stdin and stdout, one process a session.
//
// # Layers
//
//   - providers/internal/ndjson, jsonrpc and link: lines, ids and the outbox;
//     the process, the connection and the notices that wait for Recv;
//   - internal/wire: the protocol's messages under the protocol's names;
//   - translate*.go: a pure translator. Frames and ops go in; notices, frames
//     and requests to the client come out. It does no I/O and has no clock, so recorded
//     conversations test it;
//   - conn.go and open.go: the only I/O, and the steps of the opening;
//     client_requests.go, files.go and terminal.go: what an agent may ask of its
//     client; path_guard.go: where it may ask it.
//
// agents.go is the list of known agents: one row of data each. A configuration
// file adds rows, and changes known ones.
//
// # From the protocol to notices
//
// A turn is session/prompt. The protocol has no message for "accepted", so a turn
// counts as accepted when the whole frame is in the pipe. It ends by the
// response to session/prompt, by nothing else. Agents do five different things
// with a second prompt, so there is never one: core sends one turn at a time.
//
// Updates name no turn. What comes between a prompt and its response belongs to
// that turn; what comes later is reported for the session, with the name of the
// turn that it followed. Tools are known by their id alone: any of three
// messages may be the first to name one, and what stays open at the end of the
// turn is closed here.
//
// A question for permission is always answered with an outcome, never with an
// error, after which some agents hang. The option is chosen by its kind; an
// option that would allow more than it was asked for is not offered.
//
// An interrupt is session/cancel, followed by the outcome "cancelled" for every
// open question. It is sent again while no response comes, since an agent may
// have received it before it had begun the turn.
//
// "end_turn" is no proof of success. Tools that failed are named in the result's
// warnings; where an agent is known to put its provider's error into the last
// message and nowhere else, the turn failed.
//
// # Replay
//
// session/load repeats the conversation before it answers. That is history, and
// is reported as such, apart from live output. A conversation that the journal
// knows already is opened by session/resume, which repeats nothing, where the
// agent has it.
//
// # Prompts are text
//
// An agent may take a prompt that begins with a slash for a command of its own.
// Such a prompt gets a word joiner (U+2060) in front, which is invisible.
package acp
