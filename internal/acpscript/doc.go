// Package acpscript is an agent of the Agent Client Protocol that follows the script in
// its prompt, for tests of the client's side. It keeps to the
// protocol by default and can be told to play every oddity that real agents
// were seen to have.
//
// The script is the prompt, read line by line, one directive a line:
//
//	say TEXT            a message in up to three chunks
//	stream N            a message of N chunks, "1 2 3 ... N "
//	big N               a message of N bytes in one chunk
//	think TEXT          visible reasoning
//	slow MS             works for so long, or until it is cancelled
//	run COMMAND         a tool that completes
//	approve COMMAND     asks for permission, then a tool
//	only COMMAND        as approve, announced by the question alone; a rejection is not reported
//	edit PATH           asks for permission to change a file
//	fail [CODE] TEXT    ends the turn with an error
//	stop REASON         ends the turn with that stop reason
//	recall              says what the earlier prompts were
//	read PATH, write PATH TEXT, terminal COMMAND
//	                    uses its client's files and terminals and says what came back
//	late TEXT           a chunk after the end of the turn
//	lateTool            an update of a tool after the end of the turn
//	idless              an error without an id
//	garbage TEXT        a line that is no JSON
//	raw JSON            a line as it is; SESSION stands for the session's id
//	unknown             an update, a request and a notification that nobody knows
//	open                a tool that is never ended
//	hang                works until it is cancelled
//	deaf                works on for ever, also when it is cancelled
//	ignore              from here on a cancel changes nothing
//	twice               answers the prompt twice
//	die                 exits in the middle of the turn
//
// Sessions are kept as files in the directory that Options names, so that
// another process can load them.
package acpscript
