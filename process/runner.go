package process

import (
	"context"
	"io"
)

// Runner decides where a command runs. Local is the default; a runner that
// prefixes the argv (ssh, docker exec, kubectl exec) puts agents elsewhere.
type Runner interface {
	// Start spawns the command. ctx bounds the starting only.
	Start(ctx context.Context, spec Spec) (Child, error)
}

// Spec is a command to run: an argv, never a shell line.
type Spec struct {
	// Path is the executable, absolute or found by LookPath.
	Path string
	Args []string // without the executable
	Dir  string
	Env  []string // the whole environment, as NAME=value
	// Resource is the session or process that the child belongs to. It goes
	// into the child's marker variable and its row in the child log.
	Resource string
	// Terminal, when set, gives the command a terminal of that size in place of
	// the pipes: Stdin writes to it, Stdout reads all output, Stderr is
	// empty. The command leads a session with that controlling terminal.
	Terminal *Size
	// NoEOF leaves the end of input out of Stop, which then begins with INT.
	NoEOF bool
}

// Size is the size of a terminal in characters.
type Size struct{ Cols, Rows int }

// Child is a running command and the whole process tree below it. All methods
// may be called from any goroutine, at any time and again.
type Child interface {
	PID() int
	// Stdin writes to the command. Closing it is the command's end of input.
	Stdin() io.WriteCloser
	// Stdout and Stderr read the output until the command and all processes that
	// share its pipes are gone, or the child was killed.
	Stdout() io.Reader
	Stderr() io.Reader
	// Done is closed when the command has ended and was reaped.
	Done() <-chan struct{}
	// Exit returns how the command ended; it is valid after Done.
	Exit() Exit
	// Stop ends the whole tree: end of input, INT, TERM, KILL, or KILL at once
	// when ctx ends. It returns when nothing is left. A second Stop joins the
	// first.
	Stop(ctx context.Context) error
	// Kill ends the whole tree at once and returns when nothing is left.
	Kill() error
}

// Exit is how a command ended.
type Exit struct {
	Code   int    // exit code; -1 when a signal ended it
	Signal string // such as SIGKILL, "" otherwise
	Err    error  // why it could not be waited for, if so
}
