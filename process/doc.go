// Package process is where every command of the harness runs: agent CLIs,
// their probes and the processes that callers start.
//
// A [Runner] decides where a command runs. [Local] runs it here: an argv (never
// a shell line), a checked working directory, exactly the given environment,
// three pipes, and a promise: no process of the command's tree outlives its
// owner. The promise needs layers, because coding agents start their tools in
// sessions and process groups of their own, and those survive the death of the
// agent:
//
//   - Every command leads a process group of its own, away from ours.
//   - On Linux a guard stands between us and the command: this same program,
//     executed again. It is a child subreaper, so whatever the tree does (fork
//     twice, call setsid, lose its parent), each orphan of it becomes a child of
//     its guard. When the guard's socket to us closes, for whatever reason
//     (SIGKILL of the server included), it ends every descendant and then itself.
//     The guard has no child left exactly when the tree is gone; that is how
//     Stop and Kill know. Only the guard waits for any child: we wait for the
//     guard by its pid alone, since a wildcard wait in a Go program steals exit
//     codes from os/exec. A guard that is itself killed takes the command with
//     it (parent death signal), and we end the rest by the marker below.
//   - The variable [MarkerVar] says in every descendant whose it is:
//     instance:resource, appended to an inherited one by "/". It also counts how
//     deep harnesses run inside harnesses ([Depth], at most [MaxDepth]).
//   - A row in a [core.ChildLog] from spawn to reaping names the command by pid,
//     start time and boot id, and [Reap] ends at boot what a dead instance left.
//     Nothing is ever ended by its name.
//
// A program gets guards only if it calls [Init] first in main (and a test
// binary first in TestMain), because a guard is that program executed again.
// The guard takes over while this package is initialized, so the rest of the
// program costs it nothing: about 1 MiB of its own and 2 ms. Without Init, and
// on systems other than Linux, the portable layers remain: when the command
// ends or is killed its process group is killed too; what left the group is
// found by its marker on Linux only. In that mode nothing acts when the server
// itself is killed until the next boot calls Reap, which works on Linux only.
// (A parent death signal would not do there: it is bound to the thread that
// forked, and Go moves goroutines between threads.) On Windows only the command
// itself is ended; its descendants are not, and INT and TERM do not exist, so
// the ladder goes from end of input to the end.
//
// What no layer covers: a process that another daemon starts on request
// (systemd-run, docker, at), one that runs as another user (sudo), and one that
// the kernel cannot end because it sleeps uninterruptibly.
package process
