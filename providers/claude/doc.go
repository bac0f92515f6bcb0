// Package claude drives Anthropic's Claude Code by its stream-json protocol:
// one long-lived `claude -p` process a session, lines of JSON on stdin and
// stdout, and a control protocol between them.
//
// # Layers
//
//   - providers/internal/ndjson and link: lines and the outbox; the process, the
//     connection and the notices that wait for Recv;
//   - internal/wire: the vendor's lines under the vendor's names;
//   - translate*.go, ask.go, answers.go: a pure translator. Lines and ops go
//     in; notices and lines come out. It does no I/O and has no clock, so
//     recorded conversations test it;
//   - conn.go and open.go: the only I/O, and the steps of the opening.
//
// # Turns are not messages
//
// The CLI reports what becomes of a message of ours by the message's uuid, and
// ends a turn by one `result`, which names the messages that it answered. The
// two do not map one to one. Messages that wait may be merged into one turn;
// one that arrives while a tool runs is folded into the running turn, which is
// how Steer works; a background command or sub-agent that ends begins a turn
// that nobody asked for. So the translator never counts: a turn of ours runs
// when its uuid is reported as started, a turn that begins without one is the
// provider's own, and a result ends every turn that took part in it.
//
// Versions before 2.1.3xx report nothing about messages. There a turn that begins
// right after the report of a finished task is the provider's own, and any
// other is that of the message that waits.
//
// A message is sent with priority "later", which keeps it from being folded
// into a turn of the provider's, and as "client composed", which keeps
// /commands and @files in it from being executed. Versions that do not know the
// latter get the text with a line break before a leading slash, and a word
// joiner behind an @ that names an existing file.
//
// # How a turn ends
//
// By is_error and terminal_reason of the result; its subtype is "success"
// for a failed API call. Cost and usage are cumulative over the process and
// are reported as differences.
//
// The CLI waits without limit: for an answer to an approval (core's deadline ends
// that) and for a model that went silent in the middle of its stream, which is
// what the watchdog here is for (option stall_timeout_ms).
//
// # Modes
//
// See modes.go for the table. A sandbox is the CLI's own, for commands; its
// file tools are not in it, so read_only takes those away.
package claude
