// Package process runs every command of the harness: agent CLIs, their probes and
// the processes that callers start.
//
// A [Runner] decides where a command runs. [Local] runs it here: an argv (never
// a shell line), a checked working directory, exactly the given environment,
// three pipes, and a guarantee: no process of the command's tree outlives its
// owner. The guarantee needs layers, because coding agents start their tools in
// sessions and process groups of their own, and those survive the death of the
// agent:
//
//   - Every command leads a process group of its own, apart from the server's.
//   - On Linux a guard process is the parent of the command: this same program,
//     executed again. It is a child subreaper, so whatever the tree does (fork
//     twice, call setsid, lose its parent), each orphan of it becomes a child of
//     its guard. When the guard's socket to the server closes, for any reason
//     (SIGKILL of the server included), it kills every descendant and exits.
//     The guard has no child left exactly when the tree is gone; that is how
//     Stop and Kill know. Only the guard waits for any child: the server waits for
//     the guard by its pid, since a wildcard wait in a Go program steals exit
//     codes from os/exec. A guard that is itself killed takes the command with
//     it (parent death signal), and the server kills the rest by the marker below.
//   - The variable [MarkerVar] names the owner in every descendant:
//     instance:resource, appended to an inherited one by "/". It also counts how
//     deep harnesses run inside harnesses ([Depth], at most [MaxDepth]).
//   - A row in a [core.ChildLog] from spawn to reaping names the command by pid,
//     start time and boot id, and [Reap] kills at boot what a dead instance left.
//     Nothing is ever killed by its name.
//
// A program gets guards only if it calls [Init] first in main (and a test
// binary first in TestMain), because a guard is that program executed again.
// The guard runs while this package is initialized, before the rest of the program:
// it needs about 1 MiB and 2 ms. Without Init, and
// on systems other than Linux, the portable layers remain: when the command
// ends or is killed its process group is killed too; what left the group is
// found by its marker on Linux only. In that mode nothing acts when the server
// itself is killed until the next boot calls Reap, which works on Linux only.
// (A parent death signal would not do there: it is bound to the thread that
// forked, and Go moves goroutines between threads.) On Windows only the command
// itself is ended; its descendants are not, and INT and TERM do not exist, so
// Stop goes from end of input to killing the command.
//
// What no layer covers: a process that another daemon starts on request
// (systemd-run, docker, at), one that runs as another user (sudo), and one that
// the kernel cannot end because it sleeps uninterruptibly.
package process
